import type { ClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { digestOf } from "../../src/api/digest.js";
import { isCapstanError } from "../../src/api/error.js";
import { sameJson } from "../../src/api/json.js";
import { keyOf, type NodeKey } from "../../src/graph/graph.js";
import { wavesOf } from "../../src/plan/waves/list-waves.js";
import { targetOfRevision } from "../../src/records/history.js";
import { desiredIn } from "../../src/records/target.js";
import { rollbackOf } from "../../src/plan/goal/rollback.js";
import {
  type PriorState,
  recordAt,
  cloudResources,
  standingMachines,
} from "../../src/records/prior-state.js";
import { revisionKey } from "../../src/transaction/pass.js";
import type { OwnerMove } from "../../src/sets/moves.js";
import type { Observed } from "../../src/provider/port.js";
import { desiredCluster, type WantedCluster } from "./wanted-cluster.js";
import type { Accident, HistoryCommand, History, Neighbour } from "./histories.js";
import { testCluster } from "./manifests.js";
import { timing } from "./fake-cloud.js";
import { type CommandOutcome, outcomeText, type FakeEngine } from "./fake-engine.js";
import { notReached, textOf, type Expected } from "./reached.js";
import { minorOf, WhatWasThere } from "./what-was-there.js";

/** Codes that the trouble of a history may end a command with. */
const expectedCodes = new Set([
  "CANCELLED",
  "CLOUD_FAILED",
  "CLOUD_THROTTLED",
  "NOT_REVERSIBLE",
  "RESOURCE_GONE",
  "UNKNOWN_PRESENCE",
]);

/** Why keys are not rotated now. */
const rotationRefusals = new Set([
  "INVALID_INPUT",
  "NOT_FOUND",
  "TRANSACTION_OPEN",
  "UNSUPPORTED_CHANGE",
]);

interface Run extends Pick<HistoryCommand, "verb" | "wanted" | "faults" | "keeps"> {
  readonly moves?: readonly OwnerMove[];
}

/** A pool and its other name. */
const poolNames = ["web", "pool"] as const;

/** Runs commands and holds what they leave against what they say. */
export class Life {
  readonly breaches: string[] = [];
  private lastGoal: WantedCluster | undefined;
  /** What the manifests of the last adoption wanted, if it had any: its records tell only what it has found. */
  private adoptedFor: WantedCluster | undefined;
  private before: WhatWasThere;
  private readonly planted: Observed[] = [];
  /** Changed behind everybody's back, by id. */
  private readonly drifted = new Set<string>();
  /** Where the words `rollback` first meant to go, until somebody says something else; "" for nothing. */
  private rollbackGoal: string | undefined;
  /** How often a command has planned anew. */
  private plansAnew = 0;

  constructor(
    private readonly engine: FakeEngine,
    private readonly trace: (line: string) => void,
  ) {
    this.before = new WhatWasThere(engine);
  }

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

  /** What was kept for a host goes once it is a node, and with it. */
  mustKeepNothing(): void {
    const { cloud, prior } = this.engine;
    // What the cloud has refused later is recorded as a host that failed: it goes with what was kept for it.
    const refused = cloudResources(prior).flatMap(({ id = "" }) =>
      cloud.hasRejected(id) ? (cloud.get(id) ?? []) : [],
    );
    for (const token of cloud.hosts.leftOver([...cloud.alive(), ...refused])) {
      this.breaches.push(`law 16: what was kept for host ${token} is left`);
    }
  }

  async happen(accident: Accident): Promise<void> {
    const { engine } = this;
    if (accident.kind === "refreshes") return engine.refresh();
    if (accident.kind === "losesState") {
      engine.loseState();
      engine.cloud.forgetUnlisted();
      // No record is left of what stopped them.
      engine.cloud.halfChanged.clear();
      this.rollbackGoal = undefined;
      this.before = new WhatWasThere(engine);
      return;
    }
    if (accident.kind === "fills") {
      engine.cloud.isFull = !engine.cloud.isFull;
      return;
    }
    const hosts = engine.hosts();
    const host = hosts[accident.pick % Math.max(hosts.length, 1)];
    if (host === undefined) return;
    if (accident.kind === "dies") engine.cloud.kill(host.id);
    else if (accident.kind === "leaves") engine.cloud.announce(host.id);
    else if (accident.kind === "stops") engine.cloud.halt(host.id);
    else {
      engine.cloud.drift(host.id, accident.fields);
      this.drifted.add(host.id);
    }
  }

  /** What was shown before tells no more of what follows: another plan does. */
  plannedAnew(): void {
    this.plansAnew += 1;
  }

  /** An adoption that is committed is where the way back of everything behind it leads. */
  committed(): void {
    if (this.engine.prior.transaction?.goal.kind === "adopt") {
      this.before = new WhatWasThere(this.engine);
    }
  }

  /** With the pool under its other name, if there is one. */
  private renaming(command: HistoryCommand): Run {
    const { wanted, verb, renames = false } = command;
    const machines = standingMachines(this.engine.prior);
    const from = poolNames.find((name) =>
      machines.some(({ owner }) => owner?.machineDeployment === name),
    );
    const pool = Object.values(wanted.deployments)[0];
    if (verb !== "up" || !renames || from === undefined || pool === undefined) return command;
    const to = from === "web" ? "pool" : "web";
    const named = (name: string) => ({ kind: "MachineDeployment", name }) as const;
    const moves = [{ from: named(from), to: named(to) }];
    return { ...command, wanted: { ...wanted, deployments: { [to]: pool } }, moves };
  }

  /** One command of a history. */
  live(command: HistoryCommand): Promise<CommandOutcome> {
    return this.run(this.renaming(command));
  }

  private async run(command: Run): Promise<CommandOutcome> {
    const { engine } = this;
    const { verb } = command;
    // Nobody starts the next command before listings show what the last one has done.
    engine.clock.advance(timing.listingLagMs);
    const before = engine.prior;
    this.remember(verb, before);
    this.trace(`capstan ${verb}`);
    const since = engine.calls.length;
    const outcome = await this.start(command);
    this.trace(`-> ${outcomeText(outcome)}`);
    this.judge(outcome, { before, since, command });
    const { transaction } = engine.prior;
    if (transaction?.goal.kind === "adopt" && transaction.number !== before.transaction?.number) {
      this.adoptedFor = command.verb === "up" ? command.wanted : undefined;
    }
    if (this.before.isOver) this.before = new WhatWasThere(engine);
    return outcome;
  }

  private start({ verb, wanted, faults, keeps, moves }: Run): Promise<CommandOutcome> {
    const { engine } = this;
    switch (verb) {
      case "rollback":
        return engine.rollback(faults);
      case "destroy":
        return engine.destroy(faults);
      case "rotate":
        return engine.rotate(faults);
      case "up":
        this.lastGoal = wanted;
        return engine.up(
          desiredCluster(wanted),
          faults,
          keeps === true ? "keep" : "rollBack",
          moves,
        );
    }
  }

  /** Law 10: what `rollback` meant when it was first typed. */
  private remember(verb: HistoryCommand["verb"], prior: PriorState): void {
    if (verb !== "rollback") this.rollbackGoal = undefined;
    if (verb !== "rollback" || this.rollbackGoal !== undefined) return;
    const way = rollbackOf(prior);
    const { revision } = prior;
    const target =
      way.kind === "to" ? targetOfRevision(revision, way.number) : (revision?.target ?? undefined);
    if (way.kind !== "none") this.rollbackGoal = target === undefined ? "" : textOf(target.objects);
  }

  /** With nothing going wrong a command has to do what it is for, at once. */
  async quietly(verb: HistoryCommand["verb"], wanted: WantedCluster): Promise<void> {
    const waves = verb === "up" ? await this.wavesShown(wanted) : undefined;
    const since = this.engine.calls.length;
    const { plansAnew } = this;
    const way = rollbackOf(this.engine.prior).kind;
    const isWreck = this.hasBegunWreck();
    const outcome = await this.run({ verb, wanted, faults: [] });
    if (verb === "destroy") return this.mustBeDone(verb, outcome);
    const isTakenBack = outcome.kind === "rolledBack" && outcome.to === "nothing";
    if (verb === "up" && isWreck && isTakenBack) return this.quietly(verb, wanted);
    if (isRefusal(outcome)) return this.afterRefusal({ verb, wanted, way, since });
    if (this.isDowngrade(outcome, wanted) || (verb === "rollback" && isUnsupported(outcome))) {
      return verb === "up" ? this.goOn(wanted) : undefined;
    }
    if (verb === "rollback") {
      this.mustBeDone(
        verb,
        outcome,
        way === "takeBack" || way === "finish" ? "rolledBack" : "done",
      );
      const isReached = outcome.kind === "done" || outcome.kind === "rolledBack";
      return isReached ? this.again() : undefined;
    }
    this.mustBeDone(verb, outcome);
    if (outcome.kind !== "done") return;
    if (!(await this.engine.plan(desiredCluster(wanted))).empty) {
      this.blame("a plan is not empty after it was applied");
    } else if (recordAt(this.engine.prior.resources, revisionKey) === undefined) {
      this.blame("what is committed has no record of its own");
    } else if (waves !== undefined && this.plansAnew === plansAnew) {
      this.mustHaveFollowed(waves, since);
    }
  }

  /**
   * Whether a control plane that never was committed has lost its majority, as where taking it back broke off: nobody can join it
   * nor leave it. The next `up` takes it back, and the one after that begins another.
   */
  private hasBegunWreck(): boolean {
    const { cloud, prior } = this.engine;
    return prior.revision === undefined && cloud.hosts.hasLostMajority(cloud.alive());
  }

  private mustBeDone(
    verb: string,
    outcome: CommandOutcome,
    wanted: CommandOutcome["kind"] = "done",
  ): void {
    if (outcome.kind === wanted) return;
    this.blame(`an undisturbed ${verb} ended: ${outcomeText(outcome)}`);
  }

  /** Law 10: once it is reached, the same words change nothing. */
  private async again(): Promise<void> {
    const { engine } = this;
    if (engine.prior.revision === undefined) return;
    const since = engine.calls.length;
    const outcome = await this.run({
      verb: "rollback",
      wanted: this.lastGoal!,
      faults: [],
    });
    if (outcome.kind !== "done" && outcome.kind !== "rolledBack") {
      this.breaches.push(`law 10: rollback a second time ended: ${outcomeText(outcome)}`);
    }
    if (this.hasChangedSince(since)) {
      this.breaches.push("law 10: rollback a second time changed the cloud");
    }
  }

  /** Only what is beyond a point of no return, or nothing to take back, may be refused, and it changes nothing. */
  private async afterRefusal(refused: {
    readonly verb: HistoryCommand["verb"];
    readonly wanted: WantedCluster;
    readonly way: ReturnType<typeof rollbackOf>["kind"];
    readonly since: number;
  }): Promise<void> {
    const { verb, wanted, way, since } = refused;
    this.engine.noteServing();
    const { crossed, hasLostQuorum } = this.before.crossings();
    const { cloud } = this.engine;
    // A cluster that does not answer does not tell who has served.
    const isUnknown = cloud.traits.joins === true && !cloud.hosts.isAnswering(cloud.alive());
    const mayRefuse =
      isUnknown || crossed.size > 0 || hasLostQuorum || (verb === "rollback" && way === "none");
    if (!mayRefuse) this.breaches.push(`law 11: ${verb} was refused before any point of no return`);
    if (this.hasChangedSince(since)) {
      this.breaches.push(`law 11: ${verb} was refused and has changed the cloud`);
    }
    if (verb === "up" || way !== "none") await this.goOn(wanted);
  }

  /**
   * The waves of a plan from where everything serves that there is; undefined from elsewhere, and where deletions
   * take their time: one wave of those takes several passes. Deleting the record of what is gone changes nothing in the cloud.
   */
  private async wavesShown(wanted: WantedCluster): Promise<string[] | undefined> {
    const { engine } = this;
    const { prior } = engine;
    if ((engine.cloud.traits.removalMs ?? 0) > 0) return undefined;
    const serves =
      !engine.cloud.hasOperations && engine.alive().every(({ phase }) => phase === "ready");
    const { crossed, hasLostQuorum } = this.before.crossings();
    const isQuiet = serves && prior.pending.length === 0 && crossed.size === 0 && !hasLostQuorum;
    if (!isQuiet || (prior.transaction === undefined && engine.alive().length > 0))
      return undefined;
    const plan = await engine.plan(desiredCluster(wanted)).catch((error: unknown) => {
      const refusals = ["UNSUPPORTED_CHANGE", "NOT_REVERSIBLE"];
      if (isCapstanError(error) && refusals.includes(error.code)) return undefined;
      throw error;
    });
    if (plan === undefined || plan.transaction.goal.kind === "adopt") return undefined;
    const isClean = plan.orphaned.length + plan.unrecorded.length + plan.stale.length === 0;
    // What a lost answer has left under a name that is wanted is found, not made.
    const recorded = new Set(prior.resources.map(({ id }) => id));
    if (!isClean || !engine.alive().every(({ id }) => recorded.has(id))) return undefined;
    // Of what is gone, or was let go before its record could be dropped, there is nothing left to ask of the cloud.
    const isDone = (key: NodeKey) =>
      prior.resources.some((one) => {
        const seen = engine.cloud.get(one.id ?? "");
        return one.key === key && (seen?.phase === "gone" || seen?.who.clusterUid === "");
      });
    const changes = wavesOf(plan).map(({ keys }) => keys.filter((key) => !isDone(key)).toSorted());
    return changes.filter((keys) => keys.length > 0).map((keys) => keys.join(" "));
  }

  /** Law 7 for waves: each pass that changes the cloud is the next one of the plan, whole. */
  private mustHaveFollowed(waves: readonly string[], since: number): void {
    const calls = this.engine.calls.slice(since);
    const passes = [...new Set(calls.map(({ pass }) => pass))];
    // A change of one host may take several calls.
    const done = passes.map((pass) => {
      const keys = calls.filter((call) => call.pass === pass).map(({ key }) => key);
      return [...new Set(keys)].sort().join(" ");
    });
    if (done.join("\n") !== waves.join("\n")) {
      this.breaches.push(`law 7: waves: shown ${waves.join(" | ")}, done ${done.join(" | ")}`);
    }
  }

  /** Whether a command was refused because it wants a control plane older than the revision's. */
  private isDowngrade(outcome: CommandOutcome, wanted: WantedCluster): boolean {
    const minors = Object.values(wanted.machines).map(({ controlPlane }) => minorOf(controlPlane));
    return isUnsupported(outcome) && this.before.isOlder(Math.max(...minors));
  }

  /** Where the way back is refused there is the way forward, if anything is open. */
  private async goOn(wanted: WantedCluster): Promise<void> {
    const { engine } = this;
    const { transaction, revision } = engine.prior;
    if (transaction === undefined || transaction.number === revision?.number) return;
    this.trace("on with what is open");
    if (transaction.goal.kind === "destroy") {
      this.mustBeDone("destroy", await this.run({ verb: "destroy", wanted, faults: [] }));
      return;
    }
    const before = engine.prior;
    const since = engine.calls.length;
    const adopted = transaction.goal.kind === "adopt" ? this.adoptedFor : undefined;
    const outcome = await engine.up(
      adopted === undefined ? desiredIn(transaction.target) : desiredCluster(adopted),
    );
    this.judge(outcome, { before, since });
    // What it has crossed it still has crossed while it is open.
    if (outcome.kind === "done") this.before = new WhatWasThere(engine);
    else this.blame(`an undisturbed up toward what is open ended: ${outcomeText(outcome)}`);
  }

  /** Recovery, and that nothing is left to do afterwards. */
  async getOut({ wayOut, before, third }: History): Promise<void> {
    // Those of the command itself are given up; one beyond a point of no return, made by it, waits for the next command.
    this.engine.cloud.endStuck();
    const same = this.lastGoal ?? third;
    const wanted = { same, old: before ?? third, third, rollback: same, destroy: third }[wayOut];
    if (wayOut === "rollback" || wayOut === "destroy") await this.quietly(wayOut, wanted);
    await this.quietly("up", wanted);
  }

  private judge(
    outcome: CommandOutcome,
    about: { readonly before: PriorState; readonly since: number; readonly command?: Run },
  ): void {
    const { prior, callsAtRollback } = this.engine;
    const { before, since, command } = about;
    this.mustHaveKeys(before);
    if (outcome.kind === "done" || outcome.kind === "rolledBack") {
      this.engine.cloud.hosts.mustTakePods(this.engine.hosts());
      this.engine.cloud.hosts.mustSayVersions(this.engine.hosts());
      this.mustHaveStarted();
    }
    if (callsAtRollback !== undefined) {
      for (const lost of this.before.lost(callsAtRollback)) this.breaches.push(`law 9: ${lost}`);
    }
    switch (outcome.kind) {
      case "done":
        if (command?.verb === "up") this.mustBe({ objects: objectsOf(command.wanted), isUp: true });
        else if (command?.verb === "destroy" && before.transaction !== undefined) {
          this.mustBeNothing();
        }
        if (command?.verb === "rollback") this.mustBe({ left: this.drifted });
        return this.mustBeWhereMeant(command);
      case "rolledBack":
        this.mustBeAsBefore(outcome, before, since);
        return this.mustBeWhereMeant(command);
      case "stopped":
        if (outcome.result === "untouched" && !sameNumbers(prior, before)) {
          this.blame("something was begun, and is said to be untouched");
        }
        return;
      case "broke":
        if (expectedCodes.has(outcome.error.code)) return;
        if (command !== undefined && this.isDowngrade(outcome, command.wanted)) return;
        if (command?.verb === "rollback" && isUnsupported(outcome)) return;
        // A step of keys has to be where nothing else is under way, and not past what still stands.
        if (command?.verb === "rotate" && rotationRefusals.has(outcome.error.code)) return;
        this.blame(`a command broke: ${outcomeText(outcome)}`);
        return;
      case "killed":
        return;
    }
  }

  /** Law 22: a command that has got to its end has started whatever a change has stopped. */
  private mustHaveStarted(): void {
    const { cloud, prior } = this.engine;
    const kept = new Set(prior.revision?.target.machines.map(({ host }) => host));
    const stopped = this.engine.hosts().filter(({ id }) => cloud.halfChanged.has(id));
    for (const { who } of stopped.filter((one) => kept.has(keyOf(one.who)))) {
      this.breaches.push(`law 22: half-changed: ${who.name} is left stopped`);
    }
  }

  /** Law 15: hosts that stand trust what they were made with. */
  private mustHaveKeys(before: PriorState): void {
    const [old, now] = [before.transaction, this.engine.prior.transaction];
    if (old === undefined || now?.clusterUid !== old.clusterUid) return;
    const nameOf = (keys: ClusterKeys | undefined) =>
      keys?.ca.certificatePem.split("\n", 1)[0] ?? "no keys";
    for (const [number, keys] of Object.entries(old.keys ?? {})) {
      const has = now.keys?.[Number(number)];
      const isDropped = has === undefined && Object.keys(now.keys ?? {}).length > 0;
      if (isDropped || nameOf(has) === nameOf(keys)) continue;
      this.breaches.push(`law 15: ${nameOf(keys)} became ${nameOf(has)}`);
    }
  }

  /** Whether a command has changed the cloud; what a dead one has asked for may come late. */
  private hasChangedSince(since: number): boolean {
    return this.engine.calls.slice(since).some(({ isLate }) => isLate !== true);
  }

  /** Law 10, of a rollback that says that it has got to its end; one that failed is still to get there. */
  private mustBeWhereMeant(command: Run | undefined): void {
    const { prior } = this.engine;
    const isRollback = prior.transaction?.goal.kind !== "takeBack" || prior.revision === undefined;
    if (command?.verb !== "rollback" || this.rollbackGoal === undefined) return;
    const reached = prior.revision === undefined ? "" : textOf(prior.revision.target.objects);
    if (reached === this.rollbackGoal) return;
    if (!isRollback && this.engine.hasFailedForward) return;
    this.breaches.push("law 10: rollback led elsewhere than when it was first typed");
  }

  /** What a rollback says that it has achieved. */
  private mustBeAsBefore(
    { to }: Extract<CommandOutcome, { kind: "rolledBack" }>,
    before: PriorState,
    since: number,
  ): void {
    const { engine } = this;
    switch (to) {
      case "revision":
        this.mustBe({
          ...(before.revision !== undefined && {
            objects: textOf(before.revision.target.objects),
            content: before.revision.target,
          }),
          left: this.drifted,
        });
        for (const host of hostsNotServing(engine, before)) {
          this.blame(`all was rolled back, and ${host}, which was made for that, does not serve`);
        }
        for (const id of this.before.crossings().crossed) {
          // What died on the other side is nothing that could be taken back.
          if (engine.cloud.get(id)?.phase === "gone") continue;
          this.breaches.push(
            `law 11: ${id} is past its point of no return, and all was rolled back`,
          );
        }
        for (const key of this.before.crossings().takenBack) {
          this.breaches.push(`law 11: ${key} was taken back from beyond its point of no return`);
        }
        return;
      case "nothing":
        return this.mustBeNothing();
      case "unrecorded":
        if (this.hasChangedSince(since)) this.blame("an adoption taken back changed the cloud");
        if (engine.prior.resources.length > 0) this.blame("a record is left of an adoption");
        return;
    }
  }

  private mustBeNothing(): void {
    for (const { id } of this.engine.alive())
      this.blame(`${id} is left, of a cluster that is gone`);
    if (this.engine.prior.resources.length > 0)
      this.blame("a record is left of a cluster that is gone");
  }

  private mustBe(wanted: Expected): void {
    for (const wrong of notReached(this.engine, wanted)) this.blame(wrong);
  }

  private blame(what: string): void {
    this.breaches.push(`law 3: ${what}`);
  }
}

/**
 * Those that the revision did not have before, and that the cloud made without refusing them later. What the command itself
 * has adopted is as it was found.
 */
function hostsNotServing({ prior, cloud }: FakeEngine, before: PriorState): string[] {
  if (before.revision === undefined) return [];
  const had = new Set(before.revision.target.machines.map(({ host }) => host));
  const recorded = new Map(prior.resources.map(({ key, id = "" }) => [key, id]));
  const made = prior.revision?.target.machines.filter(({ host }) => !had.has(host)) ?? [];
  return made.flatMap(({ host }) => {
    const id = recorded.get(host) ?? "";
    const isServing = cloud.get(id)?.phase === "ready" || cloud.hasRejected(id);
    return isServing ? [] : [host];
  });
}

/** A command that has nothing to take back, or must not any more. */
function isRefusal(outcome: CommandOutcome): boolean {
  return outcome.kind === "broke" && outcome.error.code === "NOT_REVERSIBLE";
}

function isUnsupported(outcome: CommandOutcome): boolean {
  return outcome.kind === "broke" && outcome.error.code === "UNSUPPORTED_CHANGE";
}

function objectsOf(wanted: WantedCluster): string {
  const { cluster, machineDeployments, machineSets, machines } = desiredCluster(wanted);
  return textOf([cluster, ...machineDeployments, ...machineSets, ...machines]);
}

function sameNumbers(left: PriorState, right: PriorState): boolean {
  return (
    left.transaction?.number === right.transaction?.number &&
    left.revision?.number === right.revision?.number
  );
}
