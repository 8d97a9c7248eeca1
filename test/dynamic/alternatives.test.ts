import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { type BridgeRuntime, CloudResource } from "../../src/dynamic/cloud-resource.js";
import type { ResourceEvent } from "../../src/dynamic/resource-event.js";
import type { Identity } from "../../src/provider/port.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";
import { MemoryHandler } from "../support/memory-handler.js";

const who: Identity = {
  cluster: "default/demo",
  clusterUid: "uid-1",
  kind: "LocalHost",
  name: "web-0-1a2b3c4d-1",
  token: "t-1",
};
const spec = { size: "small", tags: {}, otherSizes: ["medium", "large"] };
const as = (size: string, tags: JsonObject = {}) => ({ ...spec, size, tags });

function noRoom(more: { readonly ambiguous?: boolean } = {}): CapstanError {
  return new CapstanError({ code: "CAPACITY", source: "cloud", message: "no room", ...more });
}

function bridge() {
  const handler = new MemoryHandler();
  const events: ResourceEvent[] = [];
  const runtime: BridgeRuntime = {
    context: {
      clock: new FakeClock(),
      signal: new AbortController().signal,
      assertEngineAlive: () => undefined,
    },
    mode: "stepwise",
    readyTimeoutMs: 10_000,
    report: (event) => events.push(event),
  };
  return {
    handler,
    events,
    resource: new CloudResource(localProvider(), "LocalHost", handler, runtime),
  };
}

describe("a host for which there is no room", () => {
  it("is made as the first alternative that there is room for, and recorded as that", async () => {
    const { handler, events, resource } = bridge();
    for (const call of ["create", "create"] as const) handler.fail({ call, error: noRoom() });
    const { outs } = await resource.create({ who, spec });
    assert.deepEqual(outs["spec"], as("large"));
    assert.deepEqual(handler.calls, ["locate", "create", "create", "create"]);
    assert.deepEqual(
      events.flatMap(({ state, message = "" }) => (state === "waiting" ? [message] : [])),
      ["no room; next: size medium", "no room; next: size large"],
    );
  });

  it("fails with the last refusal where there is room for none", async () => {
    const { handler, resource } = bridge();
    for (let time = 0; time < 3; time += 1) handler.fail({ call: "create", error: noRoom() });
    await assert.rejects(resource.create({ who, spec }), failsWith("CAPACITY"));
    assert.equal(handler.resources.size, 0);
  });

  it("is looked for before anything else is asked for, where the refusal is not certain", async () => {
    const { handler, resource } = bridge();
    handler.fail({ call: "create", error: noRoom({ ambiguous: true }), afterEffect: true });
    const { outs } = await resource.create({ who, spec });
    assert.deepEqual(outs["spec"], spec);
    assert.equal(handler.resources.size, 1);
  });

  it("counts as wanted: nothing differs, and a change asks for the alternative", async () => {
    const { handler, resource } = bridge();
    handler.fail({ call: "create", error: noRoom() });
    const { id, outs } = await resource.create({ who, spec });
    assert.deepEqual(await resource.diff(id, outs, { who, spec }), { changes: false, paths: [] });
    const wanted = { who, spec: as("small", { team: "a" }) };
    assert.deepEqual((await resource.diff(id, outs, wanted)).paths, ["spec.tags"]);
    const changed = await resource.update(id, outs, wanted);
    assert.deepEqual(changed.outs["spec"], as("medium", { team: "a" }));
  });

  it("is found as the alternative by whoever comes after a lost answer", async () => {
    const { handler, resource } = bridge();
    handler.add({ id: "r-9", who, phase: "ready", spec: as("large"), status: {} });
    const { id, outs } = await resource.create({ who, spec });
    assert.deepEqual([id, outs["spec"]], ["r-9", as("large")]);
    assert.deepEqual(handler.calls, ["locate"]);
  });
});
