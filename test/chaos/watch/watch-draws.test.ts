import assert from "node:assert/strict";
import { BadUsage } from "../options.js";
import { writeIn } from "./api-write.js";
import { commonBoundaries, watchBoundaries, watchBoundaryText } from "./watch-boundary.js";
import { leftOf, livesOf, pointsOf } from "./watch-campaign.js";
import { isMeantAt, watchFaults } from "./watch-fault.js";
import { readWatchOptions } from "./watch-options.js";
import type { WatchOperation } from "./watch-operation.js";

const ours = "/apis/cluster.k8s.io/v1alpha1/namespaces/default";

describe("writes to an API server", () => {
  const finalized = { metadata: { finalizers: ["cluster.cluster.k8s.io"] } };
  const bound = { metadata: { annotations: { "capstan.dev/cluster-uid": "u" } } };
  const table: readonly (readonly [string, string, object, string | undefined])[] = [
    ["GET", `${ours}/machines`, {}, undefined],
    ["PATCH", `${ours}/clusters/prod`, finalized, "claim Cluster prod"],
    ["PATCH", `${ours}/clusters/prod`, { metadata: { finalizers: null } }, "letGo Cluster prod"],
    ["PATCH", `${ours}/machines/m`, { metadata: { finalizers: ["a"] } }, "letGo Machine m"],
    ["PATCH", `${ours}/clusters/prod`, bound, "bind Cluster prod"],
    ["PATCH", `${ours}/machinesets/s`, { spec: { replicas: 2 } }, "edit MachineSet s"],
    ["PATCH", `${ours}/machines/m/status`, { status: {} }, "status Machine m"],
    ["POST", `${ours}/machines`, { metadata: { name: "m" } }, "create Machine m"],
    ["DELETE", `${ours}/machines/m`, {}, "delete Machine m"],
    ["PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/capstan", {}, "lease capstan"],
    ["POST", "/apis/events.k8s.io/v1/namespaces/default/events", { reason: "R" }, "event R"],
    ["POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "k" } }, "secret k"],
    ["POST", "/api/v1/namespaces/default/pods", {}, "other pods "],
  ];
  for (const [method, path, body, want] of table) {
    it(`${method} ${path} ${JSON.stringify(body)}: ${want ?? "none"}`, () => {
      const write = writeIn(method, path, JSON.stringify(body));
      assert.equal(write && `${write.what} ${write.name}`, want);
    });
  }
});

const row = (what: "status" | "create", name: string, status = 200) => ({
  what,
  name,
  status,
  door: "one",
  doneMs: 1,
  body: "",
});

describe("boundaries of the watch loop", () => {
  it("are both sides of each write that was accepted, counted by kind and name", () => {
    const gate = [
      row("status", "Machine m"),
      row("status", "Machine m", 409),
      row("status", "Machine m"),
    ];
    assert.deepEqual(watchBoundaries(gate, []).map(watchBoundaryText), [
      "before status Machine m #1",
      "after status Machine m #1",
      "before status Machine m #2",
      "after status Machine m #2",
    ]);
  });

  it("are those that all runs have passed", () => {
    const one = watchBoundaries([row("status", "a"), row("status", "a")], []);
    const other = watchBoundaries([row("status", "b"), row("status", "a")], []);
    assert.deepEqual(commonBoundaries([one, other]).map(watchBoundaryText), [
      "before status a #1",
      "after status a #1",
    ]);
  });
});

describe("the points of the watch loop", () => {
  const rows = ["m", "n", "o"].flatMap((name) => [row("create", name), row("status", name)]);
  const all = watchBoundaries(rows, []);
  const boundaries = new Map<WatchOperation, typeof all>([
    ["create", all],
    ["scale", all],
  ]);
  const options = {
    operations: ["create", "scale"],
    faults: watchFaults,
    at: undefined,
    out: undefined,
  } as const;
  const draw = (seed: number, points?: number) =>
    pointsOf({ boundaries }, { ...options, seed, points });
  const textOf = ({ operation, boundary, fault }: ReturnType<typeof draw>[number]) =>
    [operation, watchBoundaryText(boundary), fault].join(" ");

  it("are every fault that has a meaning at every boundary", () => {
    const meant = all.flatMap((one) => watchFaults.filter((fault) => isMeantAt(fault, one)));
    assert.equal(draw(1).length, 2 * meant.length);
    assert.equal(new Set(draw(1).map(textOf)).size, draw(1).length);
  });

  it("are of a sample as many of each operation, each at another boundary first", () => {
    const drawn = draw(1, 24);
    assert.equal(drawn.length, 24);
    assert.equal(new Set(drawn.map((one) => textOf(one).replace(/\w+$/, ""))).size, 24);
  });

  it("are the same for the same seed, and other for another", () => {
    assert.deepEqual(draw(1, 9), draw(1, 9));
    assert.notDeepEqual(draw(1, 9).map(textOf), draw(2, 9).map(textOf));
  });

  it("are played in as few lives as there can be", () => {
    const lives = livesOf(draw(1, 10));
    assert.equal(lives.length, 5);
    assert.ok(lives.every(({ points }) => points.length === 2));
    assert.deepEqual(lives[0]?.operations, ["create", "scale"]);
    assert.deepEqual(
      lives.flatMap(({ points }) => points.map(textOf)).sort(),
      draw(1, 10).map(textOf).sort(),
    );
  });

  it("are tried at the boundary before where an operation has not come to them", () => {
    const again = watchBoundaries([row("status", "m"), row("status", "m")], []);
    const points = pointsOf(
      { boundaries: new Map([["create", again.slice(2)]]) },
      { ...options, operations: ["create"], seed: 1, points: undefined },
    );
    const [told, missed, unplayed] = points;
    assert.ok(told && missed && unplayed);
    const [life] = leftOf(
      { operations: ["create"], points: [told, missed, unplayed] },
      { met: [{ point: told }], missed: new Set([missed]) },
    );
    assert.deepEqual(
      life?.points.map(({ boundary: { nth }, fault }) => [nth, fault]),
      [
        [1, missed.fault],
        [2, unplayed.fault],
      ],
    );
    assert.deepEqual(
      leftOf(
        { operations: ["create"], points },
        { met: points.map((point) => ({ point })), missed: new Set() },
      ),
      [],
    );
  });
});

describe("the options of chaos in the watch loop", () => {
  it("have defaults", () => {
    const options = readWatchOptions(["--watch"]);
    assert.equal(options?.points, 25);
    assert.deepEqual(options?.faults, ["tree", "cli", "late", "frozen", "api", "cloud"]);
    assert.deepEqual(options?.operations, ["create", "scale", "roll", "failing", "delete"]);
    assert.equal(readWatchOptions(["--watch", "--help"]), undefined);
  });

  it("know the faults of PostgreSQL only where there is one", () => {
    const args = ["--watch", "--kills", "database,isolated"];
    assert.throws(() => readWatchOptions(args), BadUsage);
    const options = readWatchOptions([...args, "--backend", "postgres"]);
    assert.deepEqual(options?.faults, ["database", "isolated"]);
  });

  for (const args of [
    ["--points", "some"],
    ["--kills", "axe"],
    ["--operation", "destroy"],
    ["--seed", "x"],
  ]) {
    it(`refuse ${args.join(" ")}`, () => {
      assert.throws(() => readWatchOptions(["--watch", ...args]), BadUsage);
    });
  }
});
