import assert from "node:assert/strict";
import type { ErrorCode } from "../../src/api/error.js";
import { CloudResource, type BridgeRuntime } from "../../src/dynamic/cloud-resource.js";
import type {
  CallContext,
  Identity,
  Observed,
  OperationState,
  Presence,
  AcceptedRemoval,
  ResourceHandler,
} from "../../src/provider/port.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";

const who: Identity = {
  cluster: "default/prod",
  clusterUid: "uid-1",
  kind: "LocalHost",
  name: "web-1",
  token: "t-1",
};
const spec = { networkId: "n", size: "small", diskGib: 20 };
const inputs = { who, spec };
const noQuota: OperationState = {
  state: "failed",
  failure: { code: "QUOTA", reason: "32 vCPUs are in use" },
};

/** A cloud that answers with operations: what it makes shows once they are done. */
class AcceptingHandler implements ResourceHandler {
  /** What becomes of the last operation. */
  outcome: OperationState = { state: "running" };
  /** Polling so often ends a running operation well. */
  pollsUntilDone = Infinity;
  readonly calls: string[] = [];
  private made: Observed | undefined;

  async locate(): Promise<Presence> {
    this.calls.push("locate");
    const shows = this.made !== undefined && this.outcome.state === "done";
    return shows && this.made ? { found: "one", resource: this.made } : { found: "none" };
  }

  async create(_ctx: CallContext, asked: Identity, wanted: Observed["spec"]): Promise<Observed> {
    this.calls.push("create");
    this.made = { id: "r-1", who: asked, phase: "ready", spec: wanted, status: {} };
    return { ...this.made, phase: "pending", operation: "op-1" };
  }

  async update(_ctx: CallContext, current: Observed, wanted: Observed["spec"]): Promise<Observed> {
    this.calls.push("update");
    this.outcome = { state: "running" };
    this.made = { ...current, spec: wanted };
    return { ...current, operation: "op-2" };
  }

  async remove(): Promise<AcceptedRemoval | undefined> {
    this.calls.push("remove");
    this.made = undefined;
    return undefined;
  }

  async poll(_ctx: CallContext, operation: string): Promise<OperationState> {
    this.calls.push(`poll ${operation}`);
    this.pollsUntilDone -= 1;
    if (this.pollsUntilDone <= 0) this.outcome = { state: "done" };
    return this.outcome;
  }
}

function bridge(mode: BridgeRuntime["mode"] = "stepwise") {
  const handler = new AcceptingHandler();
  const clock = new FakeClock();
  const { name, hostKind, verdict } = localProvider();
  const context = {
    clock,
    signal: new AbortController().signal,
    assertEngineAlive: () => undefined,
  };
  const runtime = { context, mode, readyTimeoutMs: 10_000 };
  return {
    handler,
    resource: new CloudResource({ name, hostKind, verdict }, "LocalHost", handler, runtime),
  };
}

const isRefused = (code: ErrorCode, words: RegExp) => (error: unknown) =>
  failsWith(code)(error) && words.test((error as Error).message);

describe("what a cloud has accepted", () => {
  it("is recorded with its operation, and read as it is recorded while that runs", async () => {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    assert.equal(outs["operation"], "op-1");
    assert.deepEqual((await resource.read(id, outs)).props, outs);
    handler.outcome = noQuota;
    assert.deepEqual(
      (await resource.read(id, outs)).props,
      outs,
      "its failure is still to be told",
    );
    handler.outcome = { state: "done" };
    assert.deepEqual((await resource.read(id, outs)).props, outs, "showing is no difference");
    await handler.remove();
    assert.deepEqual(await resource.read(id, outs), {}, "done, and not there any more: gone");
  });

  it("is not taken for gone by its deletion, which waits until it shows", async () => {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    handler.pollsUntilDone = 3;
    await resource.delete(id, outs);
    assert.equal(handler.calls.filter((one) => one === "poll op-1").length, 4);
    assert.equal(handler.calls.filter((one) => one === "remove").length, 1);
  });

  it("needs no deletion once it has failed", async () => {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    handler.outcome = noQuota;
    await resource.delete(id, outs);
    assert.ok(!handler.calls.includes("remove"));
  });

  it("is waited for where somebody waits, and fails in the cloud's words", async () => {
    const well = bridge("inline");
    well.handler.pollsUntilDone = 2;
    assert.equal((await well.resource.create(inputs)).id, "r-1");
    const badly = bridge("inline");
    badly.handler.outcome = noQuota;
    await assert.rejects(badly.resource.create(inputs), /32 vCPUs are in use/);
  });

  it("is a change that counts once it is carried out, or fails with its own code", async () => {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    handler.outcome = { state: "done" };
    handler.pollsUntilDone = 2;
    const grown = { who, spec: { ...spec, diskGib: 30 } };
    const { outs: changed } = await resource.update(id, outs, grown);
    assert.deepEqual(changed["spec"], grown.spec);
    assert.ok(handler.calls.includes("poll op-2"));
    handler.poll = async () => noQuota;
    const again = { who, spec: { ...spec, diskGib: 40 } };
    await assert.rejects(resource.update(id, changed, again), (error: Error) =>
      isRefused("QUOTA", /accepted and then failed: 32 vCPUs/)(error.cause),
    );
  });

  it("is unknown, and never gone, while nobody can tell what became of it", async () => {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    handler.poll = () => Promise.reject(new Error("no answer"));
    await assert.rejects(resource.read(id, outs), /no answer/);
    await assert.rejects(resource.delete(id, outs), /no answer/);
  });
});

describe("a host that its update leaves stopped", () => {
  it("is started, also where the cloud does not show all of its inputs", async () => {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    handler.outcome = { state: "done" };
    const calls: string[] = [];
    const hidden = ({ spec: shown, ...rest }: Observed): Observed => {
      const { diskGib: _, ...others } = shown;
      return { ...rest, spec: others };
    };
    let seen: Observed = { id, who, phase: "ready", spec, status: {} };
    Object.assign(handler, {
      unobservable: ["diskGib"],
      locate: async (): Promise<Presence> => ({ found: "one", resource: hidden(seen) }),
      update: async (_ctx: CallContext, current: Observed, wanted: Observed["spec"]) => {
        calls.push("update");
        seen = { ...current, phase: "stopped", spec: wanted };
        return { ...seen, operation: "op-2" };
      },
      start: async (_ctx: CallContext, current: Observed) => {
        calls.push("start");
        seen = { ...current, phase: "pending" };
        return seen;
      },
    });
    const { outs: changed } = await resource.update(id, outs, {
      who,
      spec: { ...spec, diskGib: 30 },
    });
    assert.deepEqual(calls, ["update", "start"]);
    assert.deepEqual(changed["spec"], { ...spec, diskGib: 30 });
  });
});

describe("a removal that the cloud has accepted", () => {
  const inUse: OperationState = {
    state: "failed",
    failure: { code: "IN_USE", reason: "a snapshot uses it" },
  };

  /** A cloud that removes what it has made only after so many refusals. */
  async function removing(refusal: OperationState, refusals: number) {
    const { handler, resource } = bridge();
    const { id, outs } = await resource.create(inputs);
    handler.outcome = { state: "done" };
    const asked: string[] = [];
    const gone = handler.remove.bind(handler);
    handler.remove = async () => {
      asked.push("remove");
      if (asked.filter((one) => one === "remove").length > refusals) return gone();
      return { operation: "op-9" };
    };
    const states: OperationState[] = [{ state: "running" }, refusal];
    handler.poll = async (_ctx, operation) => {
      asked.push(operation);
      return operation === "op-9" ? (states.shift() ?? refusal) : handler.outcome;
    };
    return { asked, remove: () => resource.delete(id, outs) };
  }

  it("is not asked for again while it runs, and again once the cloud has refused it", async () => {
    const { asked, remove } = await removing(inUse, 1);
    await remove();
    assert.deepEqual(
      asked.filter((one) => one !== "op-1"),
      ["remove", "op-9", "op-9", "remove"],
    );
  });

  it("ends the deletion in the cloud's words where the refusal does not pass", async () => {
    const refusal: OperationState = {
      state: "failed",
      failure: { code: "PERMISSION", reason: "the key may not be used" },
    };
    const { remove } = await removing(refusal, 9);
    await assert.rejects(
      remove(),
      isRefused("PERMISSION", /accepted and then failed: the key may/),
    );
  });
});
