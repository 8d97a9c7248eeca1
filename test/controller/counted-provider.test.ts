import assert from "node:assert/strict";
import { CapstanError, type ErrorCode } from "../../src/api/error.js";
import { type CloudCall, countedProvider } from "../../src/controller/counted-provider.js";
import { defineProvider } from "../../src/provider/define.js";
import type { MachineCalls } from "../../src/provider/definition.js";
import type { CreateContext, Identity } from "../../src/provider/port.js";
import { FakeClock } from "../support/fake-clock.js";

const stop = new AbortController();
const ctx: CreateContext = {
  clock: new FakeClock(),
  signal: new AbortController().signal,
  assertEngineAlive: () => undefined,
  userData: () => Promise.reject(new Error("none")),
};
const who: Identity = {
  cluster: "default/a",
  clusterUid: "u",
  kind: "CrateHost",
  name: "m-1",
  token: "0".repeat(32),
};

function refusal(code: ErrorCode): CapstanError {
  return new CapstanError({ code, source: "cloud", message: code });
}

/** A provider whose cloud answers as told, and the calls that were counted. */
function counted(calls: Partial<MachineCalls>) {
  const told: string[] = [];
  const provider = countedProvider(
    defineProvider({
      name: "crate",
      apiVersion: "crate.example.dev/v1alpha1",
      machineSpec: { kind: "CrateMachineProviderSpec", schema: { type: "object" } },
      machine: {
        locate: async () => ({ found: "none" }),
        create: () => Promise.reject(new Error("full")),
        remove: async () => undefined,
        list: async () => [],
        ...calls,
      },
    }),
    ({ provider: name, call, outcome, tookMs }: CloudCall) => {
      assert.ok(tookMs >= 0);
      told.push(`${name} ${call} ${outcome}`);
    },
  );
  const handler = provider.handlers.get(provider.hostKind);
  assert.ok(handler !== undefined);
  return { provider, handler, told };
}

describe("countedProvider", () => {
  it("tells of each call to the cloud once, and answers what the provider answers", async () => {
    const { provider, handler, told } = counted({});
    assert.deepEqual(await handler.locate(ctx, who), { found: "none" });
    await assert.rejects(handler.create(ctx, who, {}), /full/);
    assert.deepEqual(await provider.inventory(ctx, { cluster: "default/a" }), []);
    assert.deepEqual(await provider.owned?.(ctx), []);
    assert.deepEqual(told, [
      "crate locate ok",
      "crate create failed",
      "crate inventory ok",
      "crate owned ok",
    ]);
  });

  it("tells an answer that is none from one that is", async () => {
    const { handler, told } = counted({
      locate: async () => ({ found: "unknown", reason: "the cloud does not say" }),
    });
    await handler.locate(ctx, who);
    assert.deepEqual(told, ["crate locate unknown"]);
  });

  const outcomes: readonly { readonly code: ErrorCode; readonly want: string }[] = [
    { code: "CLOUD_THROTTLED", want: "throttled" },
    { code: "RESOURCE_GONE", want: "gone" },
    { code: "NOT_LEADER", want: "cancelled" },
    { code: "ENGINE_DEAD", want: "cancelled" },
    { code: "QUOTA", want: "failed" },
  ];
  for (const { code, want } of outcomes) {
    it(`calls an error ${code} ${want}`, async () => {
      const { handler, told } = counted({ create: () => Promise.reject(refusal(code)) });
      await assert.rejects(handler.create(ctx, who, {}));
      assert.deepEqual(told, [`crate create ${want}`]);
    });
  }

  it("calls what was ended from outside cancelled", async () => {
    const { handler, told } = counted({});
    stop.abort();
    await assert.rejects(handler.create({ ...ctx, signal: stop.signal }, who, {}));
    assert.deepEqual(told, ["crate create cancelled"]);
  });

  it("lacks what the provider lacks, and leaves the pure functions alone", () => {
    const { provider, handler, told } = counted({});
    assert.equal(handler.update, undefined);
    assert.equal(provider.name, "crate");
    assert.deepEqual(provider.verdict(provider.hostKind, {}, {}), { kind: "same" });
    assert.deepEqual(told, []);
  });
});
