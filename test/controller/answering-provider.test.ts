import assert from "node:assert/strict";
import { once } from "node:events";
import { answeringProvider } from "../../src/controller/answering-provider.js";
import { type CloudCall, countedProvider } from "../../src/controller/counted-provider.js";
import { isCapstanError } from "../../src/api/error.js";
import { defineProvider } from "../../src/provider/define.js";
import type { MachineCalls } from "../../src/provider/definition.js";
import type { CreateContext, Identity } from "../../src/provider/port.js";
import { Attempts } from "../../src/dynamic/attempts.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";

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
const never = new Promise<never>(() => undefined);

/** A provider with these calls, whose calls end, and the calls that were counted. */
function answering(calls: Partial<MachineCalls>) {
  const counted: string[] = [];
  const provider = countedProvider(
    answeringProvider(
      defineProvider({
        name: "crate",
        apiVersion: "crate.example.dev/v1alpha1",
        machineSpec: { kind: "CrateMachineProviderSpec", schema: { type: "object" } },
        machine: {
          locate: () => Promise.resolve({ found: "none" }),
          create: () => never,
          remove: () => never,
          list: () => never,
          ...calls,
        },
      }),
      { resourceMs: 20, listingMs: 40 },
    ),
    ({ call, outcome }: CloudCall) => counted.push(`${call} ${outcome}`),
  );
  const handler = provider.handlers.get(provider.hostKind);
  assert.ok(handler !== undefined);
  return { provider, handler, counted };
}

describe("a call of a controller that the cloud never answers", () => {
  it("ends, whether its provider listens or not, and is counted", async () => {
    const { provider, handler, counted } = answering({});
    await assert.rejects(handler.create(ctx, who, {}), failsWith("NO_ANSWER", /create.*CrateHost/));
    await assert.rejects(
      provider.inventory(ctx, { cluster: "default/a" }),
      failsWith("NO_ANSWER", /inventory/),
    );
    assert.deepEqual(counted, ["create unanswered", "inventory unanswered"]);
  });

  it("may have taken effect, as every call whose answer is lost", async () => {
    const error: unknown = await answering({})
      .handler.create(ctx, who, {})
      .catch((one: unknown) => one);
    assert.ok(isCapstanError(error) && error.ambiguous && error.retryable);
  });

  it("is told to stop", async () => {
    const stopped: unknown[] = [];
    const { handler } = answering({
      create: async ({ signal }) => {
        await once(signal, "abort");
        stopped.push(signal.reason);
        throw new Error("stopped");
      },
    });
    await assert.rejects(handler.create(ctx, who, {}), failsWith("NO_ANSWER"));
    assert.ok(failsWith("NO_ANSWER")(stopped[0]));
  });

  it("is not made again by the engine that waited for it", () => {
    const attempts = new Attempts({ deadlineAtMs: Infinity, usableWithinMs: 0 });
    return assert.rejects(
      answering({})
        .handler.create(ctx, who, {})
        .catch((error: unknown) => attempts.waitMsAfter(error, 0)),
      failsWith("NO_ANSWER"),
    );
  });

  it("changes nothing about calls that are answered", async () => {
    const { handler, counted } = answering({});
    assert.deepEqual(await handler.locate(ctx, who), { found: "none" });
    assert.deepEqual(counted, ["locate ok"]);
  });
});
