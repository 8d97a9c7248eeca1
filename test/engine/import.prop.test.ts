import assert from "node:assert/strict";
import fc from "fast-check";
import { sameJson } from "../../src/api/json.js";
import type { Identity, ResourceHandler } from "../../src/provider/port.js";
import { type CommandTools, FakeEngine, outcomeText } from "../support/fake-engine.js";
import type { WorldTraits } from "../support/fake-cloud.js";
import type { CommandFault } from "../support/faults.js";
import { faults, traits } from "../support/histories.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

const others = [cluster(), machine("cp", { controlPlane: "1.34.2" }), machineDeployment("web", 1)];
const without = desiredOf(others);
const withDb = desiredOf([...others, machine("db")]);

const nobody: Identity = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

const verbs = ["import", "import", "up", "upWithout", "rollback", "destroy"] as const;
type Verb = (typeof verbs)[number];

interface Command {
  readonly verb: Verb;
  readonly faults: readonly CommandFault[];
}

interface ImportHistory {
  readonly traits: WorldTraits;
  readonly commands: readonly Command[];
  readonly wayOut: Verb;
}

const importHistories: fc.Arbitrary<ImportHistory> = fc.record({
  traits,
  commands: fc
    .array(
      fc.record({
        verb: fc.constantFrom(...verbs),
        faults: fc.array(faults, { minLength: 1, maxLength: 2 }),
      }),
      { maxLength: 3 },
    )
    .chain((commands) =>
      faults.map((fault) => [{ verb: "import" as const, faults: [fault] }, ...commands]),
    ),
  wayOut: fc.constantFrom(...verbs),
});

/**
 * Lets a history happen to a cluster beside which a host stands that nobody of ours has made. Returns what is
 * against the laws: the host ends, or changes, before it was imported for good and somebody asked for its end.
 */
async function breachesOf(
  history: ImportHistory,
  sabotage?: (means: CommandTools) => CommandTools,
): Promise<string[]> {
  const engine = await FakeEngine.running(without, {
    traits: history.traits,
    ...(sabotage !== undefined && { sabotage }),
  });
  const like = engine.hosts().find(({ who }) => who.name.startsWith("web"))?.spec ?? {};
  const { id, spec } = engine.cloud.plant(nobody, like);
  const breaches: string[] = [];
  let isGivenUp = false;
  const isImported = () => engine.prior.resources.some((one) => one.id === id);
  const run = async ({ verb, faults: troubles }: Command) => {
    const { revision } = engine.prior;
    const isCommitted =
      isImported() && revision?.target.machines.some(({ name }) => name === "db") === true;
    isGivenUp ||= isCommitted && (verb === "upWithout" || verb === "destroy");
    // Nobody starts the next command before listings show what the last one has done.
    engine.clock.advance(5_000);
    const outcome = await start(engine, id, verb, troubles);
    const host = engine.cloud.get(id);
    if (isGivenUp) return outcome;
    if (host?.phase !== "ready") breaches.push(`${verb} has ended the host`);
    if (!sameJson(host?.spec ?? {}, spec)) breaches.push(`${verb} has changed the host`);
    return outcome;
  };
  for (const command of history.commands) await run(command);
  const isOpen = engine.prior.transaction?.number !== engine.prior.revision?.number;
  const outcome = await run({ verb: history.wayOut, faults: [] });
  const { wayOut } = history;
  // A destroy may have gone too far to be taken back.
  const isRefused = outcome.kind === "broke" && outcome.error.code === "NOT_REVERSIBLE";
  if (!isRefused && (wayOut === "up" || wayOut === "upWithout")) {
    if (outcome.kind !== "done") breaches.push(`${wayOut} ended: ${outcomeText(outcome)}`);
    const wanted = wayOut === "up" ? withDb : without;
    const isQuiet = (await engine.plan(wanted)).empty;
    if (!isQuiet) breaches.push(`a plan is not empty after ${wayOut}`);
  }
  if (wayOut === "rollback" && isOpen && outcome.kind === "rolledBack") {
    const marks = engine.alive().filter((one) => one.id === id).length;
    if (marks > (isImported() ? 1 : 0)) breaches.push("a rollback left its marks on");
  }
  return [...breaches, ...engine.cloud.watch.violations];
}

function start(engine: FakeEngine, id: string, verb: Verb, troubles: readonly CommandFault[]) {
  switch (verb) {
    case "import":
      return engine.import("db", id, withDb, troubles);
    case "up":
      return engine.up(withDb, troubles);
    case "upWithout":
      return engine.up(without, troubles);
    case "rollback":
      return engine.rollback(troubles);
    case "destroy":
      return engine.destroy(troubles);
  }
}

/** Whoever takes marks off ends the host. */
function endingInstead({ provider, engine }: CommandTools): CommandTools {
  const ending = ({ remove, ...handler }: ResourceHandler): ResourceHandler => ({
    ...handler,
    remove,
    disown: async (ctx, current) => {
      await remove(ctx, current);
    },
  });
  const handlers = [...provider.handlers].map(([kind, one]) => [kind, ending(one)] as const);
  return { provider: { ...provider, handlers: new Map(handlers) }, engine };
}

describe("histories with an import", () => {
  it("laws 3, 5, 9: end no host that was there before, and leave nothing half done", async () => {
    const property = fc.asyncProperty(importHistories, async (history) => {
      assert.deepEqual(await breachesOf(history), []);
    });
    await assertAsyncLaw(property, 150);
  }).timeout(240_000);

  it("find a way back that ends the host", async () => {
    const property = fc.asyncProperty(importHistories, async (history) => {
      assert.deepEqual(await breachesOf(history, endingInstead), []);
    });
    const { failed } = await fc.check(property, { numRuns: 150, endOnFailure: true });
    assert.equal(failed, true);
  }).timeout(240_000);
});
