import assert from "node:assert/strict";
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { LocalCloud } from "../../../providers/local/cloud.js";
import { observe } from "../../../providers/local/handlers.js";
import { folderOf, HostFolder } from "../../../providers/local/nodes/host-folder.js";
import { ProcessRecords } from "../../../providers/local/nodes/process-records.js";
import { holdAlone } from "../../../providers/local/nodes/sole-process.js";
import { FakeClock } from "../../support/fake-clock.js";
import { assertAsyncLaw } from "../../support/laws.js";
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

/** What happens before a host is started, the parts of its disk that it loses among it. */
const accidents = ["none", "dies at it", "", "user-data", "etcd"] as const;

/** Of a command that is killed when it has made a disk, and has not recorded it. */
class DyingFolder extends HostFolder {
  override make(userData: string): void {
    super.make(userData);
    throw new Error("killed");
  }
}

describe("a host of processes in the cloud's file", () => {
  const scratch = scratchFolder();
  let path: string;
  let clock: FakeClock;
  let cloud: LocalCloud;
  let networkId: string;
  let id: string;
  let records: ProcessRecords;
  const spec = (more: object = {}) => ({ nodes: "processes", ...versions, ...more });
  const seen = async () => observe((await cloud.get(id))!);

  beforeEach(async () => {
    path = join(scratch.path, `${Math.random()}.db`);
    clock = new FakeClock();
    cloud = new LocalCloud(path, clock);
    const cidr = "10.4.0.0/16";
    ({ id: networkId } = await cloud.create("LocalNetwork", who("LocalNetwork", "network"), {
      cidr,
    }));
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

  it("is behind its load balancer for as long as it lives", async () => {
    const balancer = new ProcessRecords(path, "lb-1", clock);
    assert.deepEqual(
      (await balancer.members()).map((member) => member.id),
      [id],
    );
    await cloud.terminate(id);
    assert.deepEqual(await balancer.members(), []);
    assert.equal(await records.living(), undefined);
  });

  it("finds its user data on its disk, which alone has them once it was made", async () => {
    const disk = new HostFolder(folderOf(path, id));
    assert.equal(await records.boot(disk), true);
    assert.equal(disk.userData(), "secret");
    const file = new DatabaseSync(path, { readOnly: true });
    assert.deepEqual(file.prepare("SELECT * FROM user_data").all(), []);
    file.close();
    assert.equal(await records.boot(disk), true);
    assert.equal((await seen()).phase, "pending");
  });

  it("has ended where its disk is gone, and says so in the ledger", async () => {
    const disk = new HostFolder(folderOf(path, id));
    await records.boot(disk);
    rmSync(disk.path, { recursive: true });
    assert.equal(await records.boot(disk), false);
    assert.equal((await seen()).phase, "gone");
    assert.equal(existsSync(disk.path), false);
    const { call, effect, detail } = (await cloud.ledger()).findLast(
      (entry) => entry.id === id && entry.call !== "get",
    )!;
    assert.deepEqual(
      [call, effect, detail],
      ["die", "terminated", '{"reason":"its disk is gone"}'],
    );
  });

  it("fails where its user data makes no node of it, before a look at the cloud and after one, and may still be taken back", async () => {
    for (const looks of [0, 1]) {
      if (looks > 0) clock.advance(1);
      if (looks > 0) await cloud.list({});
      await records.fail({ code: "CLOUD_FAILED", reason: "no node" });
      clock.advance(60_000);
      const { phase, failure } = await seen();
      assert.deepEqual([phase, failure?.reason], ["failed", "no node"]);
    }
    await cloud.terminate(id);
    await records.fail({ code: "CLOUD_FAILED", reason: "no node" });
    assert.equal((await seen()).phase, "gone");
  });

  it("ends once where it is lost, with the reason in the ledger", async () => {
    await records.lose("its keeper was killed");
    await records.lose("something else");
    assert.equal((await seen()).phase, "gone");
    assert.equal(await records.living(), undefined);
    const deaths = (await cloud.ledger()).filter(({ call }) => call === "die");
    assert.deepEqual(
      deaths.map(({ detail }) => detail),
      ['{"reason":"its keeper was killed"}'],
    );
  });

  it("knows the load balancer of its own cluster, and the range that they stand in", async () => {
    assert.equal(await records.place(), undefined);
    const balancer = (name: string, clusterUid: string) =>
      cloud.create(
        "LocalLoadBalancer",
        { ...who("LocalLoadBalancer", name), clusterUid },
        { networkId, ...spec() },
      );
    await balancer("other", "uid-2");
    assert.equal(await records.place(), undefined);
    const own = await balancer("api", "uid-1");
    const { loadBalancer, cidr } = (await records.place())!;
    assert.deepEqual([loadBalancer.id, cidr], [own.id, "10.4.0.0/16"]);
  });

  it("gets no disk once it is terminated, and nothing else makes one", async () => {
    await cloud.terminate(id);
    const disk = new HostFolder(folderOf(path, id));
    assert.equal(await records.boot(disk), false);
    assert.throws(() => disk.write("ports.json", "{}"), { code: "ENOENT" });
    await assert.rejects(disk.ports(), { code: "ENOENT" });
  });

  it("has a load balancer that gets another folder: it keeps nothing there", async () => {
    const { id: balancerId } = await cloud.create(
      "LocalLoadBalancer",
      who("LocalLoadBalancer", "api"),
      { networkId, ...spec() },
    );
    const balancer = new ProcessRecords(path, balancerId, clock);
    const folder = new HostFolder(folderOf(path, balancerId));
    for (const _again of [1, 2]) {
      assert.equal(await balancer.boot(folder), true);
      rmSync(folder.path, { recursive: true });
    }
  });

  it("begins what its user data asks for at most once, whatever it loses and wherever it is killed", async () => {
    const hostWith = async (token: string) => {
      const host = { networkId, ...spec() };
      return cloud.create("LocalHost", who("LocalHost", token), host, undefined, "secret");
    };
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom(...accidents), { maxLength: 12 }),
      async (met) => {
        const host = await hostWith(`${Math.random()}`);
        const path = folderOf(cloud.path, host.id);
        const own = new ProcessRecords(cloud.path, host.id, clock);
        let begun = 0;
        for (const accident of met) {
          if (accident === "dies at it")
            await own.boot(new DyingFolder(path)).catch(() => undefined);
          else if (accident !== "none")
            rmSync(join(path, accident), { recursive: true, force: true });
          if (!(await own.boot(new HostFolder(path))) || existsSync(join(path, "etcd"))) continue;
          begun += 1;
          mkdirSync(join(path, "etcd", "member"), { recursive: true });
          new HostFolder(path).noteVote();
        }
        own.close();
        assert.ok(begun <= 1, `it has begun ${begun} times`);
      },
    );
    await assertAsyncLaw(property);
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
