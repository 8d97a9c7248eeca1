import fc from "fast-check";
import { isCapstanError } from "../../src/api/error.js";
import { digestOf } from "../../src/api/digest.js";
import { canonicalJson, type Json, type JsonObject, sameJson } from "../../src/api/json.js";
import { isRef, keyOf, type NodeKey, resolveRefs } from "../../src/graph/graph.js";
import { canServe } from "../../src/plan/judge.js";
import { cloudResources, type PriorState, type Target } from "../../src/plan/target.js";
import { wavesOf } from "../../src/plan/admission/waves.js";
import type { AnyObject, Desired } from "../../src/api/types.js";
import type { RunEvent } from "../../src/engine/run.js";
import type { Observed } from "../../src/provider/port.js";
import { testCluster } from "./manifests.js";
import { desiredFleet, type Fleet, smallFleets } from "./fleet.js";
import { bootMishaps, callMishaps, lookMishaps, type Mishap } from "./mishaps.js";
import { timing, type WorldTraits } from "./pretend-cloud.js";
import { type EngineSetup, type Outcome, outcomeText, PretendEngine } from "./pretend-engine.js";

/** What happens behind everybody's back before a command. */
export type Accident =
  | { readonly kind: "dies"; readonly pick: number }
  | { readonly kind: "drifts"; readonly pick: number; readonly fields: JsonObject };

/** One command and everything that goes wrong in it. */
export interface Command {
  readonly verb: "up" | "rollback";
  /** Of an `up`: what is wanted. */
  readonly fleet: Fleet;
  readonly accidents: readonly Accident[];
  readonly mishaps: readonly Mishap[];
  /** Of an `up`: what failed is not taken back. */
  readonly keeps?: boolean;
}

/** What somebody runs, with nothing going wrong any more, to get out of it. */
export const waysOut = ["same", "old", "third", "rollback"] as const;
export type WayOut = (typeof waysOut)[number];

/**
 * Somebody else's resource: without marks, of another cluster, of an earlier cluster of this name, or
 * one that carries the very token that a host of ours will have.
 */
export const neighbours = ["unmarked", "otherCluster", "otherLife", "sameToken"] as const;
export type Neighbour = (typeof neighbours)[number];

/** The life of a cluster from a quiet beginning through trouble to a quiet end. JSON data. */
export interface History {
  readonly traits: WorldTraits;
  readonly before?: Fleet;
  /** Whose resources stand beside it once `before` is reached. */
  readonly neighbours?: readonly Neighbour[];
  readonly commands: readonly Command[];
  readonly wayOut: WayOut;
  readonly third: Fleet;
}

export const mishaps: fc.Arbitrary<Mishap> = fc.oneof(
  fc.record({
    at: fc.constant("call" as const),
    number: fc.nat({ max: 12 }),
    what: fc.constantFrom(...callMishaps),
  }),
  fc.record({
    at: fc.constant("write" as const),
    number: fc.nat({ max: 40 }),
    what: fc.constantFrom("killBefore" as const, "killAfter" as const),
  }),
  fc.record({
    at: fc.constant("look" as const),
    number: fc.nat({ max: 25 }),
    what: fc.constantFrom(...lookMishaps),
  }),
  fc.record({
    at: fc.constant("boot" as const),
    number: fc.nat({ max: 4 }),
    what: fc.constantFrom(...bootMishaps),
  }),
);

export const accidents: fc.Arbitrary<Accident> = fc.oneof(
  fc.record({ kind: fc.constant("dies" as const), pick: fc.nat({ max: 9 }) }),
  fc.record({
    kind: fc.constant("drifts" as const),
    pick: fc.nat({ max: 9 }),
    fields: fc.constantFrom<JsonObject[]>({ tags: { by: "hand" } }, { size: "large" }),
  }),
);

export const traits: fc.Arbitrary<WorldTraits> = fc
  .record({
    listingLagMs: fc.constantFrom(0, 0, 800),
    searchesLag: fc.boolean(),
    remembersTokens: fc.boolean(),
    parallel: fc.boolean(),
  })
  // A cloud that neither shows what it made nor remembers its token cannot be used by anybody.
  .map((some) => ({ ...some, searchesLag: some.searchesLag && some.remembersTokens }));

export const histories: fc.Arbitrary<History> = fc.record(
  {
    traits,
    before: smallFleets,
    commands: fc.array(
      fc.record({
        verb: fc.constantFrom("up" as const, "up" as const, "up" as const, "rollback" as const),
        fleet: smallFleets,
        accidents: fc.oneof(
          { weight: 4, arbitrary: fc.constant([]) },
          { weight: 1, arbitrary: fc.array(accidents, { minLength: 1, maxLength: 2 }) },
        ),
        mishaps: fc.array(mishaps, { minLength: 1, maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    wayOut: fc.constantFrom(...waysOut),
    third: smallFleets,
  },
  { requiredKeys: ["traits", "commands", "wayOut", "third"] },
);

/** Codes that the trouble of a history may end a command with. */
const expectedCodes = new Set([
  "CANCELLED",
  "CLOUD_FAILED",
  "CLOUD_THROTTLED",
  "NOT_REVERSIBLE",
  "UNKNOWN_PRESENCE",
]);

/**
 * Lets a history happen. Returns every way in which it breaks the laws, a line each, the law first:
 * what the watch saw, and after each command what its own words promise of state and cloud.
 */
export async function breachesOf(history: History, setup: LifeSetup = {}): Promise<string[]> {
  const { trace = () => {}, ...rest } = setup;
  const engine = new PretendEngine({ ...rest, traits: history.traits, tell: tellTo(trace) });
  const life = new Life(engine, trace);
  if (history.before !== undefined) await life.quietly("up", history.before);
  for (const neighbour of history.neighbours ?? []) life.plant(neighbour);
  for (const command of history.commands) {
    for (const accident of command.accidents) happen(engine, accident);
    await life.run(command);
  }
  await life.getOut(history);
  life.mustHaveLeftAlone();
  const { watch, rollouts } = engine.cloud;
  return [...watch.violations, ...rollouts.violations, ...life.breaches];
}

export interface LifeSetup extends EngineSetup {
  /** Told what happens, a line each, for people. */
  readonly trace?: (line: string) => void;
}

function tellTo(trace: (line: string) => void): (event: RunEvent) => void {
  return (event) => {
    switch (event.kind) {
      case "pass":
        return trace(`  pass ${event.number}: ${event.keys.join(" ")}`);
      case "rollingBack":
        return trace(`  ${event.kind}: ${event.reason}`);
      case "recovering":
        return trace(`  recovering: ${event.reason}`);
      case "committed":
        return trace(`  committed ${event.revision}`);
      case "resource": {
        const { operation, kind, name, state, message = "" } = event.event;
        return trace(`    ${operation} ${kind}/${name} ${state} ${message}`.trimEnd());
      }
      case "waiting":
      case "proving":
      case "ready":
        return trace(`  ${event.kind}: ${"key" in event ? event.key : event.keys.join(" ")}`);
    }
  };
}

/** Runs commands and holds what they leave against what they say. */
class Life {
  readonly breaches: string[] = [];
  private lastWish: Fleet | undefined;
  /** Since the last commit: how far the calls had come, and the newest control plane of the revision. */
  private base = { revision: 0, calls: 0, minor: -Infinity };
  private readonly planted: Observed[] = [];

  constructor(
    private readonly engine: PretendEngine,
    private readonly trace: (line: string) => void,
  ) {}

  /** Beside a machine "db-0" of ours, which it looks as much alike as it can. */
  plant(neighbour: Neighbour): void {
    const { cloud, provider } = this.engine;
    const kind = provider.hostKind;
    const [uid = "uid-1"] = cloud.watch.uids;
    const about = {
      unmarked: ["", ""],
      otherCluster: ["default/other", "uid-other"],
      otherLife: [`default/${testCluster}`, "uid-before"],
      sameToken: ["default/other", "uid-other"],
    }[neighbour];
    const [cluster = "", clusterUid = ""] = about;
    const name = neighbour === "unmarked" ? "" : "db-0-a830c4ef-1";
    const token = digestOf([neighbour === "sameToken" ? uid : clusterUid, kind, name], 32);
    const spec = { size: "small", tags: { of: "somebody else" } };
    this.planted.push(cloud.plant({ cluster, clusterUid, kind, name, token }, spec));
  }

  /** Law 5, seen from those whom it protects. */
  mustHaveLeftAlone(): void {
    for (const planted of this.planted) {
      if (sameJson(this.engine.cloud.get(planted.id), planted)) continue;
      this.breaches.push(`law 5: ours only: ${planted.id} of somebody else was changed`);
    }
  }

  async run({ verb, fleet, mishaps: during, keeps }: Omit<Command, "accidents">): Promise<Outcome> {
    const { engine } = this;
    // Nobody starts the next command before listings show what the last one has done.
    engine.clock.advance(timing.listingLagMs);
    const before = engine.prior;
    if (verb === "rollback") {
      this.trace("capstan rollback");
      const outcome = await engine.rollback(during);
      return this.judged(outcome, before);
    }
    this.lastWish = fleet;
    this.trace("capstan up");
    const outcome = await engine.up(desiredFleet(fleet), during, keeps ? "keep" : "rollBack");
    return this.judged(outcome, before, fleet);
  }

  private judged(outcome: Outcome, before: PriorState, fleet?: Fleet): Outcome {
    this.judge(outcome, before, fleet);
    const { prior, calls } = this.engine;
    const { number = 0, target } = prior.revision ?? {};
    if (number !== this.base.revision) {
      const minors = (target?.machines ?? []).map(({ spec }) =>
        minorOf(spec.versions.controlPlane),
      );
      this.base = { revision: number, calls: calls.length, minor: Math.max(...minors) };
    }
    return outcome;
  }

  /** With nothing going wrong a command has to do what it is for, at once. */
  async quietly(verb: Command["verb"], fleet: Fleet): Promise<void> {
    const waves = verb === "up" ? await this.wavesShown(fleet) : undefined;
    const since = this.engine.calls.length;
    const outcome = await this.run({ verb, fleet, mishaps: [] });
    if (verb === "rollback" && isRefusal(outcome)) return;
    if (verb === "up" && isRefusal(outcome)) {
      if (this.crossings().crossed.size === 0) this.blame("an up was refused before any crossing");
      return this.goOn();
    }
    if (verb === "up" && this.isDowngrade(outcome, fleet)) return this.goOn();
    const wanted = verb === "up" ? "done" : "rolledBack";
    if (outcome.kind !== wanted) {
      this.blame(`an undisturbed ${verb} ended: ${outcomeText(outcome)}`);
    } else if (verb === "up" && !(await this.engine.plan(desiredFleet(fleet))).empty) {
      this.blame("a plan is not empty after it was applied");
    } else if (waves !== undefined) {
      this.mustHaveFollowed(waves, since);
    }
  }

  /**
   * The waves of a plan from where everything serves that there is; undefined from elsewhere. Deleting
   * the record of what is gone changes nothing in the cloud.
   */
  private async wavesShown(fleet: Fleet): Promise<string[] | undefined> {
    const { engine } = this;
    const { prior } = engine;
    const serves = engine.alive().every(({ phase }) => phase === "ready");
    if (!serves || prior.pending.length > 0 || this.crossings().crossed.size > 0) return undefined;
    const plan = await engine.plan(desiredFleet(fleet)).catch((error: unknown) => {
      if (isCapstanError(error) && error.code === "UNSUPPORTED_CHANGE") return undefined;
      throw error;
    });
    if (plan === undefined) return undefined;
    const isClean = plan.abandoned.length + plan.strangers.length + plan.stale.length === 0;
    if (!isClean) return undefined;
    const isGone = (key: NodeKey) =>
      prior.resources.some(
        (one) => one.key === key && engine.cloud.get(one.id ?? "")?.phase === "gone",
      );
    const changes = wavesOf(plan).map(({ keys }) => keys.filter((key) => !isGone(key)).toSorted());
    return changes.filter((keys) => keys.length > 0).map((keys) => keys.join(" "));
  }

  /** Law 7 for waves: each pass that changes the cloud is the next one of the plan, whole. */
  private mustHaveFollowed(waves: readonly string[], since: number): void {
    const calls = this.engine.calls.slice(since);
    const passes = [...new Set(calls.map(({ pass }) => pass))];
    const done = passes.map((pass) =>
      calls
        .filter((call) => call.pass === pass)
        .map(({ key }) => key)
        .sort()
        .join(" "),
    );
    if (done.join("\n") !== waves.join("\n")) {
      this.breaches.push(`law 7: waves: shown ${waves.join(" | ")}, done ${done.join(" | ")}`);
    }
  }

  /** Whether a command was refused because it wants a control plane older than the revision's. */
  private isDowngrade(outcome: Outcome, fleet: Fleet): boolean {
    const wanted = Object.values(fleet.machines).map(({ controlPlane }) => minorOf(controlPlane));
    const isRefused = outcome.kind === "broke" && outcome.error.code === "UNSUPPORTED_CHANGE";
    return isRefused && Math.max(...wanted) < this.base.minor;
  }

  /** Where an older control plane is refused there is the way forward, if anything is open. */
  private async goOn(): Promise<void> {
    const { engine } = this;
    const { transaction, revision } = engine.prior;
    if (transaction === undefined || transaction.number === revision?.number) return;
    this.trace("capstan up, on with what is open");
    const outcome = await engine.up(desiredIn(transaction.target.objects));
    this.judged(outcome, engine.prior);
    if (outcome.kind !== "done") {
      this.blame(`an undisturbed up toward what is open ended: ${outcomeText(outcome)}`);
    }
  }

  /** Recovery, and that nothing is left to do afterwards. */
  async getOut({ wayOut, before, third }: History): Promise<void> {
    this.engine.cloud.endStuck();
    const same = this.lastWish ?? third;
    const fleet = { same, old: before ?? third, third, rollback: same }[wayOut];
    if (wayOut === "rollback") await this.quietly("rollback", fleet);
    await this.quietly("up", fleet);
  }

  private judge(outcome: Outcome, before: PriorState, fleet?: Fleet): void {
    const { prior } = this.engine;
    this.trace(`-> ${outcomeText(outcome)}`);
    switch (outcome.kind) {
      case "done":
        if (fleet !== undefined) this.mustBe(objectsOf(fleet), undefined);
        return;
      case "rolledBack":
        this.mustBeAsBefore(before);
        return;
      case "stopped":
        if (outcome.result === "untouched" && !sameNumbers(prior, before)) {
          this.blame("something was begun, and is said to be untouched");
        }
        return;
      case "broke":
        if (expectedCodes.has(outcome.error.code)) return;
        if (fleet !== undefined && this.isDowngrade(outcome, fleet)) return;
        this.blame(`a command broke: ${outcomeText(outcome)}`);
        return;
      case "killed":
        return;
    }
  }

  /** What a rollback says that it has achieved. */
  private mustBeAsBefore(before: PriorState): void {
    const { engine } = this;
    const { revision } = before;
    if (revision !== undefined) {
      this.mustBe(textOf(revision.target.objects), revision.target);
      this.mustHaveSpared(before);
      this.mustNotHaveCrossed();
      return;
    }
    for (const { id } of engine.alive()) this.blame(`${id} is left of a first creation`);
    if (engine.prior.resources.length > 0) this.blame("a record is left of a first creation");
  }

  /** A rollback deletes no host that could have gone on to serve: its data would be lost. */
  private mustHaveSpared({ resources, revision }: PriorState): void {
    const { provider, cloud, calls, callsAtRollback } = this.engine;
    const hosts = new Set(revision?.target.machines.map(({ host }) => host));
    const ids = new Map(resources.map(({ key, id }) => [key, id]));
    for (const { call, key, id } of calls.slice(callsAtRollback)) {
      if (call !== "delete" || !hosts.has(key) || ids.get(key) !== id) continue;
      const node = revision?.target.nodes.find((one) => keyOf(one) === key);
      const wanted = resolveRefs(node?.spec ?? {}, ({ $ref }) => ids.get($ref) ?? null);
      const verdict = provider.verdict(provider.hostKind, cloud.get(id)?.spec ?? {}, wanted);
      if (canServe(verdict)) this.blame(`${key} was deleted, although it could have served on`);
    }
  }

  /** Beyond a point of no return there is only forward, whatever is wished for instead. */
  private mustNotHaveCrossed(): void {
    for (const key of this.crossings().takenBack) {
      this.blame(`${key} was taken back from beyond its point of no return`);
    }
  }

  /** Hosts that were given a newer control plane since the last commit, and those that lost it again. */
  private crossings(): { readonly crossed: Set<string>; readonly takenBack: string[] } {
    const crossed = new Set<string>();
    const takenBack: string[] = [];
    for (const { call, id, key, spec } of this.engine.calls.slice(this.base.calls)) {
      const minor = minorOf(spec?.["controlPlane"]);
      if (this.base.minor > -Infinity && minor > this.base.minor) crossed.add(id);
      else if (crossed.has(id) && (call === "delete" || minor > -Infinity)) takenBack.push(key);
    }
    return { crossed, takenBack };
  }

  /** Cloud, state and revision agree in existence and content, and are what is wanted. */
  private mustBe(objects: string, target: Target | undefined): void {
    const { engine } = this;
    const { prior } = engine;
    const { revision, transaction } = prior;
    if (revision === undefined || transaction?.number !== revision.number) {
      this.blame("the transaction is not committed");
      return;
    }
    const reached = textOf(revision.target.objects);
    if (reached !== objects) this.blame("the revision is of other objects");
    const recorded = new Map(cloudResources(prior).map((one) => [one.key, one]));
    for (const node of revision.target.nodes.filter(({ type }) => type === "resource")) {
      const record = recorded.get(keyOf(node));
      const wanted = resolveRefs(node.spec, ({ $ref }) => recorded.get($ref)?.id ?? null);
      const seen = engine.cloud.get(record?.id ?? "");
      if (seen === undefined || seen.phase === "gone") this.blame(`${keyOf(node)} does not exist`);
      else if (canonicalJson(seen.spec) !== canonicalJson(wanted)) {
        this.blame(`${keyOf(node)} is not what is wanted`);
      } else if (canonicalJson(record?.outputs["spec"] ?? null) !== canonicalJson(seen.spec)) {
        this.blame(`${keyOf(node)} is not what is recorded`);
      }
    }
    const wanted = new Set(revision.target.nodes.map(keyOf));
    for (const key of recorded.keys()) {
      if (!wanted.has(key)) this.blame(`${key} is recorded, and nobody wants it`);
    }
    const ids = new Set(cloudResources(prior).map(({ id }) => id));
    for (const { id } of engine.alive()) if (!ids.has(id)) this.blame(`${id} is an orphan`);
    if (prior.pending.length > 0) this.blame("an operation is left pending");
    if (target !== undefined && contentOf(target) !== contentOf(revision.target)) {
      this.blame("what was rolled back is not what was there before");
    }
  }

  private blame(what: string): void {
    this.breaches.push(`law 3: ${what}`);
  }
}

/** What each machine is to be, whatever its host is called. */
function contentOf({ machines, nodes }: Target): string {
  const specs = new Map(nodes.map((node) => [keyOf(node), node.spec]));
  const anonymous = (spec: JsonObject) =>
    Object.fromEntries(
      Object.entries(spec).map(([path, value]) => [path, isRef(value) ? value.output : value]),
    );
  return canonicalJson(
    Object.fromEntries(machines.map(({ name, host }) => [name, anonymous(specs.get(host) ?? {})])),
  );
}

function desiredIn(objects: Target["objects"]): Desired {
  const of = <K extends AnyObject["kind"]>(kind: K) =>
    objects.filter((one): one is Extract<AnyObject, { kind: K }> => one.kind === kind);
  const [cluster] = of("Cluster");
  if (cluster === undefined) throw new Error("a target holds its Cluster");
  return {
    cluster,
    machines: of("Machine"),
    machineSets: of("MachineSet"),
    machineDeployments: of("MachineDeployment"),
  };
}

/** A command that has nothing to take back, or must not any more. */
function isRefusal(outcome: Outcome): boolean {
  return outcome.kind === "broke" && outcome.error.code === "NOT_REVERSIBLE";
}

function minorOf(version: unknown): number {
  return typeof version === "string" ? Number(version.split(".")[1]) : -Infinity;
}

function objectsOf(fleet: Fleet): string {
  const { cluster, machineDeployments, machineSets, machines } = desiredFleet(fleet);
  return textOf([cluster, ...machineDeployments, ...machineSets, ...machines]);
}

function textOf(objects: Target["objects"]): string {
  return objects
    .map((one) => canonicalJson(one as unknown as Json))
    .sort()
    .join("\n");
}

function sameNumbers(left: PriorState, right: PriorState): boolean {
  return (
    left.transaction?.number === right.transaction?.number &&
    left.revision?.number === right.revision?.number
  );
}

function happen(engine: PretendEngine, accident: Accident): void {
  const hosts = engine.hosts();
  const host = hosts[accident.pick % Math.max(hosts.length, 1)];
  if (host === undefined) return;
  if (accident.kind === "dies") engine.cloud.kill(host.id);
  else engine.cloud.drift(host.id, accident.fields);
}
