import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { LocalCloud } from "../../../providers/local/cloud.js";
import { observe } from "../../../providers/local/handlers.js";
import { ProcessRecords } from "../../../providers/local/nodes/process-records.js";
import { holdAlone } from "../../../providers/local/nodes/sole-process.js";
import { FakeClock } from "../../support/fake-clock.js";
import { scratchFolder } from "../../support/scratch.js";

const who = (kind: string, name: string) => ({
  cluster: "default/prod",
  clusterUid: "uid-1",
  kind,
  name,
  token: `${kind}-${name}`,
});
const versions = { kubelet: "1.34.2", controlPlane: "1.34.2" };
const report = { ...versions, containerRuntime: { name: "containerd", version: "2.1.5" } };

describe("a host of processes in the cloud's file", () => {
  const scratch = scratchFolder();
  let path: string;
  let clock: FakeClock;
  let cloud: LocalCloud;
  let id: string;
  let records: ProcessRecords;
  const spec = (more: object = {}) => ({ nodes: "processes", ...versions, ...more });
  const seen = async () => observe((await cloud.get(id))!);

  beforeEach(async () => {
    path = join(scratch.path, `${Math.random()}.db`);
    clock = new FakeClock();
    cloud = new LocalCloud(path, clock);
    const { id: networkId } = await cloud.create("LocalNetwork", who("LocalNetwork", "network"), {
      cidr: "10.4.0.0/16",
    });
    const host = { networkId, ...spec({ loadBalancerId: "lb-1" }) };
    ({ id } = await cloud.create("LocalHost", who("LocalHost", "cp-0"), host, undefined, "secret"));
    records = new ProcessRecords(path, id, clock);
  });

  it("is pending until its own processes say that it is ready, whatever time passes", async () => {
    clock.advance(60_000);
    assert.equal((await seen()).phase, "pending");
    await records.tell(true, report);
    assert.equal((await seen()).phase, "ready");
    assert.equal((await seen()).node?.kubelet, "1.34.2");
    await records.tell(false, report);
    assert.equal((await seen()).phase, "pending");
  });

  it("does not believe programs of the version before, once another one is wanted", async () => {
    clock.advance(1);
    await cloud.list({});
    await records.tell(true, report);
    const { spec: from } = (await cloud.get(id))!;
    await cloud.update(id, { ...from, kubelet: "1.35.3", controlPlane: "1.35.3" });
    await records.tell(true, report);
    assert.equal((await seen()).phase, "pending");
    await records.tell(true, { ...report, kubelet: "1.35.3", controlPlane: "1.35.3" });
    assert.equal((await seen()).phase, "ready");
  });

  it("has its user data for as long as it lives, and is behind its load balancer so long", async () => {
    const balancer = new ProcessRecords(path, "lb-1", clock);
    assert.equal(await records.userData(), "secret");
    assert.deepEqual(await balancer.members(), [id]);
    await cloud.terminate(id);
    assert.equal(await records.userData(), undefined);
    assert.deepEqual(await balancer.members(), []);
    assert.equal(await records.living(), undefined);
  });

  it("is not wanted any more where the cloud's file is gone", async () => {
    assert.notEqual(await records.living(), undefined);
    rmSync(path);
    assert.equal(await records.living(), undefined);
  });

  it("has one process of its own, whoever starts another one", () => {
    assert.equal(holdAlone(join(scratch.path, "lock")), true);
    assert.equal(holdAlone(join(scratch.path, "lock")), false);
  });
});
