import assert from "node:assert/strict";
import { templateJudge } from "../../src/compile/compile.js";
import type { ExpandedMachine, RecordedMachine } from "../../src/sets/expanded.js";
import { expandMachines, expandObjects } from "../../src/sets/expand.js";
import {
  annotated,
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

const failureDomains = ["local-a", "local-b", "local-c"];

function expand(
  objects: readonly Manifest[],
  recorded: readonly RecordedMachine[] = [],
  domains: readonly string[] = failureDomains,
) {
  const desired = desiredOf([cluster({ failureDomains: domains }), ...objects]);
  return expandObjects(desired, recorded, templateJudge(localProvider(), desired.cluster));
}

/** "db-0 a, db-1 b": each machine with the last letter of its domain. */
function placesOf(machines: readonly ExpandedMachine[]): string {
  return machines
    .map(({ name, failureDomain = "-none" }) => `${withoutHash(name)} ${failureDomain.slice(6)}`)
    .join(", ");
}

function withoutHash(name: string): string {
  return name.replace(/-[0-9a-f]{8}(?=-)/, "");
}

describe("placing machines in failure domains", () => {
  it("spreads members, plain workers, sets and deployments each among themselves", () => {
    const { machines } = expand([
      machine("cp-0", { controlPlane: "1.34.2" }),
      machine("cp-1", { controlPlane: "1.34.2" }),
      machine("cp-2", { controlPlane: "1.34.2" }),
      machine("db"),
      machineSet("set", 2),
      machineDeployment("web", 4),
    ]);
    assert.equal(
      placesOf(machines),
      "cp-0 a, cp-1 b, cp-2 c, db a, set-0 b, set-1 c, web-0 a, web-1 b, web-2 c, web-3 a",
    );
  });

  it("takes the domains in the provider's order, each once", () => {
    const { machines } = expand([machineSet("set", 3)], [], ["local-c", "local-a"]);
    assert.equal(placesOf(machines), "set-0 c, set-1 a, set-2 c");
  });

  it("counts who names a domain, and leaves it where it is", () => {
    const { machines } = expand([
      machine("cp-0", { controlPlane: "1.34.2", zone: "local-a" }),
      machine("cp-1", { controlPlane: "1.34.2", zone: "local-a" }),
      machine("cp-2", { controlPlane: "1.34.2" }),
      machine("cp-3", { controlPlane: "1.34.2" }),
    ]);
    assert.deepEqual(
      machines.map(({ failureDomain }) => failureDomain),
      [undefined, undefined, "local-b", "local-c"],
    );
  });

  it("does not count machines that go: a new revision is spread by itself", () => {
    const before = expand([machineDeployment("web", 3)]).machines;
    const { machines } = expand([machineDeployment("web", 2, { size: "large" })], before);
    assert.equal(placesOf(machines), "web-0 a, web-1 b");
  });

  it("places anew who is in a domain that is offered no more, and nobody else", () => {
    const before = expand([machineSet("set", 6)]).machines;
    const { machines } = expand([machineSet("set", 6)], before, ["local-a", "local-b"]);
    assert.equal(placesOf(machines), "set-0 a, set-1 b, set-2 a, set-3 a, set-4 b, set-5 b");
  });

  it("takes up what is known of a machine that had named its domain", () => {
    const before = expand([machine("db", { zone: "local-c" })]).machines;
    const known = before.map((one) => ({ ...one, failureDomain: "local-c" }));
    assert.equal(placesOf(expand([machine("db")], known).machines), "db c");
  });

  it("places nothing where nothing is offered", () => {
    const desired = desiredOf([cluster({ failureDomains: [] }), machine("db")]);
    const judge = templateJudge(localProvider(), desired.cluster);
    const [db] = expandMachines(desired, [], judge);
    assert.deepEqual(Object.keys(db ?? {}), ["name", "spec"]);
    assert.equal(judge.domains, undefined);
  });
});

describe("scaling down over failure domains", () => {
  const six = expand([machineSet("set", 6)]).machines;
  const going = (replicas: number, recorded: readonly RecordedMachine[], set = machineSet) =>
    expand([set("set", replicas)], recorded).going.map(({ name, reason }) =>
      "domain" in reason ? `${name} ${reason.domain}` : `${name} ${reason.kind}`,
    );

  it("takes one from each of the fullest, the highest number first", () => {
    assert.deepEqual(going(3, six), ["set-5 local-c", "set-4 local-b", "set-3 local-a"]);
    const uneven = six.map((one) => ({ ...one, failureDomain: "local-a" }));
    const [first, ...others] = uneven;
    assert.ok(first !== undefined);
    const apart = [{ ...first, failureDomain: "local-b" }, ...others];
    assert.deepEqual(going(4, apart), ["set-5 local-a", "set-4 local-a"]);
  });

  it("takes first what has to be placed anew", () => {
    const { going: leaving } = expand([machineSet("set", 4)], six, ["local-b", "local-c"]);
    assert.deepEqual(
      leaving.map(({ name, reason }) => [name, "isOffered" in reason && reason.isOffered]),
      [
        ["set-3", false],
        ["set-0", false],
      ],
    );
  });

  it("lets what is marked, or has failed, go before that", () => {
    const failed = six.map((one): RecordedMachine => ({
      ...one,
      ...(one.name === "set-0" && { missing: "health" }),
    }));
    assert.deepEqual(going(5, failed), ["set-0 failed"]);
    const marking = (name: string, replicas: number) =>
      annotated({ "cluster.k8s.io/delete-machine": "set-1" }, machineSet(name, replicas));
    assert.deepEqual(going(4, six, marking), ["set-1 marked", "set-5 local-c"]);
  });

  it("goes by age first where the delete policy does", () => {
    const aged = six.map((one, index) => ({ ...one, createdAtMs: index < 4 ? 1_000 : 500_000 }));
    const newest = machineSet("set", 3);
    const spec = { ...(newest["spec"] as Manifest), deletePolicy: "Newest" };
    const desired = desiredOf([cluster({ failureDomains }), { ...newest, spec }]);
    const judge = templateJudge(localProvider(), desired.cluster);
    const leaving = expandObjects(desired, aged, judge, 86_400_000).going;
    assert.deepEqual(
      leaving.map(({ name }) => name),
      ["set-5", "set-4", "set-3"],
    );
  });
});
