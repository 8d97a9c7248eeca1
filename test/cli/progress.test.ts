import assert from "node:assert/strict";
import pc from "picocolors";
import { makeProgress } from "../../src/cli/progress.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { waveLines } from "../../src/cli/wave-text.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { nodeKey } from "../../src/graph/graph.js";
import { wavesOf } from "../../src/plan/waves/list-waves.js";
import { FakeClock } from "../support/fake-clock.js";
import { timesOf } from "../support/times.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";
import { FakeEngine } from "../support/fake-engine.js";

/** Everything that was written, and the terminal that it was written to. */
function paper(live: boolean): { terminal: Terminal; written: () => string } {
  const colors = pc.createColors(false);
  let text = "";
  const write = (more: string) => void (text += more);
  return {
    terminal: {
      colors,
      errorColors: colors,
      live,
      columns: 120,
      rows: 50,
      write,
      error: write,
      draw: write,
      document: write,
    },
    written: () => text,
  };
}

const objects = (size: string, replicas: number, spec: object = {}) => {
  const web = machineDeployment("web", replicas, { size }) as { spec: object };
  return desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    { ...web, spec: { ...web.spec, ...spec } },
  ]);
};

describe("how a change goes", () => {
  it("is told in the waves that the plan has shown, the last deletions too", async () => {
    const events: RunEvent[] = [];
    const engine = new FakeEngine({ tell: (event) => events.push(event) });
    await engine.settle(objects("small", 3));
    const wanted = objects("large", 3);
    const plan = await engine.plan(wanted);
    events.length = 0;
    await engine.up(wanted);
    const told = events.flatMap((event) =>
      event.kind === "pass" ? [`${event.number}: ${event.reason}: ${event.keys.join()}`] : [],
    );
    const shown = wavesOf(plan).map(
      ({ keys, reason }, index) => `${index + 1}: ${reason}: ${keys.join()}`,
    );
    assert.ok(shown.length > 2);
    assert.deepEqual(told, shown);
  });

  it("tells that a host is ready and has yet to stay so, once", async () => {
    const events: RunEvent[] = [];
    const engine = new FakeEngine({ tell: (event) => events.push(event) });
    await engine.settle(objects("small", 1, { minReadySeconds: 1 }));
    const told = events.flatMap((event) =>
      event.kind === "proving" || event.kind === "ready" ? [`${event.kind} ${event.key}`] : [],
    );
    const host = told.at(-1)?.split(" ")[1] ?? "";
    assert.match(host, /^LocalHost\/web-/);
    assert.deepEqual(
      told.filter((line) => line.endsWith(host)),
      [`proving ${host}`, `ready ${host}`],
    );
  });

  const proving: RunEvent = {
    kind: "proving",
    key: nodeKey("LocalHost", "x"),
    readySinceMs: 998_000,
    minReadyMs: 30_000,
  };

  it("says of such a host in a line that it does not boot any more", async () => {
    const plan = await new FakeEngine().plan(objects("small", 1));
    const { terminal, written } = paper(false);
    makeProgress(plan, terminal, timesOf(new FakeClock())).on(proving);
    assert.equal(
      written(),
      "   0.0s  LocalHost/x is ready, and counts after 30 s of that (minReadySeconds)\n",
    );
  });

  it("has one clock on a terminal, with what is left, also where the tree has no room", async () => {
    const plan = await new FakeEngine().plan(objects("small", 1));
    for (const rows of [50, 5]) {
      const clock = new FakeClock();
      const { terminal, written } = paper(true);
      const times = timesOf(clock, { kind: "about", leftMs: 120_000 });
      clock.advance(72_000);
      makeProgress(plan, { ...terminal, rows }, times).end();
      assert.match(written(), /1m12s elapsed, about 2 min left/);
    }
    const { terminal, written } = paper(false);
    const progress = makeProgress(
      plan,
      terminal,
      timesOf(new FakeClock(), { kind: "about", leftMs: 1 }),
    );
    progress.on(proving);
    progress.end();
    assert.doesNotMatch(written(), /elapsed|left/);
  });

  it("shows in the tree for how long such a host has been ready", async () => {
    const plan = await new FakeEngine().plan(objects("small", 1));
    const { terminal, written } = paper(true);
    const key = plan.machines.find(({ controlPlane }) => !controlPlane)?.host;
    assert.ok(key !== undefined);
    const progress = makeProgress(plan, terminal, timesOf(new FakeClock(1_000_000)));
    progress.on({ ...proving, key });
    progress.end();
    assert.match(
      written(),
      /Machine web-\S+ +\+ ready 2\/30s +and counts after 30 s of that \(minReadySeconds\)/,
    );
  });
});

describe("the waves of a plan as text", () => {
  const planned = async (before: [string, number], after: [string, number]) => {
    const engine = new FakeEngine();
    await engine.settle(objects(...before));
    return engine.plan(objects(...after));
  };

  it("are a line each, with what each does and why", async () => {
    const lines = waveLines(await planned(["small", 1], ["large", 1]));
    assert.deepEqual(
      lines.map((line) => line.replace(/\(.*\)$/, "")),
      ["Wave 1: 1 to create ", "Wave 2: 1 to delete "],
    );
  });

  it("are one line where they are alike", async () => {
    const lines = waveLines(await planned(["small", 40], ["large", 40]));
    assert.ok(lines.length < 6, lines.join("\n"));
    assert.ok(
      lines.some((line) =>
        /^Waves \d+ to \d+, .*: 3\d to create, 3\d to delete, \d each time/.test(line),
      ),
      lines.join("\n"),
    );
  });

  it("are not told where there is a single one", async () => {
    assert.deepEqual(waveLines(await planned(["small", 1], ["small", 2])), []);
    assert.deepEqual(waveLines(await planned(["small", 1], ["small", 1])), []);
  });
});
