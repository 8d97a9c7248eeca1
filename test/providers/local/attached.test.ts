import assert from "node:assert/strict";
import { join } from "node:path";
import { LocalCloud } from "../../../providers/local/cloud.js";
import { LocalHandler } from "../../../providers/local/handlers.js";
import type { LocalKind } from "../../../providers/local/file/resource.js";
import type { CreateContext, Identity } from "../../../src/provider/port.js";
import { failsWith } from "../../support/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { scratchFolder } from "../../support/scratch.js";

const who = (kind: LocalKind, name: string): Identity => ({
  cluster: "default/prod",
  clusterUid: "uid-1",
  kind,
  name,
  token: `${kind}-${name}`,
});
const scope = { cluster: "default/prod", clusterUid: "uid-1" };

describe("a local cloud that accepts first", () => {
  const scratch = scratchFolder();
  let clock: FakeClock;
  let cloud: LocalCloud;
  let context: CreateContext;
  let networkId: string;
  const handlerOf = (kind: LocalKind) => new LocalHandler(cloud, kind);
  const makeHost = (name: string) =>
    handlerOf("LocalHost").create(context, who("LocalHost", name), { networkId, bootMs: 5 });

  beforeEach(async () => {
    clock = new FakeClock();
    cloud = new LocalCloud(join(scratch.path, `${Math.random()}.db`), clock);
    context = {
      clock,
      signal: new AbortController().signal,
      assertEngineAlive: () => undefined,
      userData: () => Promise.reject(new Error("none")),
    };
    const network = await cloud.create("LocalNetwork", who("LocalNetwork", "n"), {
      cidr: "10.0.0.0/16",
    });
    networkId = network.id;
  });
  afterEach(() => cloud.close());

  it("shows nothing of a new resource before its operation ends, but to its token", async () => {
    await cloud.addFault({ call: "create", mode: "accepts", ms: 1_000 });
    const handler = handlerOf("LocalHost");
    const { id, phase, operation = "" } = await makeHost("h");
    assert.deepEqual([phase, operation], ["pending", id]);
    assert.deepEqual(await handler.locate(context, who("LocalHost", "h"), id), { found: "none" });
    const byToken = await handler.locate(context, who("LocalHost", "h"));
    assert.ok(byToken.found === "one" && byToken.resource.operation === id);
    assert.equal((await cloud.list(scope)).length, 1);
    assert.deepEqual(await handler.poll(context, operation), { state: "running" });
    assert.equal((await makeHost("h")).id, id, "the same create gives the same one");
    clock.advance(1_001);
    assert.deepEqual(await handler.poll(context, operation), { state: "done" });
    const shown = await handler.locate(context, who("LocalHost", "h"), id);
    assert.ok(shown.found === "one" && shown.resource.phase === "pending", "it boots from then on");
    clock.advance(10);
    assert.equal((await cloud.get(id))?.state, "running");
  });

  it("says why an operation failed, for ever, and shows nothing of it", async () => {
    await cloud.addFault({ call: "create", mode: "rejects", ms: 500 });
    const { id, operation = "" } = await makeHost("h");
    clock.advance(501);
    const outcome = await handlerOf("LocalHost").poll(context, operation);
    assert.ok(outcome.state === "failed" && outcome.failure.code === "QUOTA");
    assert.equal(await cloud.get(id), undefined);
    assert.equal((await cloud.list(scope)).length, 1);
    assert.equal((await makeHost("h")).phase, "gone", "its token is spent");
    assert.ok((await cloud.ledger()).some(({ effect }) => effect === "rejected"));
    await cloud.terminate(networkId);
  });

  it("refuses a removal that it has accepted, and carries the next one out", async () => {
    const { id } = await makeHost("h");
    clock.advance(10);
    await cloud.addFault({ call: "terminate", mode: "keeps", ms: 300 });
    const handler = handlerOf("LocalHost");
    const presence = await handler.locate(context, who("LocalHost", "h"), id);
    assert.ok(presence.found === "one");
    const { operation = "" } = (await handler.remove(context, presence.resource)) ?? {};
    assert.deepEqual(await handler.poll(context, operation), { state: "running" });
    clock.advance(301);
    const outcome = await handler.poll(context, operation);
    assert.ok(outcome.state === "failed" && outcome.failure.code === "IN_USE");
    assert.equal((await cloud.get(id))?.state, "running");
    assert.equal(await handler.remove(context, presence.resource), undefined);
    assert.equal((await cloud.get(id))?.state, "terminated");
  });

  it("makes nothing on a host that is only accepted", async () => {
    await cloud.addFault({ call: "create", mode: "accepts", ms: 1_000 });
    const { id } = await makeHost("h");
    const volume = () =>
      handlerOf("LocalVolume").create(context, who("LocalVolume", "v"), { hostId: id, gib: 1 });
    await assert.rejects(volume(), failsWith("NOT_YET_USABLE"));
    clock.advance(1_001);
    assert.equal((await volume()).phase, "ready");
  });

  it("keeps a host while it is registered somewhere, unless it is killed or that is nobody's", async () => {
    const [first, second, third] = [await makeHost("a"), await makeHost("b"), await makeHost("c")];
    clock.advance(10);
    const target = handlerOf("LocalTarget");
    const registered = (host: string) =>
      target.create(context, who("LocalTarget", `${host}-api`), { hostId: host });
    const volume = handlerOf("LocalVolume");
    const data = (host: string) =>
      volume.create(context, who("LocalVolume", `${host}-data`), { hostId: host, gib: 1 });
    const made = await registered(first.id);
    await assert.rejects(
      cloud.terminate(first.id),
      failsWith("IN_USE", new RegExp(`in its way: ${made.id}`)),
    );
    await cloud.terminate(first.id, undefined, "kill");
    await assert.rejects(
      data(first.id).then(() => data("none")),
      failsWith("CLOUD_FAILED"),
    );
    const kept = await registered(second.id);
    await cloud.disown(kept.id);
    await cloud.terminate(second.id);
    assert.equal((await cloud.get(kept.id))?.state, "running");
    const detached = await data(third.id);
    await cloud.terminate(third.id);
    assert.equal((await cloud.get(detached.id))?.state, "running");
  });
});
