import assert from "node:assert/strict";
import {
  type ConformanceSubject,
  reportText,
  runConformance,
} from "../../../src/provider-conformance/index.js";
import { Moto } from "./moto.js";
import { hostsSubject, networkSubject } from "./subjects.js";

/** What both of them do without. */
const notOffered = [
  "tells what became of what its cloud has accepted, or makes at once",
  "keeps what its secret fields hold out of all else that it shows",
  "makes another host where there is no room for the one that is asked for, or cannot",
  "looks up the same as long as nothing changes, and only reads",
  "converts what is written in its older versions",
  "says what its hosts take at their first start, or nothing",
];

describe("the provider of EC2 conforms, as far as moto can tell", function () {
  this.timeout(900_000);
  let moto: Moto;
  before(async () => {
    moto = await Moto.start();
  });
  after(() => moto.stop());

  /** All cases pass but those that are named; answers what was not checked, by case. */
  const conforms = async (subject: ConformanceSubject, notChecked: readonly string[]) => {
    const report = await runConformance(subject, { timeoutMs: 300_000 });
    const namesOf = (outcome: string) =>
      report.cases.filter((one) => one.outcome === outcome).map(({ name }) => name);
    assert.deepEqual(namesOf("failed"), [], reportText(report));
    assert.deepEqual(namesOf("notOffered"), notOffered);
    assert.deepEqual(namesOf("notChecked"), notChecked);
    const passed = report.cases.length - notOffered.length - notChecked.length;
    assert.equal(report.passed, passed);
    const exceptions = report.cases.flatMap(({ outcome, name, message }) =>
      outcome === "passed" && message !== undefined ? [[name, message] as const] : [],
    );
    return Object.fromEntries(exceptions);
  };

  it("with hosts alone", async () => {
    assert.deepEqual(await conforms(hostsSubject(moto), []), {
      "shows what somebody has changed in the cloud":
        "the world cannot change imageId, role, subnetId, securityGroupId, kubelet",
    });
  });

  it("with a subnet and a security group", async () => {
    const many = "lists a thousand resources, and finds each of them";
    assert.deepEqual(await conforms(networkSubject(moto), [many]), {
      "makes a change in place, all of it, and shows it":
        "Ec2Subnet: Ec2Subnet has no update: every change replaces it",
      "finishes a change in place that was killed, toward what was wanted and back":
        "Ec2Subnet: Ec2Subnet changes nothing in place",
      "shows what somebody has changed in the cloud": [
        "Ec2Group: the world cannot change vpcId",
        "Ec2Host: the world cannot change imageId, role, kubelet, subnetId, securityGroupId",
        "Ec2Subnet: the world can change no field of a Ec2Subnet",
      ].join("; "),
    });
  });
});
