import assert from "node:assert/strict";
import { CapstanError, type ErrorDetails } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { unknownValue } from "../../src/api/unknown.js";
import { type BridgeRuntime, CloudResource } from "../../src/dynamic/cloud-resource.js";
import { nodeKey } from "../../src/graph/graph.js";
import type { ResourceEvent } from "../../src/dynamic/resource-event.js";
import { Postponement } from "../../src/dynamic/postponed.js";
import { providerProperty, UnfinishedResource } from "../../src/dynamic/protocol.js";
import type { Identity, Observed, UserData } from "../../src/provider/port.js";
import { SessionCloud } from "../../src/dynamic/session-cloud.js";
import { failsWith, unfinished } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";
import { MemoryHandler } from "../support/memory-handler.js";

const who: Identity = {
  cluster: "default/prod",
  clusterUid: "uid-1",
  kind: "LocalHost",
  name: "web-1",
  token: "t-1",
};
const spec: JsonObject = { networkId: "n", role: "worker", size: "small", diskGib: 20, tags: {} };
const inputs = { who, spec };

function observed(change: Partial<Observed> = {}): Observed {
  return { id: "r-1", who, phase: "ready", spec, status: { address: "10.0.0.1" }, ...change };
}

function cloudError(details: Partial<ErrorDetails> = {}): CapstanError {
  return new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: "no", ...details });
}

const lost = cloudError({ ambiguous: true, message: "gave no answer" });
const throttled = cloudError({ code: "CLOUD_THROTTLED", retryable: true });

/** A resource with its memory cloud; the clock moves on whenever it is slept on. */
function bridge(
  options: Partial<BridgeRuntime> & {
    assertEngineAlive?: () => void;
    /** The account that answers; a provider that cannot tell without. */
    answers?: () => string;
    /** What a host may be instead. */
    alternatives?: (host: JsonObject) => readonly JsonObject[];
  } = {},
) {
  const handler = new MemoryHandler();
  const clock = new FakeClock();
  const abort = new AbortController();
  const events: ResourceEvent[] = [];
  const { assertEngineAlive = () => {}, answers, alternatives, ...runtime } = options;
  const { name, hostKind, verdict } = localProvider();
  const provider = {
    name,
    hostKind,
    verdict,
    ...(alternatives !== undefined && { alternatives }),
    ...(answers !== undefined && { identity: async () => ({ account: answers() }) }),
  };
  const resource = new CloudResource(provider, "LocalHost", handler, {
    context: { clock, signal: abort.signal, assertEngineAlive },
    mode: "stepwise",
    readyTimeoutMs: 10_000,
    report: (event) => events.push(event),
    ...runtime,
  });
  const counted = (call: string) => handler.calls.filter((one) => one === call).length;
  return { handler, clock, abort, events, resource, counted };
}

/** Hosts that are given what this makes of their identity. */
function bootstrapping(userDataFor: (who: Identity) => Promise<UserData>): Partial<BridgeRuntime> {
  const bootstrap = {
    userDataFor: (_ctx: unknown, one: Identity) => userDataFor(one),
    release: () => Promise.resolve(),
    forget: () => Promise.resolve(),
  };
  return { bootstrap };
}

describe("check and diff", () => {
  const { resource, handler } = bridge();

  it("accept an identity and a spec, also when they are not known yet", async () => {
    assert.deepEqual((await resource.check({}, inputs)).failures, []);
    assert.deepEqual((await resource.check({}, { who, spec: unknownValue })).failures, []);
  });

  it("name what is missing", async () => {
    const { failures } = await resource.check({}, { spec: "text" });
    assert.deepEqual(
      failures.map(({ property }) => property),
      ["who", "spec"],
    );
  });

  const olds = { who, spec, status: {}, [providerProperty]: "text" };
  const cases = [
    { name: "the same", news: inputs, want: { changes: false, paths: [] } },
    {
      name: "in place",
      news: { who, spec: { ...spec, tags: { a: "b" } } },
      want: { changes: true, paths: ["spec.tags"] },
    },
    {
      name: "what needs a new host is still no replacement: the plan names those",
      news: { who, spec: { ...spec, size: "large" } },
      want: { changes: true, paths: ["spec.size"] },
    },
    {
      name: "not known yet",
      news: { who, spec: { ...spec, networkId: unknownValue } },
      want: { changes: true, paths: ["spec.networkId"] },
    },
    {
      name: "another identity",
      news: { who: { ...who, clusterUid: "uid-2" }, spec },
      want: { changes: true, paths: ["who"] },
    },
  ];
  for (const { name, news, want } of cases) {
    it(`tell ${name}`, async () => assert.deepEqual(await resource.diff("r-1", olds, news), want));
  }

  it("ask the cloud nothing", () => assert.deepEqual(handler.calls, []));
});

describe("create", () => {
  it("makes what is not there, once, and answers before it runs", async () => {
    const { resource, handler } = bridge();
    const { id, outs } = await resource.create(inputs);
    assert.equal(id, "r-1");
    assert.deepEqual(handler.calls, ["locate", "create"]);
    assert.deepEqual(
      [outs["who"], outs["spec"], outs["status"]],
      [who, spec, { address: "10.0.0.1" }],
    );
    assert.match(String(outs[providerProperty]), /capstan\/dynamic/);
  });

  it("finds what is there already, and brings it to the wanted spec", async () => {
    const { resource, handler } = bridge();
    handler.add(observed({ spec: { ...spec, diskGib: 10 } }));
    const { id, outs } = await resource.create(inputs);
    assert.deepEqual([id, (outs["spec"] as JsonObject)["diskGib"]], ["r-1", 20]);
    assert.deepEqual(handler.calls, ["locate", "update"]);
  });

  it("adopts what a lost answer made, although listings lag behind", async () => {
    const { resource, handler, counted } = bridge();
    handler.lag = 4;
    handler.fail({ call: "create", error: lost, afterEffect: true });
    assert.equal((await resource.create(inputs)).id, "r-1");
    assert.equal(counted("create"), 1);
    assert.equal(handler.resources.size, 1);
  });

  it("asks again with the same token when a lost answer made nothing", async () => {
    const { resource, handler, counted, clock } = bridge();
    handler.fail({ call: "create", error: lost });
    const before = clock.now();
    assert.equal((await resource.create(inputs)).id, "r-1");
    assert.equal(counted("create"), 2);
    assert.ok(clock.now() - before >= 2_000, "listings were given time to catch up first");
  });

  it("treats an error that is not ours as a lost answer", async () => {
    const { resource, handler, counted } = bridge();
    handler.fail({ call: "create", error: new TypeError("socket closed"), afterEffect: true });
    assert.equal((await resource.create(inputs)).id, "r-1");
    assert.equal(counted("create"), 1);
  });

  it("repeats what was refused for the moment, without looking again", async () => {
    const { resource, handler } = bridge();
    handler.fail({ call: "create", error: throttled });
    await resource.create(inputs);
    assert.deepEqual(handler.calls, ["locate", "create", "create"]);
  });

  it("makes user data once for each create, however often the cloud is asked", async () => {
    const made: string[] = [];
    const given: UserData[] = [];
    const { handler, resource } = bridge(
      bootstrapping(async ({ name }) => {
        made.push(name);
        return { format: "cloud-config", text: `of ${name}`, packed: new Uint8Array() };
      }),
    );
    handler.fail({ call: "create", error: throttled });
    const create = handler.create.bind(handler);
    handler.create = async (ctx, ...rest) => {
      given.push(await ctx.userData());
      return create(ctx, ...rest);
    };
    await resource.create(inputs);
    assert.deepEqual(made, ["web-1"]);
    assert.deepEqual(
      given.map(({ text }) => text),
      ["of web-1", "of web-1"],
    );
  });

  it("waits until user data can be made", async () => {
    let asked = 0;
    const { handler, resource } = bridge(
      bootstrapping(async () => {
        asked += 1;
        if (asked === 1) throw throttled;
        return { format: "cloud-config", text: "", packed: new Uint8Array() };
      }),
    );
    const create = handler.create.bind(handler);
    handler.create = async (ctx, ...rest) => {
      await ctx.userData();
      return create(ctx, ...rest);
    };
    await resource.create(inputs);
    assert.equal(asked, 2);
  });

  it("refuses a create that asks for user data where there is none", async () => {
    const { handler, resource } = bridge();
    handler.create = async (ctx) => {
      await ctx.userData();
      return observed();
    };
    await assert.rejects(resource.create(inputs), failsWith("INVALID_INPUT"));
  });

  it("waits for as long as the cloud asks for, and longer after each refusal", async () => {
    const { resource, handler, clock } = bridge();
    const patient = cloudError({ code: "CLOUD_THROTTLED", retryable: true, retryAfterMs: 700 });
    for (const error of [throttled, throttled, patient]) handler.fail({ call: "create", error });
    await resource.create(inputs);
    assert.deepEqual(clock.slept, [50, 100, 700]);
  });

  it("waits for what is not usable yet, and not for ever", async () => {
    const unusable = cloudError({ code: "NOT_YET_USABLE", message: "the profile is not there" });
    const short = bridge({ readyTimeoutMs: 600_000 });
    for (let time = 0; time < 5; time += 1) short.handler.fail({ call: "create", error: unusable });
    await short.resource.create(inputs);
    assert.equal(short.events.filter(({ state }) => state === "waiting").length, 1);
    const long = bridge({ readyTimeoutMs: 600_000 });
    for (let time = 0; time < 500; time += 1)
      long.handler.fail({ call: "create", error: unusable });
    const begun = long.clock.now();
    await assert.rejects(
      long.resource.create(inputs),
      failsWith("NOT_YET_USABLE", /^the profile is not there, for 12\d s$/),
    );
    assert.ok(long.clock.now() - begun < 125_000);
    assert.equal(long.events.at(-1)?.retryable, false);
  });

  it("waits for what stands in the way of a deletion, and names it", async () => {
    const { resource, handler, events } = bridge();
    handler.add(observed());
    const inUse = cloudError({
      code: "IN_USE",
      message: "the group is in use",
      blockedBy: ["eni-1 of web", "eni-2", "eni-3", "eni-4"],
    });
    for (let time = 0; time < 3; time += 1) handler.fail({ call: "remove", error: inUse });
    await resource.delete("r-1", { who, spec });
    assert.deepEqual(
      events.filter(({ state }) => state === "waiting").map(({ code, message }) => [code, message]),
      [["IN_USE", "the group is in use (in its way: eni-1 of web, eni-2, eni-3 and 1 more)"]],
    );
    assert.equal(handler.resources.get("r-1")?.phase, "gone");
  });

  it("looks less and less often at what it waits for, as often as its kind says", async () => {
    const { resource, handler, clock } = bridge({ mode: "inline", readyTimeoutMs: 60_000 });
    Object.assign(handler, { timing: { pollMs: 3_000 } });
    handler.bootsAfter = 20;
    await resource.create(inputs);
    assert.deepEqual([clock.slept[0], clock.slept.at(-1)], [25, 3_000]);
    assert.ok(clock.slept.every((ms, index) => ms >= (clock.slept[index - 1] ?? 0)));
  });

  it("passes a plain refusal on at once", async () => {
    const { resource, handler, counted } = bridge();
    handler.fail({ call: "create", error: cloudError({ code: "QUOTA" }) });
    await assert.rejects(resource.create(inputs), failsWith("QUOTA"));
    assert.equal(counted("create"), 1);
  });

  it("gives up at its deadline", async () => {
    const { resource, handler, clock } = bridge();
    const before = clock.now();
    for (let time = 0; time < 10_000; time += 1) handler.fail({ call: "create", error: throttled });
    await assert.rejects(resource.create(inputs), failsWith("CLOUD_THROTTLED"));
    assert.ok(clock.now() - before < 20_000);
  });

  it("looks once more when the last answer before its deadline is lost", async () => {
    const { resource, handler } = bridge({ readyTimeoutMs: -1 });
    handler.fail({ call: "create", error: lost, afterEffect: true });
    await assert.rejects(resource.create(inputs), unfinished("r-1", "CLOUD_FAILED"));
  });

  it("makes nothing while it is unknown whether it exists", async () => {
    const { resource, handler, counted } = bridge();
    handler.answers.push({ found: "unknown", reason: "listing failed" });
    await assert.rejects(resource.create(inputs), failsWith("UNKNOWN_PRESENCE", /listing failed/));
    assert.equal(counted("create"), 0);
  });

  it("makes nothing when several carry its identity, and names them", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed());
    handler.add(observed({ id: "r-2" }));
    await assert.rejects(resource.create(inputs), failsWith("SEVERAL_FOUND", /r-1, r-2/));
    assert.equal(counted("create"), 0);
  });

  it("adopts nothing that is somebody else's", async () => {
    const { resource, handler } = bridge();
    handler.add(observed({ who: { ...who, clusterUid: "uid-2" } }));
    await assert.rejects(resource.create(inputs), failsWith("NOT_OURS", /adopt/));
    assert.deepEqual(handler.calls, ["locate"]);
  });

  it("records a terminated host that its token gave back, so that it counts as spent", async () => {
    const { resource, handler } = bridge();
    handler.add(observed({ phase: "gone" }));
    await assert.rejects(resource.create(inputs), unfinished("r-1", "TOKEN_SPENT"));
  });

  it("records what it found and cannot use", async () => {
    const { resource, handler } = bridge();
    handler.add(observed({ spec: { ...spec, size: "large" } }));
    await assert.rejects(resource.create(inputs), unfinished("r-1", "UNSUPPORTED_CHANGE"));
    assert.deepEqual(handler.calls, ["locate"]);
  });

  it("changes nothing for an engine that is dead", async () => {
    const dead = cloudError({ code: "ENGINE_DEAD" });
    const { resource, handler, counted } = bridge({
      assertEngineAlive: () => {
        throw dead;
      },
    });
    await assert.rejects(resource.create(inputs), failsWith("ENGINE_DEAD"));
    handler.add(observed());
    await assert.rejects(resource.delete("r-1", inputs), failsWith("ENGINE_DEAD"));
    assert.deepEqual([counted("create"), counted("remove")], [0, 0]);
  });

  it("tells how it goes", async () => {
    const { resource, handler, events } = bridge();
    await resource.create(inputs);
    handler.fail({ call: "update", error: cloudError({ code: "QUOTA", message: "too many" }) });
    const wanted = { who, spec: { ...spec, diskGib: 99 } };
    await assert.rejects(resource.update("r-1", inputs, wanted));
    assert.deepEqual(
      events.map(({ operation, state, id, message }) => [operation, state, id ?? message]),
      [
        ["create", "started", undefined],
        ["create", "done", "r-1"],
        ["update", "started", undefined],
        ["update", "failed", "too many"],
      ],
    );
  });
});

describe("an interrupted create", () => {
  it("records the id of what reached the cloud", async () => {
    const { resource, handler, abort } = bridge();
    const create = handler.create.bind(handler);
    handler.create = async (ctx, ...rest) => {
      await create(ctx, ...rest);
      abort.abort(cloudError({ code: "CANCELLED" }));
      throw abort.signal.reason;
    };
    await assert.rejects(resource.create(inputs), (error) => {
      assert.ok(error instanceof UnfinishedResource);
      assert.deepEqual([error.id, error.properties["who"]], ["r-1", who]);
      assert.ok(providerProperty in error.properties, "Pulumi needs the provider to go on");
      return true;
    });
  });

  it("is just interrupted when nothing reached the cloud", async () => {
    const { resource, handler, abort } = bridge();
    handler.create = async () => {
      abort.abort(cloudError({ code: "CANCELLED" }));
      throw abort.signal.reason;
    };
    await assert.rejects(resource.create(inputs), failsWith("CANCELLED"));
  });

  it("while it looks for what a lost answer made, records that as well", async () => {
    const { resource, handler, abort } = bridge();
    handler.fail({ call: "create", error: lost, afterEffect: true });
    const locate = handler.locate.bind(handler);
    handler.locate = async (ctx, ...rest) => {
      if (handler.resources.size > 0 && !abort.signal.aborted) {
        abort.abort(cloudError({ code: "CANCELLED" }));
        return { found: "none" };
      }
      return locate(ctx, ...rest);
    };
    await assert.rejects(resource.create(inputs), unfinished("r-1"));
  });
});

describe("inline", () => {
  it("waits until the resource runs", async () => {
    const { resource, handler } = bridge({ mode: "inline" });
    handler.bootsAfter = 5;
    assert.equal((await resource.create(inputs)).id, "r-1");
    assert.equal(handler.resources.get("r-1")?.phase, "ready");
  });

  it("records what does not run by the deadline, and an update goes on waiting", async () => {
    const { resource, handler } = bridge({ mode: "inline" });
    handler.bootsAfter = 1_000;
    await assert.rejects(resource.create(inputs), unfinished("r-1", "DEADLINE"));
    handler.bootsAfter = 3;
    await resource.update("r-1", inputs, inputs);
    assert.equal(handler.resources.get("r-1")?.phase, "ready");
  });

  for (const { phase, code } of [
    { phase: "gone", code: "RESOURCE_GONE" },
    { phase: "failed", code: "CLOUD_FAILED" },
  ] as const) {
    it(`records what is ${phase} while it is waited for`, async () => {
      const { resource, handler } = bridge({ mode: "inline" });
      handler.answers.push({ found: "none" }, { found: "one", resource: observed({ phase }) });
      await assert.rejects(resource.create(inputs), unfinished("r-1", code));
    });
  }
});

describe("read", () => {
  it("gives everything that the cloud shows, as inputs and as outputs", async () => {
    const { resource, handler } = bridge();
    const drifted = { ...spec, diskGib: 99 };
    handler.add(observed({ spec: drifted }));
    const { id, props, inputs: read } = await resource.read("r-1", inputs);
    assert.deepEqual([id, read], ["r-1", { who, spec: drifted }]);
    assert.deepEqual(Object.keys(props ?? {}).sort(), ["__provider", "spec", "status", "who"]);
  });

  it("gives nothing for what is certainly gone, be it terminated or never there", async () => {
    const { resource, handler } = bridge();
    assert.deepEqual(await resource.read("r-1", inputs), {});
    handler.add(observed({ phase: "gone" }));
    assert.deepEqual(await resource.read("r-1", inputs), {});
  });

  it("throws rather than call something gone that it cannot see", async () => {
    const { resource, handler } = bridge();
    handler.answers.push({ found: "unknown", reason: "no connection" });
    await assert.rejects(resource.read("r-1", inputs), failsWith("UNKNOWN_PRESENCE"));
    handler.fail({ call: "locate", error: cloudError() });
    await assert.rejects(resource.read("r-1", inputs), failsWith("CLOUD_FAILED"));
  });

  it("needs only an id, as in an import", async () => {
    const { resource, handler } = bridge();
    handler.add(observed());
    assert.deepEqual((await resource.read("r-1", {})).inputs, { who, spec });
  });
});

describe("update", () => {
  it("that failed half-way is called again with what the cloud shows by then", async () => {
    const { resource, handler } = bridge();
    handler.add(observed());
    const phases: string[] = [];
    handler.update = async (_ctx, current) => {
      phases.push(current.phase);
      if (current.phase === "ready") {
        handler.add({ ...current, phase: "failed" });
        throw throttled;
      }
      return { ...current, spec: wanted.spec, phase: "pending" };
    };
    const { outs } = await resource.update("r-1", inputs, wanted);
    assert.deepEqual(phases, ["ready", "failed"]);
    assert.deepEqual(outs["spec"], wanted.spec);
  });

  const wanted = { who, spec: { ...spec, diskGib: 40 } };

  it("changes in place, and asks for nothing when nothing differs", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed());
    const { outs } = await resource.update("r-1", inputs, wanted);
    assert.equal((outs["spec"] as JsonObject)["diskGib"], 40);
    await resource.update("r-1", wanted, wanted);
    assert.equal(counted("update"), 1);
  });

  it("judges by what the cloud shows, not by what is recorded", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed({ spec: wanted.spec }));
    await resource.update("r-1", inputs, wanted);
    assert.equal(counted("update"), 0);
  });

  it("goes on after a lost answer and after throttling", async () => {
    const { resource, handler } = bridge();
    handler.add(observed());
    handler.fail({ call: "update", error: lost, afterEffect: true });
    handler.fail({ call: "update", error: throttled });
    await resource.update("r-1", inputs, wanted);
    assert.equal(handler.resources.get("r-1")?.spec["diskGib"], 40);
  });

  it("stays recorded with its id when it fails, and can be resumed", async () => {
    const { resource, handler } = bridge();
    handler.add(observed());
    handler.fail({ call: "update", error: cloudError() });
    await assert.rejects(resource.update("r-1", inputs, wanted), unfinished("r-1", "CLOUD_FAILED"));
    await resource.update("r-1", inputs, wanted);
    assert.equal(handler.resources.get("r-1")?.spec["diskGib"], 40);
  });

  for (const mode of ["stepwise", "inline"] as const) {
    it(`goes on with what does not run, although it has all wanted inputs, ${mode}`, async () => {
      const { resource, handler } = bridge({ mode });
      handler.add(observed({ spec: wanted.spec, phase: "failed" }));
      handler.update = async (_ctx, current) => {
        const started = { ...current, phase: "pending" as const };
        handler.add(started);
        return started;
      };
      const { outs } = await resource.update("r-1", inputs, wanted);
      assert.deepEqual(outs["spec"], wanted.spec);
      assert.equal(handler.resources.get("r-1")?.phase, mode === "inline" ? "ready" : "pending");
    });
  }

  it("records which transaction has finished a planned change, and until then which one did before", async () => {
    const changing = { by: 7, keys: new Set([nodeKey("LocalHost", "web-1")]) };
    const { resource, handler } = bridge({ changing });
    handler.add(observed());
    const before = { ...inputs, updatedBy: 3 };
    handler.fail({ call: "update", error: cloudError() });
    await assert.rejects(resource.update("r-1", before, wanted), (error) => {
      assert.ok(error instanceof UnfinishedResource);
      assert.equal(error.properties["updatedBy"], 3);
      return true;
    });
    assert.equal((await resource.read("r-1", before)).props?.["updatedBy"], 3);
    assert.equal((await resource.update("r-1", before, wanted)).outs["updatedBy"], 7);
  });

  it("is asked for by a difference where the plan changes a resource whose record has all wanted inputs", async () => {
    const changing = { by: 7, keys: new Set([nodeKey("LocalHost", "web-1")]) };
    assert.ok((await bridge({ changing }).resource.diff("r-1", inputs, inputs)).changes);
    assert.ok(!(await bridge().resource.diff("r-1", inputs, inputs)).changes);
  });

  it("is asked for by a difference under a plain pulumi once a refresh has shown that it does not run", async () => {
    const { resource, handler } = bridge({ mode: "inline" });
    handler.add(observed({ phase: "failed" }));
    const { props = {} } = await resource.read("r-1", inputs);
    assert.ok((await resource.diff("r-1", props, inputs)).changes);
    assert.equal((await bridge().resource.diff("r-1", props, inputs)).changes, false);
  });

  it("refuses what needs a replacement, and changes nothing", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed());
    const large = { who, spec: { ...spec, size: "large" } };
    await assert.rejects(
      resource.update("r-1", inputs, large),
      unfinished("r-1", "UNSUPPORTED_CHANGE"),
    );
    assert.equal(counted("update"), 0);
  });

  it("tells that the resource is gone", async () => {
    const { resource, handler } = bridge();
    await assert.rejects(resource.update("r-1", inputs, wanted), failsWith("RESOURCE_GONE", /r-1/));
    handler.add(observed({ phase: "gone" }));
    await assert.rejects(resource.update("r-1", inputs, wanted), failsWith("RESOURCE_GONE"));
  });

  it("leaves alone what is marked as somebody else's", async () => {
    const { resource, handler } = bridge();
    handler.add(observed({ who: { ...who, cluster: "default/other", token: "t-9" } }));
    await assert.rejects(
      resource.update("r-1", inputs, wanted),
      failsWith("NOT_OURS", /cannot update LocalHost web-1: r-1 is marked as default\/other web-1/),
    );
    assert.deepEqual(handler.calls, ["locate"]);
  });
});

describe("delete", () => {
  it("removes, and ends only when it is gone", async () => {
    const { resource, handler } = bridge();
    handler.add(observed());
    await resource.delete("r-1", inputs);
    assert.deepEqual(handler.calls, ["locate", "remove", "locate"]);
    assert.equal(handler.resources.get("r-1")?.phase, "gone");
  });

  it("refuses what this engine run itself has made, under whatever record", async () => {
    const { resource, handler, counted } = bridge({ served: new Set() });
    const { id } = await resource.create(inputs);
    await assert.rejects(resource.delete(id, inputs), failsWith("BAD_STATE"));
    assert.equal(counted("remove"), 0);
    assert.equal(handler.resources.get(id)?.phase === "gone", false);
  });

  it("succeeds for what is gone already, without asking for it", async () => {
    const { resource, handler, counted } = bridge();
    await resource.delete("r-1", inputs);
    handler.add(observed({ phase: "gone" }));
    await resource.delete("r-1", inputs);
    assert.equal(counted("remove"), 0);
  });

  it("waits for what still uses it, up to its deadline", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed());
    handler.fail({ call: "remove", error: cloudError({ retryable: true, message: "in use" }) });
    handler.fail({ call: "remove", error: cloudError({ retryable: true, message: "in use" }) });
    await resource.delete("r-1", inputs);
    assert.equal(counted("remove"), 3);
    handler.add(observed());
    for (let time = 0; time < 1_000; time += 1) {
      handler.fail({ call: "remove", error: cloudError({ retryable: true, message: "in use" }) });
    }
    await assert.rejects(resource.delete("r-1", inputs), failsWith("CLOUD_FAILED", /in use/));
  });

  describe("that somebody else waits for", () => {
    /** Never gone: the cloud accepts each removal, and shows the resource as it was. */
    function postponing(listingLagMs = 300) {
      const told: ResourceEvent[] = [];
      const clock = new FakeClock();
      const postponement = new Postponement(clock, { listingLagMs }, (event) => told.push(event));
      const { signal } = new AbortController();
      const context = { clock, signal, assertEngineAlive: () => {} };
      return { ...bridge({ postponement, context }), told, clock };
    }

    it("is put off while the cloud is at it, and is no failure", async () => {
      const { resource, handler, told, clock, events, counted } = postponing();
      const begun = clock.now();
      handler.add(observed());
      handler.remove = async () => void handler.calls.push("remove");
      await assert.rejects(
        resource.delete("r-1", inputs),
        failsWith("DEADLINE", /^LocalHost web-1 is not gone yet: the cloud is still deleting it$/),
      );
      assert.ok(clock.now() - begun < 2_500, `${clock.now() - begun} ms`);
      assert.deepEqual(told, [
        { operation: "delete", kind: "LocalHost", name: "web-1", state: "waiting" },
      ]);
      assert.deepEqual(
        events.filter(({ state }) => state === "failed"),
        [],
      );
      // The moment is that of the whole engine run: the next one is looked at twice and no more.
      const removals = counted("remove");
      await assert.rejects(resource.delete("r-1", inputs), failsWith("DEADLINE"));
      assert.equal(counted("remove"), removals + 2);
    });

    it("is looked after as long as what is gone may still show", async () => {
      const { resource, handler, clock } = postponing(10_000);
      handler.add(observed());
      handler.remove = async () => void handler.calls.push("remove");
      const begun = clock.now();
      await assert.rejects(resource.delete("r-1", inputs), failsWith("DEADLINE"));
      assert.ok(clock.now() - begun >= 10_000, `${clock.now() - begun} ms`);
    });

    it("is looked after anew once another one is done", async () => {
      const { resource, handler, clock, counted } = postponing();
      const { remove } = handler;
      handler.add(observed());
      handler.remove = async () => void handler.calls.push("remove");
      await assert.rejects(resource.delete("r-1", inputs), failsWith("DEADLINE"));
      handler.remove = remove;
      await resource.delete("r-1", inputs);
      const [begun, removals] = [clock.now(), counted("remove")];
      handler.add(observed());
      handler.remove = async () => void handler.calls.push("remove");
      await assert.rejects(resource.delete("r-1", inputs), failsWith("DEADLINE"));
      assert.ok(clock.now() - begun >= 1_000 && counted("remove") > removals + 2);
    });

    it("is put off while the cloud refuses it for now, with what it says", async () => {
      const { resource, handler, told } = postponing();
      handler.add(observed());
      const inUse = cloudError({ code: "IN_USE", retryable: true, message: "in use" });
      for (let time = 0; time < 100; time += 1) handler.fail({ call: "remove", error: inUse });
      await assert.rejects(resource.delete("r-1", inputs), failsWith("DEADLINE", /: in use$/));
      assert.deepEqual(
        told.map(({ state, code, message }) => [state, code, message]),
        [["waiting", "IN_USE", "in use"]],
      );
    });

    it("fails at once with what is no answer of the cloud", async () => {
      const { resource, handler, told, counted } = postponing();
      handler.add(observed());
      handler.fail({ call: "remove", error: new TypeError("not a function") });
      await assert.rejects(resource.delete("r-1", inputs), TypeError);
      assert.deepEqual([told, counted("remove")], [[], 1]);
    });

    it("fails where the cloud refuses it for good, and is done where it goes at once", async () => {
      const { resource, handler, told } = postponing();
      handler.add(observed());
      handler.fail({ call: "remove", error: cloudError({ code: "PERMISSION" }) });
      await assert.rejects(resource.delete("r-1", inputs), failsWith("PERMISSION"));
      await resource.delete("r-1", inputs);
      assert.deepEqual(told, []);
    });
  });

  it("leaves alone what is marked as somebody else's", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed({ who: { ...who, clusterUid: "uid-2" } }));
    await assert.rejects(resource.delete("r-1", inputs), failsWith("NOT_OURS", /cannot delete/));
    assert.equal(counted("remove"), 0);
    assert.equal(handler.resources.get("r-1")?.phase, "ready");
  });

  it("is over where another resource of the same cluster has been made of it", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed({ who: { ...who, name: "web-1-again", token: "t-2" } }));
    await resource.delete("r-1", inputs);
    assert.equal(counted("remove"), 0);
    assert.equal(handler.resources.get("r-1")?.phase, "ready");
  });

  it("does not call something deleted that it cannot see", async () => {
    const { resource, handler, counted } = bridge();
    handler.add(observed());
    handler.answers.push({ found: "unknown", reason: "no connection" });
    await assert.rejects(resource.delete("r-1", inputs), failsWith("UNKNOWN_PRESENCE"));
    assert.equal(counted("remove"), 0);
  });
});

describe("a resource in a cloud that tells which one it is", () => {
  const recorded = { ...inputs, status: {}, cloud: { account: "1" } };

  it("is not read, changed or deleted in another one, where it would look gone", async () => {
    const { resource, handler } = bridge({ answers: () => "2" });
    const refused = failsWith(
      "WRONG_CLOUD",
      /LocalHost web-1 .*: account 1 is recorded, and 2 ans/,
    );
    await assert.rejects(resource.read("r-1", recorded), refused);
    await assert.rejects(resource.update("r-1", recorded, inputs), refused);
    await assert.rejects(resource.delete("r-1", recorded), refused);
    assert.deepEqual(handler.calls, []);
  });

  it("is not made in another one than that of its transaction", async () => {
    const cloud = new SessionCloud({ account: "1" });
    const { resource, handler } = bridge({ answers: () => "2", cloud });
    await assert.rejects(resource.create(inputs), failsWith("WRONG_CLOUD"));
    assert.deepEqual(handler.calls, []);
  });

  it("records it when it is made or changed; a record without it is read without a difference", async () => {
    const { resource, handler } = bridge({ answers: () => "1" });
    const { id, outs } = await resource.create(inputs);
    assert.deepEqual(outs["cloud"], { account: "1" });
    assert.deepEqual((await resource.read(id, outs)).props, outs);
    const { cloud: _cloud, ...old } = outs;
    assert.deepEqual((await resource.read(id, old)).props, old);
    assert.deepEqual((await resource.read(id, {})).props, outs);
    assert.deepEqual(await resource.diff(id, old, inputs), { changes: false, paths: [] });
    assert.deepEqual((await resource.update(id, old, inputs)).outs["cloud"], { account: "1" });
    assert.equal(handler.resources.size, 1);
  });

  it("asks which one it is once in an engine run, and again when there was no answer", async () => {
    let asked = 0;
    const answers = () => {
      asked += 1;
      if (asked === 1) throw throttled;
      return "1";
    };
    const { resource } = bridge({ answers, cloud: new SessionCloud() });
    const { id, outs } = await resource.create(inputs);
    await resource.read(id, outs);
    await resource.delete(id, outs);
    assert.equal(asked, 2);
  });
});
