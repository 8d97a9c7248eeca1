import assert from "node:assert/strict";
import { AvailabilityTracker } from "../../src/engine/run/availability.js";
import type { Observation } from "../../src/engine/run/observe.js";
import { nodeKey } from "../../src/graph/graph.js";
import type { Observed } from "../../src/provider/port.js";
import { cluster, machine, machineDeployment } from "../support/manifests.js";
import { targetOf } from "../support/recorded-history.js";

const deployment = machineDeployment("web", 1) as { spec: object };
const target = targetOf([
  cluster(),
  machine("db"),
  { ...deployment, spec: { ...deployment.spec, minReadySeconds: 5 } },
]);
const [ofSet, own] = ["web-", "db-"].map((name) => {
  const host = target.machines.find((one) => one.name.startsWith(name) || one.name === "db")?.host;
  const found = target.machines.find((one) => one.host.includes(name))?.host ?? host;
  return String(found).slice("LocalHost/".length);
}) as [string, string];

function observed(name: string, phase: Observed["phase"], readySinceMs?: number): Observed {
  const who = {
    cluster: "default/prod",
    clusterUid: "uid",
    kind: "LocalHost",
    name,
    token: name,
  };
  return {
    id: name,
    who,
    phase,
    spec: {},
    status: {},
    ...(readySinceMs !== undefined && { readySinceMs }),
  };
}

function look(...hosts: Observed[]): Observation {
  return {
    observedResources: new Map(hosts.map((host) => [nodeKey("LocalHost", host.who.name), host])),
    unrecorded: [],
    listed: 0,
  };
}

describe("which hosts serve", () => {
  const among = (availability: AvailabilityTracker, nowMs: number, ...hosts: Observed[]) =>
    [...availability.among(look(...hosts), nowMs)].map((key) => key.split("/")[1]);

  it("is every one that is ready, where nobody asks for more", () => {
    assert.deepEqual(among(new AvailabilityTracker(target), 0, observed(own, "ready", 0)), [own]);
    assert.deepEqual(among(new AvailabilityTracker(target), 0, observed(own, "pending")), []);
    assert.deepEqual(among(new AvailabilityTracker(target), 0, observed(own, "failed")), []);
  });

  it("waits for minReadySeconds since the cloud says that it is ready, and longer than that", () => {
    const since = (readySinceMs: number) => observed(ofSet, "ready", readySinceMs);
    assert.deepEqual(among(new AvailabilityTracker(target), 9_000, since(4_001)), []);
    assert.deepEqual(among(new AvailabilityTracker(target), 9_000, since(4_000)), []);
    assert.deepEqual(among(new AvailabilityTracker(target), 9_000, since(3_999)), [ofSet]);
  });

  it("knows which run and have yet to show that they go on", () => {
    const availability = new AvailabilityTracker(target);
    const observation = look(observed(ofSet, "ready", 4_000), observed(own, "ready", 4_000));
    const key = nodeKey("LocalHost", ofSet);
    assert.deepEqual(availability.proving(observation, 8_000), [
      { key, readySinceMs: 4_000, minReadyMs: 5_000 },
    ]);
    assert.deepEqual(availability.proving(observation, 9_001), []);
    assert.deepEqual(availability.proving(look(observed(ofSet, "pending")), 8_000), []);
  });

  it("counts from the first look where the cloud does not say, and anew after a fall", () => {
    const availability = new AvailabilityTracker(target);
    const ready = observed(ofSet, "ready");
    assert.deepEqual(among(availability, 1_000, ready), []);
    assert.deepEqual(among(availability, 6_000, ready), []);
    assert.deepEqual(among(availability, 6_001, ready), [ofSet]);
    assert.deepEqual(among(availability, 7_000, observed(ofSet, "pending")), []);
    assert.deepEqual(among(availability, 8_000, ready), []);
    assert.deepEqual(among(availability, 13_001, ready), [ofSet]);
  });
});
