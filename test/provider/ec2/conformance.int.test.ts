import assert from "node:assert/strict";
import {
  conformanceCases,
  reportText,
  runConformance,
} from "../../../src/provider-conformance/index.js";
import { creationCases } from "../../support/creation-cases.js";
import { Moto } from "./moto.js";
import { hostsSubject, networkSubject } from "./subjects.js";

const timeoutMs = 300_000;
/** What the provider of hosts does without. */
const notOffered = [
  "tells what became of what its cloud has accepted, or makes at once",
  "reports a forgotten operation as over",
  "reports a removal that the cloud refuses after it has accepted it",
  "leaves another owner's resource of the same name alone",
  "does not take an incomplete answer for a complete one",
  "loses no change to a concurrent one",
  "keeps what its secret fields hold out of all else that it shows",
  "lists and finds hosts in every failure domain",
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

  it("with hosts alone, in all cases", async () => {
    const report = await runConformance(hostsSubject(moto), { timeoutMs });
    const namesOf = (outcome: string) =>
      report.cases.filter((one) => one.outcome === outcome).map(({ name }) => name);
    assert.deepEqual(namesOf("failed"), [], reportText(report));
    assert.deepEqual(namesOf("notOffered"), notOffered);
    assert.deepEqual(namesOf("notChecked"), []);
    const exceptions = report.cases.flatMap(({ outcome, name, message }) =>
      outcome === "passed" && message !== undefined ? [[name, message]] : [],
    );
    assert.deepEqual(exceptions, [
      [
        "shows what somebody has changed in the cloud",
        "the world cannot change imageId, role, subnetId, securityGroupId, kubelet",
      ],
    ]);
  });

  for (const name of creationCases) {
    it(`with a subnet and a security group: ${name}`, async () => {
      const cases = conformanceCases(networkSubject(moto), { timeoutMs });
      const one = cases.find((known) => known.name === name);
      assert.deepEqual(await one?.run(), { outcome: "passed", exceptFor: [] });
    });
  }
});
