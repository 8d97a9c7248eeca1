import fc from "fast-check";
import { keyOf, type NodeKey, nodeName } from "../../src/graph/graph.js";
import type { Desired } from "../../src/api/types.js";
import type { Observed } from "../../src/provider/port.js";
import { machineNameOf } from "../../src/records/host-name.js";
import { isOpen } from "../../src/records/prior-state.js";
import { plainWorld } from "./fake-cloud.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "./fake-engine.js";
import { faults } from "./histories.js";
import { Missing } from "./missing.js";
import type { CommandFault } from "./faults.js";
import { cluster, desiredOf, machine, machineDeployment } from "./manifests.js";
import { loseRecords, recordDrift } from "./record-accidents.js";

// Requests that change records alone, mixed with all others, while records are lost and drift is recorded. Nothing in these histories gives a
// reason to end a host that runs: shapes and counts never change.

type Accident =
  | { readonly kind: "drifts" | "dies" | "losesRecord"; readonly pick: number }
  | { readonly kind: "recordsDrift" };

interface RecordCommand {
  readonly verb: "up" | "forget" | "import" | "move" | "rotate" | "adopt" | "rollback";
  readonly accidents: readonly Accident[];
  readonly faults: readonly CommandFault[];
}

export interface RecordHistory {
  /** Hosts are nodes of a cluster. */
  readonly joins: boolean;
  readonly commands: readonly RecordCommand[];
}

const pick = fc.nat({ max: 9 });
const accidents: fc.Arbitrary<Accident> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "recordsDrift" as const }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("drifts" as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("losesRecord" as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("dies" as const), pick }) },
);

export const recordHistories: fc.Arbitrary<RecordHistory> = fc.record({
  joins: fc.boolean(),
  commands: fc.array(
    fc.record({
      verb: fc.constantFrom<RecordCommand["verb"][]>(
        ...(["up", "up", "forget", "forget", "import", "move"] as const),
        ...(["rotate", "adopt", "rollback"] as const),
      ),
      accidents: fc.array(accidents, { maxLength: 3 }),
      faults: fc.array(faults, { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
});

/** Drift is recorded, then another machine is forgotten: what D-A1 lost. */
const forgetAfterRecordedDrift: RecordHistory = {
  joins: false,
  commands: [
    {
      verb: "forget",
      accidents: [{ kind: "drifts", pick: 0 }, { kind: "recordsDrift" }],
      faults: [],
    },
  ],
};

/** A record is lost, then another machine is forgotten, then all is wanted as before: what D-A2 lost. */
const upAfterForgetAfterLostRecord: RecordHistory = {
  joins: false,
  commands: [
    { verb: "forget", accidents: [{ kind: "losesRecord", pick: 1 }], faults: [] },
    { verb: "up", accidents: [], faults: [] },
  ],
};

/** The record of the forgotten machine itself is lost. */
const forgetWithoutRecord: RecordHistory = {
  joins: false,
  commands: [
    { verb: "forget", accidents: [{ kind: "losesRecord", pick: 2 }], faults: [] },
    { verb: "up", accidents: [], faults: [] },
  ],
};

/** A `state forget` is cut off, and the change behind it fails and is taken back. */
const forgetBeforeFailedUp: RecordHistory = {
  joins: false,
  commands: [
    {
      verb: "forget",
      accidents: [],
      faults: [{ at: "write", number: 1, what: "killAfter" }],
    },
    {
      verb: "up",
      accidents: [{ kind: "dies", pick: 3 }],
      faults: [{ at: "look", number: 3, what: "unknown" }],
    },
    { verb: "up", accidents: [], faults: [] },
  ],
};

/** What random histories come to seldom. */
export const rareRecordHistories = [
  forgetBeforeFailedUp,
  forgetAfterRecordedDrift,
  upAfterForgetAfterLostRecord,
  forgetWithoutRecord,
];

function isOfDb({ who }: Observed): boolean {
  return who.name.startsWith("db-");
}

/** Longer than any host takes to come up. */
const restMs = 20 * 60_000;
const nobody = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };
const keptData = { dataVolume: { gib: 1, whenHostGoes: "keep" } } as const;

/** What manifests want; a forgotten Machine is in them no more, an imported one is. */
function wanted(has: { readonly db: boolean; readonly extra: boolean }): Desired {
  return desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    machine("anchor", keptData),
    ...(has.db ? [machine("db", keptData)] : []),
    ...(has.extra ? [machine("extra")] : []),
    machineDeployment("web", 2),
  ]);
}

function isSettled({ prior }: FakeEngine): boolean {
  return prior.transaction !== undefined && !isOpen(prior) && prior.pending.length === 0;
}

/** One history, as it is run. */
class Course {
  readonly lost: string[] = [];
  readonly outcomes: string[] = [];
  private readonly has = { db: true, extra: false };
  private hasAdopted = false;
  /** Ids of the hosts that a `state forget` was to release. */
  private forgotten: ReadonlySet<string> = new Set();
  private readonly missing: Missing;
  private readonly stray: string;
  /** What runs and has to go on running, by id. */
  private serving: readonly string[];

  constructor(private readonly engine: FakeEngine) {
    this.missing = new Missing(engine);
    this.serving = this.alive();
    const spec = engine.hosts().find(({ who }) => who.name.startsWith("web"))?.spec ?? {};
    this.stray = engine.cloud.plant(nobody, spec).id;
  }

  async run({ verb, accidents: drawn, faults: failing }: RecordCommand): Promise<void> {
    const { engine } = this;
    if (verb === "rollback" && !isOpen(engine.prior)) return;
    // Without a state there is nothing to forget or to move.
    const needsState = verb === "forget" || verb === "move";
    if (needsState && engine.prior.transaction === undefined) return;
    engine.clock.advance(restMs);
    for (const accident of drawn) this.happens(accident);
    // A second host that an adoption has found is a machine of its own.
    const { machines = [] } = engine.prior.transaction?.target ?? {};
    const forgotten = machines.find(({ name }) => name === "db")?.host;
    const before = engine.hosts().filter(isOfDb);
    const outcome = await this.command(verb, failing);
    // Of a request that did not come to its begin no record tells: the manifests still hold the Machine.
    const { goal, target } = engine.prior.transaction ?? {};
    if (goal?.kind === "forget" && this.has.db) {
      this.has.db = false;
      this.forgotten = new Set(before.map(({ id }) => id));
    }
    // Who takes a `state forget` back has the Machine in the manifests.
    if (verb === "rollback")
      this.has.db ||= target?.machines.some(({ name }) => name === "db") ?? false;
    this.outcomes.push(`${verb}: ${outcomeText(outcome)}`);
    if (verb === "forget" && outcome.kind === "done" && forgotten !== undefined) {
      const marked = engine.alive().filter(({ who }) => who.name.startsWith(nodeName(forgotten)));
      this.lost.push(...marked.map(({ who }) => `${who.kind} ${who.name} still bears marks`));
    }
    this.judge(verb, outcome);
  }

  private command(
    verb: RecordCommand["verb"],
    failing: readonly CommandFault[],
  ): Promise<CommandOutcome> {
    const { engine, has } = this;
    const { db, extra } = has;
    switch (verb) {
      case "up":
        return engine.up(wanted(has), failing);
      case "adopt":
        engine.loseState();
        // Lost with it: a `state forget` that broke off. Until the host is released the user wants its Machine.
        has.db ||= engine.hosts().some(isOfDb);
        return engine.up(wanted(has), failing);
      case "forget":
        return engine.forget("db", failing);
      case "import":
        has.extra = true;
        return engine.import("extra", this.stray, wanted({ db, extra: true }), failing);
      case "move":
        return engine.handOver(extra ? "kube" : "files", failing);
      case "rotate":
        return engine.rotate(failing);
      case "rollback":
        return engine.rollback(failing);
    }
  }

  /** A rotation replaces hosts, and so does whoever finishes it or takes it back. */
  private judge(verb: RecordCommand["verb"], outcome: CommandOutcome): void {
    const { engine } = this;
    this.hasAdopted ||= verb === "adopt";
    const said = outcomeText(outcome);
    if (said.includes("refusing a pass")) this.lost.push(said);
    this.lost.push(...engine.cloud.watch.violations);
    const gone = this.missing
      .among(verb === "rotate" ? [] : this.serving)
      // Of two hosts of one machine that an adoption has found either may stay.
      .filter((id) => !this.hasAdopted || !this.hasOther(engine.cloud.get(id)?.who.name ?? id))
      .filter((id) => !this.isSubstitute(id));
    this.lost.push(...gone.map((id) => `${verb} ends ${engine.cloud.get(id)?.who.name ?? id}`));
    if (isSettled(engine)) this.serving = this.alive();
    else if (verb === "rotate") this.serving = [];
  }

  /** A way back that no longer gets at the forgotten host makes another one, which the manifests do not want. */
  private isSubstitute(id: string): boolean {
    const host = this.engine.cloud.get(id);
    return host !== undefined && isOfDb(host) && !this.has.db && !this.forgotten.has(id);
  }

  private hasOther(host: string): boolean {
    const isOfMachine = ({ who }: Observed) => machineNameOf(who.name) === machineNameOf(host);
    return this.engine.hosts().some((one) => one.phase === "ready" && isOfMachine(one));
  }

  private happens(accident: Accident): void {
    const { engine } = this;
    if (accident.kind === "recordsDrift") return recordDrift(engine);
    const hosts = engine.hosts().filter(({ phase }) => phase === "ready");
    const host = hosts[accident.pick % Math.max(1, hosts.length)];
    if (host === undefined) return;
    switch (accident.kind) {
      case "drifts":
        return engine.cloud.drift(host.id, { tags: { by: "hand" } });
      case "losesRecord":
        return this.losesRecord(keyOf(host.who));
      case "dies":
        // With its only member a cluster has lost more than a host.
        if (host.who.name.startsWith("cp-")) return;
        engine.cloud.kill(host.id);
        this.serving = this.serving.filter((id) => id !== host.id);
    }
  }

  private losesRecord(lost: NodeKey): void {
    loseRecords(this.engine, (key) => key === lost);
  }

  /** What is wanted and there. */
  private alive(): string[] {
    const { engine } = this;
    const target = new Set(engine.prior.transaction?.target.nodes.map(keyOf));
    return engine
      .alive()
      .filter(({ who, phase }) => phase === "ready" && target.has(keyOf(who)))
      .map(({ id }) => id);
  }
}

/** What a history has ended or broken that was to stay, and how its commands ended. */
export async function lostIn({ joins, commands }: RecordHistory): Promise<{
  readonly lost: readonly string[];
  readonly outcomes: readonly string[];
}> {
  const traits = { ...plainWorld, joins };
  const engine = await FakeEngine.running(wanted({ db: true, extra: false }), {
    traits,
    adopt: true,
  });
  const course = new Course(engine);
  for (const command of commands) {
    await course.run(command);
    if (course.lost.length > 0) break;
  }
  return course;
}
