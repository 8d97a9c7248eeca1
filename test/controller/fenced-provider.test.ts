import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { fencedProvider } from "../../src/controller/fenced-provider.js";
import { defineProvider } from "../../src/provider/define.js";
import type { CreateContext, Identity, Observed } from "../../src/provider/port.js";
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
const host: Observed = { id: "1", who, phase: "ready", spec: {}, status: {} };

describe("fencedProvider", () => {
  let called: string[];
  let leads: boolean;
  beforeEach(() => {
    called = [];
    leads = true;
  });

  function note<Answer>(call: string, answer: Answer): Answer {
    called.push(call);
    return answer;
  }

  function handler() {
    const provider = fencedProvider(
      defineProvider({
        name: "crate",
        apiVersion: "crate.example.dev/v1alpha1",
        machineSpec: { kind: "CrateMachineProviderSpec", schema: { type: "object" } },
        machine: {
          locate: async () => note("locate", { found: "none" }),
          create: async () => note("create", host),
          update: async () => note("update", host),
          remove: async () => note("remove", undefined),
          disown: async () => note("disown", undefined),
          find: async () => note("find", undefined),
          mark: async () => note("mark", undefined),
          list: async () => note("list", []),
        },
        userData: {
          simulated: true,
          format: "cloud-config",
          software: () => "image",
          containerRuntime: { name: "containerd", version: "2.1.5" },
          commands: { name: "hostname", address: "hostname -I" },
          markLeft: async () => note("markLeft", undefined),
        },
      }),
      () => {
        if (leads) return;
        throw new CapstanError({ code: "NOT_LEADER", source: "engine", message: "no more" });
      },
    );
    const own = provider.handlers.get(provider.hostKind);
    assert.ok(own?.update !== undefined);
    return { provider, own, update: own.update };
  }

  it("lets everything through while it leads", async () => {
    const { provider, own, update } = handler();
    await own.locate(ctx, who);
    await own.create(ctx, who, {});
    await update(ctx, host, {});
    await own.remove(ctx, host);
    await own.disown?.(ctx, host);
    await own.mark?.(ctx, host, who);
    await provider.userData?.markLeft?.(ctx, host);
    await provider.inventory(ctx, { cluster: "default/a" });
    assert.deepEqual(called, [
      "locate",
      "create",
      "update",
      "remove",
      "disown",
      "mark",
      "markLeft",
      "list",
    ]);
  });

  it("changes nothing once it does not, and still looks", async () => {
    const { provider, own, update } = handler();
    leads = false;
    const refused = failsWith("NOT_LEADER");
    await assert.rejects(own.create(ctx, who, {}), refused);
    await assert.rejects(update(ctx, host, {}), refused);
    await assert.rejects(own.remove(ctx, host), refused);
    await assert.rejects(async () => own.disown?.(ctx, host), refused);
    await assert.rejects(async () => own.mark?.(ctx, host, who), refused);
    await assert.rejects(async () => provider.userData?.markLeft?.(ctx, host), refused);
    await own.locate(ctx, who);
    await own.find?.(ctx, "1");
    await provider.inventory(ctx, { cluster: "default/a" });
    assert.deepEqual(called, ["locate", "find", "list"]);
  });
});
