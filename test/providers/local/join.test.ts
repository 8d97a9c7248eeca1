import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LocalCloud, type LocalKind } from "../../../providers/local/cloud.js";
import { observe } from "../../../providers/local/handlers.js";
import type { JsonObject } from "../../../src/api/json.js";
import type { Identity } from "../../../src/provider/port.js";
import { FakeClock } from "../../support/fake-clock.js";
import { scratchFolder } from "../../support/scratch.js";

function who(kind: LocalKind, name: string): Identity {
  return { cluster: "default/prod", clusterUid: "uid-1", kind, name, token: `token-${name}` };
}

const bootMs = 300;
const joinMs = 50;

describe("readiness in the local cloud", () => {
  const scratch = scratchFolder();
  let clock: FakeClock;
  let cloud: LocalCloud;
  let networkId: string;

  beforeEach(async () => {
    clock = new FakeClock();
    cloud = new LocalCloud(join(scratch.path, "cloud.db"), clock);
    const network = { cidr: "10.4.0.0/16", bootMs };
    networkId = (await cloud.create("LocalNetwork", who("LocalNetwork", "network"), network)).id;
  });
  afterEach(() => cloud.close());

  const specOf = (fields: JsonObject = {}): JsonObject => ({
    networkId,
    zone: "a",
    image: "local/ubuntu-24.04",
    kubelet: "1.34.2",
    ...fields,
  });
  const make = (fields: JsonObject = {}, name = "h") =>
    cloud.create("LocalHost", who("LocalHost", name), specOf(fields));
  const seen = async (id: string) => observe((await cloud.get(id))!);
  const change = async (id: string, fields: JsonObject) => cloud.update(id, specOf(fields));

  it("begins with the boot where no join is asked for", async () => {
    const { id, readyMs } = await make();
    clock.advance(bootMs - 1);
    assert.deepEqual([(await seen(id)).phase, (await seen(id)).node], ["pending", undefined]);
    clock.advance(500);
    const { phase, readySinceMs } = await seen(id);
    assert.deepEqual([phase, readySinceMs], ["ready", readyMs]);
  });

  it("begins with the join where one is asked for, by the Machine or by the Cluster", async () => {
    const own = await make({ joinMs });
    clock.advance(bootMs + joinMs - 1);
    assert.deepEqual(
      [(await cloud.get(own.id))?.state, (await seen(own.id)).phase],
      ["running", "pending"],
    );
    clock.advance(1);
    const { phase, readySinceMs } = await seen(own.id);
    assert.deepEqual([phase, readySinceMs], ["ready", own.readyMs + joinMs]);
    await cloud.update(networkId, { cidr: "10.4.0.0/16", bootMs, joinMs: 7 });
    const other = await make({}, "other");
    clock.advance(bootMs + 7);
    assert.equal((await seen(other.id)).readySinceMs, other.readyMs + 7);
  });

  it("is told with what the node runs, and not in what is recorded of the host", async () => {
    const containerRuntime = { name: "docker", version: "28.5.1" };
    const { id } = await make({ joinMs, controlPlane: "1.34.1", containerRuntime });
    clock.advance(bootMs + joinMs);
    const { node, status } = await seen(id);
    assert.match(node?.uid ?? "", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const osImage = "local/ubuntu-24.04";
    assert.deepEqual(node, {
      kubelet: "1.34.2",
      controlPlane: "1.34.1",
      containerRuntime,
      osImage,
      uid: node?.uid,
    });
    assert.deepEqual(Object.keys(status), ["address", "providerId"]);
    const plain = await make({}, "plain");
    clock.advance(bootMs);
    assert.equal((await seen(plain.id)).node?.containerRuntime?.name, "containerd");
  });

  const versions = [
    { name: "a kubelet that does not exist", fields: { kubelet: "1.34.99" } },
    { name: "a minor version that does not exist", fields: { kubelet: "1.77.0" } },
    { name: "a control plane that does not exist", fields: { controlPlane: "1.34.99" } },
    { name: "a pre-release", fields: { kubelet: "1.34.0-rc.1" } },
    { name: "what is no version", fields: { kubelet: "newest" } },
  ];
  for (const { name, fields } of versions) {
    it(`never begins with ${name}; the host runs all the same`, async () => {
      const { id } = await make({ joinMs, ...fields });
      clock.advance(1_000_000);
      assert.deepEqual(
        [(await cloud.get(id))?.state, (await seen(id)).phase],
        ["running", "pending"],
      );
    });
  }

  const restarts = [
    { name: "kubelet", fields: { kubelet: "1.34.1" } },
    { name: "control plane", fields: { controlPlane: "1.34.1" } },
    {
      name: "container runtime",
      fields: { containerRuntime: { name: "cri-o", version: "1.34.0" } },
    },
  ];
  for (const { name, fields } of restarts) {
    it(`ends when the ${name} is changed, until the node has joined again`, async () => {
      const { id } = await make({ joinMs });
      clock.advance(10_000);
      const before = (await seen(id)).node;
      const changedMs = clock.now();
      const answered = observe(await change(id, { joinMs, ...fields }));
      assert.deepEqual([answered.phase, answered.readySinceMs], ["pending", undefined]);
      assert.deepEqual(answered.node, before, "the node says what it said last");
      clock.advance(joinMs);
      const after = await seen(id);
      assert.deepEqual([after.phase, after.readySinceMs], ["ready", changedMs + joinMs]);
      assert.notDeepEqual(after.node, before);
    });
  }

  it("comes back when a version that does not exist is taken back", async () => {
    const { id } = await make({ joinMs });
    clock.advance(10_000);
    await change(id, { joinMs, kubelet: "1.34.99" });
    clock.advance(10_000);
    assert.equal((await seen(id)).phase, "pending");
    const backMs = clock.now();
    await change(id, { joinMs });
    clock.advance(joinMs);
    assert.equal((await seen(id)).readySinceMs, backMs + joinMs);
  });

  it("stays where the version stays, or nobody waits for a join", async () => {
    const [joined, plain] = [await make({ joinMs }), await make({}, "plain")];
    clock.advance(10_000);
    const since = (await seen(joined.id)).readySinceMs;
    const labelled = observe(await change(joined.id, { joinMs: 9, nodeLabels: { a: "b" } }));
    assert.deepEqual([labelled.phase, labelled.readySinceMs], ["ready", since]);
    const { phase, readySinceMs, node } = observe(await change(plain.id, { kubelet: "1.34.1" }));
    assert.deepEqual([phase, readySinceMs, node?.kubelet], ["ready", plain.readyMs, "1.34.1"]);
  });

  it("comes at once when nobody waits for a join any more", async () => {
    const { id } = await make({ joinMs, kubelet: "1.34.99" });
    clock.advance(10_000);
    assert.equal((await seen(id)).phase, "pending");
    const { phase, readySinceMs } = observe(await change(id, { kubelet: "1.34.99" }));
    assert.deepEqual([phase, readySinceMs], ["ready", clock.now()]);
  });

  it("does not come to a host that ended before its join", async () => {
    await cloud.addFault({ call: "create", mode: "dies", ms: joinMs - 1 });
    const { id } = await make({ joinMs });
    clock.advance(10_000);
    const { phase, readySinceMs } = await seen(id);
    assert.deepEqual([phase, readySinceMs], ["gone", undefined]);
    assert.equal((await cloud.ledger()).filter(({ call }) => call === "join").length, 0);
  });

  it("can be followed in the ledger, in the order of time, with its deadlines", async () => {
    const early = await make({ joinMs }, "early");
    const late = await make({ joinMs: 400, bootMs: 10 }, "late");
    clock.advance(10_000);
    const changedMs = clock.now();
    await change(early.id, { joinMs, kubelet: "1.34.99" });
    const entries = (await cloud.ledger()).filter(({ call }) =>
      ["boot", "join", "restart"].includes(call),
    );
    assert.deepEqual(
      entries.map(({ call, effect, name, atMs, detail }) => [call, effect, name, atMs, detail]),
      [
        ["boot", "running", "late", late.readyMs, `{"joinsMs":${late.readyMs + 400}}`],
        ["boot", "running", "early", early.readyMs, `{"joinsMs":${early.readyMs + joinMs}}`],
        ["join", "ready", "early", early.readyMs + joinMs, null],
        ["join", "ready", "late", late.readyMs + 400, null],
        ["restart", "not ready", "early", changedMs, '{"joinsMs":null}'],
      ],
    );
  });

  it("can be read from the view of hosts by any client", async () => {
    const { id, readyMs } = await make({ joinMs });
    clock.advance(bootMs);
    await cloud.get(id);
    const row = () => {
      const database = new DatabaseSync(cloud.path, { readOnly: true });
      const found = database
        .prepare("SELECT joins_ms, ready_since_ms, node_kubelet FROM hosts WHERE id = ?")
        .get(id);
      database.close();
      return { ...found };
    };
    const none = { ready_since_ms: null, node_kubelet: null };
    assert.deepEqual(row(), { ...none, joins_ms: readyMs + joinMs });
    clock.advance(joinMs);
    await cloud.get(id);
    const since = { ready_since_ms: readyMs + joinMs, node_kubelet: "1.34.2" };
    assert.deepEqual(row(), { ...since, joins_ms: null });
  });
});
