import assert from "node:assert/strict";
import type { Desired } from "../../../src/api/types.js";
import { observe } from "../../../src/engine/run/observe.js";
import { callContext } from "../../../src/engine/run/handler-session.js";
import {
  newMembersOfPoints,
  versionPoints,
  wayBackOf,
} from "../../../src/plan/undo/point-of-no-return.js";
import type { PassedPoint } from "../../../src/records/transaction.js";
import { undoText } from "../../../src/plan/undo/undo-text.js";
import { failsWith } from "../../support/errors.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  type MachineShape,
} from "../../support/manifests.js";
import type { CommandFault } from "../../support/faults.js";
import { outcomeText, FakeEngine } from "../../support/fake-engine.js";
import { targetOf } from "../../support/recorded-history.js";

describe("hosts with which a transaction crosses its point of no return", () => {
  const target = (...versions: string[]) =>
    targetOf([
      cluster(),
      ...versions.map((controlPlane, index) => machine(`cp-${index}`, { controlPlane })),
      machine("web"),
    ]);
  const cases = [
    { name: "none of a first creation", from: undefined, to: ["1.35.0"], want: [] },
    { name: "none without a control plane before", from: [], to: ["1.35.0"], want: [] },
    { name: "none of the same minor version", from: ["1.34.2"], to: ["1.34.9"], want: [] },
    { name: "none of an older one", from: ["1.35.0"], to: ["1.34.2"], want: [] },
    {
      name: "each of a newer one",
      from: ["1.34.2"],
      to: ["1.35.0", "1.35.1"],
      want: ["cp-0", "cp-1"],
    },
    {
      name: "each that is raised beside one that was as new before, which its own machine was not",
      from: ["1.34.2", "1.35.0"],
      to: ["1.35.0", "1.35.0"],
      want: ["cp-0"],
    },
    {
      name: "none that joins one that was as new before",
      from: ["1.35.0"],
      to: ["1.35.0", "1.35.0"],
      want: [],
    },
  ];
  for (const { name, from, to, want } of cases) {
    it(name, () => {
      const points = versionPoints(localProvider(), target(...to), from && target(...from));
      assert.deepEqual(
        points.map(({ host: key }) => key.replace(/^LocalHost\/(.*)-[0-9a-f]{8}-1$/, "$1")),
        want,
      );
    });
  }
});

describe("an upgrade that was killed", () => {
  const planGoal = (member: MachineShape, cidr = "10.0.0.0/16"): Desired =>
    desiredOf([cluster({ cidr }), machine("cp", member), machine("web")]);
  const before = planGoal({ controlPlane: "1.34.2" });
  const upgraded = planGoal({ controlPlane: "1.35.0" });
  const replaced = planGoal({ controlPlane: "1.35.0", size: "large" });
  const elsewhere = planGoal({ controlPlane: "1.34.2" }, "10.9.0.0/16");
  const newerElsewhere = planGoal({ controlPlane: "1.35.0" }, "10.9.0.0/16");

  async function killed(after: Desired, what: "killBefore" | "killAfter" | "killLate") {
    const engine = new FakeEngine();
    await engine.settle(before);
    const outcome = await engine.up(after, [{ at: "call", number: 0, what }]);
    assert.equal(outcome.kind, "killed");
    return engine;
  }
  const neverBoots: CommandFault = { at: "boot", number: 0, what: "never" };
  const lookAt = ({ clock, prior, provider }: FakeEngine) => {
    const { clusterUid = "", target } = prior.transaction ?? {};
    const context = callContext(clock, new AbortController().signal);
    return observe(provider, context, { cluster: target?.cluster ?? "", clusterUid }, prior);
  };
  const machines = (passed: readonly PassedPoint[]) =>
    passed.map((one) => (one.kind === "version" ? `${one.machine} ${one.version}` : one.kind));

  it("has crossed nothing while the cloud shows the old version", async () => {
    const engine = await killed(upgraded, "killBefore");
    assert.deepEqual((await engine.plan(elsewhere)).passed, []);
  });

  for (const [name, after] of [
    ["in place", upgraded],
    ["by a new host", replaced],
  ] as const) {
    it(`has crossed ${name} once the cloud shows the new one, whatever is recorded`, async () => {
      const engine = await killed(after, "killAfter");
      const plan = await engine.plan(upgraded);
      assert.deepEqual(machines(plan.passed), ["cp 1.35.0"]);
      assert.match(
        undoText(plan),
        /^Undo: none; LocalHost\/cp-\w+-1 has a control plane of 1\.35\.0/,
      );
    });
  }

  it("has no way back once the cloud shows the new version, which the records need not", async () => {
    const engine = await killed(upgraded, "killAfter");
    // The host runs the new version, and only the cloud knows it.
    const unknown = wayBackOf(engine.provider, engine.prior);
    assert.equal(unknown.kind, "unknown");
    const found = await lookAt(engine);
    const closed = wayBackOf(engine.provider, engine.prior, found);
    assert.deepEqual(closed.kind === "closed" && machines(closed.crossed), ["cp 1.35.0"]);
  });

  it("has no way back by its records alone where those show the new version", async () => {
    const engine = new FakeEngine();
    await engine.settle(before);
    const more = desiredOf([
      cluster(),
      machine("cp", { controlPlane: "1.35.0" }),
      machine("web"),
      machine("db"),
    ]);
    const outcome = await engine.up(more, [{ at: "boot", number: 0, what: "never" }]);
    assert.match(outcomeText(outcome), /^stopped forwardOnly: /);
    assert.equal(engine.prior.transaction?.crossed, undefined);
    const closed = wayBackOf(engine.provider, engine.prior);
    assert.deepEqual(closed.kind === "closed" && machines(closed.crossed), ["cp 1.35.0"]);
  });

  it("may have a way back for all that records say of a new host, whose API server need not serve", async () => {
    const engine = new FakeEngine();
    await engine.settle(before);
    const outcome = await engine.up(replaced, [neverBoots], "keep");
    assert.match(outcomeText(outcome), /^stopped forwardOnly: /);
    assert.equal(wayBackOf(engine.provider, engine.prior).kind, "unknown");
    const found = await lookAt(engine);
    const unjoinedMembers = new Set(newMembersOfPoints(engine.provider, engine.prior));
    assert.equal(unjoinedMembers.size, 1);
    assert.equal(wayBackOf(engine.provider, engine.prior, found).kind, "closed");
    const asked = { ...found, unjoinedMembers };
    assert.deepEqual(wayBackOf(engine.provider, engine.prior, asked), { kind: "free" });
  });

  it("has a way back while the cloud shows the old version", async () => {
    const engine = await killed(upgraded, "killBefore");
    assert.equal(wayBackOf(engine.provider, engine.prior).kind, "unknown");
    const found = await lookAt(engine);
    assert.deepEqual(wayBackOf(engine.provider, engine.prior, found), { kind: "free" });
  });

  it("cannot be followed by another goal for the old version", async () => {
    const engine = await killed(upgraded, "killLate");
    const text = outcomeText(await engine.up(elsewhere));
    assert.match(
      text,
      /^broke: NOT_REVERSIBLE cannot take Machine cp back: its control plane is 1\.35\.0/,
    );
    await assert.rejects(engine.plan(before), failsWith("NOT_REVERSIBLE", /Machine cp/));
    await engine.settle(upgraded);
  });

  it("can be followed by another goal for the new one, which goes forward only, however it is killed", async () => {
    const engine = await killed(upgraded, "killAfter");
    const [failed] = [await engine.up(newerElsewhere, [neverBoots])];
    assert.match(outcomeText(failed), /^stopped forwardOnly: not ready/);
    assert.match(outcomeText(await engine.rollback()), /^broke: NOT_REVERSIBLE/);
    assert.deepEqual(machines(engine.prior.transaction?.crossed ?? []), ["cp 1.35.0"]);
    await assert.rejects(engine.plan(elsewhere), failsWith("NOT_REVERSIBLE", /Machine cp/));
    await engine.settle(upgraded);
    assert.deepEqual((await engine.plan(upgraded)).passed, [], "a commit ends it");
  });
});
