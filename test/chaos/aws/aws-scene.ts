import assert from "node:assert/strict";
import type { Command } from "../../scenario/command.js";
import { killAll } from "../../scenario/process-tree.js";
import { type Deployment, nothingWrong } from "../../scenario/ledger-judge.js";
import type { Sandbox } from "../../scenario/sandbox.js";
import { announcementIn } from "../announcement.js";
import { type Boundary, BoundaryMissed } from "../boundary.js";
import { type ChaosFault, isSpoiling } from "../chaos-fault.js";
import { type Course, lawProblems, type Typed } from "../laws.js";
import { type Operation, startUp } from "../operation.js";
import type { Place } from "../place.js";
import type { Picker } from "../random.js";
import {
  type Aim,
  type Ended,
  exitCodeOf,
  type Injected,
  type Scene,
  type Words,
} from "../scene.js";
import { stuckWith, type PlaceVerdict } from "../verdict.js";
import { type AccountTables, type AccountCall, marksOf } from "./account.js";
import { linesOf } from "./account-text.js";
import { awsBoundaries, breakingEffect, spoilingEffect, startHeldAt } from "./aws-boundary.js";
import { judgeAccount, judgeAccountWanted } from "./aws-judge.js";
import { instancesOf, isMember, judgeHosts } from "./hosts-judge.js";
import { crowdedMachines, enrolled, ledgerRowsOf, type MarkRoster } from "./aws-laws.js";
import type { Simulator, SimulatorSnapshot } from "./simulator.js";

const hostKind = "AwsInstance";

/** A destroy alone waits for half a minute, and a recovery for calls that may still be carried out. */
const deadlineMs = 240_000;

/** Long enough for all that ends by itself to have ended, in the simulator's own time. */
const settledMs = 2 * 3_600_000;

/** A sandbox, the account as it was then, and what was called until then. */
export interface Saved {
  readonly sandbox: Sandbox;
  readonly snapshot: SimulatorSnapshot;
  readonly calls: readonly AccountCall[];
}

/** What is the same for all points that one simulator plays. */
export interface Ground {
  readonly simulator: Simulator;
  readonly stack: string;
  /** How many hosts a machine may have at a time: one, or two where hosts take the place of others. */
  readonly hostsOfMachine: 1 | 2;
  /** The account before anything was made in it. */
  readonly surroundings: AccountTables;
}

/** A sandbox whose cloud is a simulated AWS. Of all scenes of one simulator only the latest may be played. */
export class AwsScene implements Scene {
  private calls: readonly AccountCall[];
  private account: AccountTables;
  private roster: MarkRoster = new Map();
  private left: SimulatorSnapshot | undefined;

  private constructor(
    readonly sandbox: Sandbox,
    private readonly ground: Ground,
    private readonly before: AccountTables,
    private readonly typed: Typed[],
    private seen: { readonly seq: number; readonly calls: readonly AccountCall[] },
    private readonly ends: () => void,
  ) {
    this.calls = seen.calls;
    this.account = before;
    this.roster = enrolled(new Map(), before, this.calls);
  }

  /** A point that begins where something was saved. */
  static async from(ground: Ground, saved: Saved, ends: () => void = () => {}): Promise<AwsScene> {
    const { simulator } = ground;
    await simulator.restore(saved.snapshot);
    const seen = { seq: await simulator.ledgerEnd(), calls: saved.calls };
    const account = await simulator.account();
    return new AwsScene(saved.sandbox.copy(), ground, account, [], seen, ends);
  }

  get stack(): string {
    return this.ground.stack;
  }

  /** Namespace and name of the cluster. */
  get cluster(): string {
    return this.stack.replace(".", "/");
  }

  /** Where this one is now, to be gone on with. Nothing may run in it. */
  async save(): Promise<Saved> {
    await this.refresh();
    const { sandbox, calls } = this;
    return { sandbox, calls, snapshot: await this.ground.simulator.snapshot() };
  }

  async copy(): Promise<AwsScene> {
    const { simulator } = this.ground;
    this.left ??= await simulator.snapshot();
    await simulator.restore(this.left);
    const seen = { seq: await simulator.ledgerEnd(), calls: this.calls };
    const copy = this.sandbox.copy();
    const scene = new AwsScene(copy, this.ground, this.before, [...this.typed], seen, () => {});
    await scene.refresh();
    return scene;
  }

  async close(): Promise<void> {
    await this.sandbox.close();
    this.ends();
  }

  async run(words: Words): Promise<Ended> {
    const from = this.seen.seq;
    const command = words.start(this.sandbox);
    const code = await exitCodeOf(command, deadlineMs);
    await this.note(words, from, command.said);
    const changes = this.calls.filter(
      ({ seq, isMutating, outcome }) => seq > from && isMutating && outcome?.changes.length !== 0,
    );
    return { code, said: command.said, changes: changes.length, from };
  }

  /** Sets what makes the operation itself fail, if anything does, until faults are cleared. */
  async prepare(operation: Operation): Promise<void> {
    if (operation.breaks !== undefined) {
      await this.ground.simulator.order(breakingEffect(operation));
    }
  }

  /** Nothing more is to go wrong. */
  clearFaults(): Promise<void> {
    return this.ground.simulator.clearFaults();
  }

  /** The boundaries of what was called since a number of the ledger. */
  boundaries(from: number): Boundary[] {
    return awsBoundaries(this.calls.filter(({ seq }) => seq > from));
  }

  async inject({ operation, boundary, fault }: Aim, words: Words): Promise<Injected> {
    const from = this.seen.seq;
    const { simulator } = this.ground;
    await this.prepare(operation);
    if (isSpoiling(fault)) {
      const command = await this.spoil(boundary, fault, words);
      const code = await exitCodeOf(command, deadlineMs);
      await simulator.clearFaults();
      await this.note(words, from, command.said);
      const isHit = this.calls.some(({ seq, faults }) => seq > from && faults.length > 0);
      if (!isHit) throw new BoundaryMissed(boundary, command.said);
      return { kind: "ended", code, said: command.said };
    }
    const { command } = await startHeldAt(simulator, boundary, () => words.start(this.sandbox));
    if (fault === "rival") await this.meetRival(operation.third, command);
    if (fault === "cli") {
      command.signal("SIGKILL");
      await command.finished;
    } else await command.killTree();
    await simulator.clearFaults();
    await simulator.release(boundary.side === "before" ? "cut" : "go");
    await this.note(words, from, command.said);
    return { kind: "killed", command };
  }

  /** Starts a command one of whose calls, or whose engine, is spoiled. */
  private async spoil(boundary: Boundary, fault: ChaosFault, words: Words): Promise<Command> {
    const { simulator } = this.ground;
    if (fault !== "engine") {
      await simulator.order(spoilingEffect(fault, boundary));
      return words.start(this.sandbox);
    }
    const { command } = await startHeldAt(simulator, boundary, () => words.start(this.sandbox));
    killAll(command.descendants);
    await simulator.clearFaults();
    await simulator.release("go");
    return command;
  }

  /** Whoever comes while another one lives is refused. The first one goes on but for the call that is held. */
  private async meetRival(third: Parameters<typeof startUp>[1], first: Command): Promise<void> {
    const rival = startUp(this.sandbox, third);
    const code = await exitCodeOf(rival, deadlineMs);
    assert.equal(
      code,
      5,
      `a second command while the first one lives exits with ${code}: ${rival.said}`,
    );
    assert.equal(first.hasEnded, false, "the first one lives on");
  }

  /** Finds out which boundaries a command passes, goes back, and kills it at one of them. */
  async killSomewhere(words: Words, pick: Picker): Promise<Boundary | undefined> {
    this.left ??= await this.ground.simulator.snapshot();
    const trial = await this.copy();
    const from = trial.seen.seq;
    await trial.run(words);
    const boundary = pick(trial.boundaries(from));
    await trial.close();
    await this.ground.simulator.restore(this.left);
    this.seen = { ...this.seen, seq: await this.ground.simulator.ledgerEnd() };
    if (boundary === undefined) return undefined;
    const { command } = await startHeldAt(this.ground.simulator, boundary, () =>
      words.start(this.sandbox),
    );
    await command.killTree();
    await this.ground.simulator.clearFaults();
    await this.ground.simulator.release(boundary.side === "before" ? "cut" : "go");
    await this.note(words, this.seen.seq, command.said);
    return boundary;
  }

  letGoOn(): Promise<void> {
    return Promise.resolve();
  }

  async judge(place: Place): Promise<PlaceVerdict> {
    await this.ground.simulator.advance(settledMs);
    await this.refresh();
    const { account, cluster } = this;
    const deployment = await this.sandbox.deployment(this.stack);
    const { surroundings } = this.ground;
    const judgement = judgeAccount({ surroundings, account, deployment, cluster });
    const verdict = { ...judgement, unwanted: [], stuck: [], laws: [] };
    switch (place.kind) {
      case "manifests": {
        const unwanted = judgeAccountWanted(account, cluster, place.objects);
        const hosts = judgeHosts(account, cluster, await this.ground.simulator.hosts.now());
        return { ...verdict, unwanted: [...unwanted, ...hosts] };
      }
      case "nothing":
        return { ...verdict, unwanted: judgeAccountWanted(account, cluster, undefined) };
      case "found": {
        // Where the state is lost, nothing is recorded of what was found.
        const { duplicates } = judgement;
        const lost = isEmpty(deployment) ? { ...nothingWrong, duplicates } : {};
        return { ...verdict, ...lost, unwanted: this.unlikeBefore() };
      }
      case "open":
        return { ...stuckWith(), duplicates: judgement.duplicates };
    }
  }

  private unlikeBefore(): string[] {
    const [was, is] = [linesOf(this.before, this.cluster), linesOf(this.account, this.cluster)];
    return [
      ...was.filter((line) => !is.includes(line)).map((line) => `${line} was found and is gone`),
      ...is.filter((line) => !was.includes(line)).map((line) => `${line} was not found there`),
    ];
  }

  get course(): Course {
    const members = [...this.roster]
      .filter(([id, { name }]) => id.startsWith("i-") && isMember(name))
      .map(([id]) => id);
    const ledger = ledgerRowsOf(this.calls, this.roster);
    const { cluster, typed } = this;
    return { cluster, hostKind, ledger, members: new Set(members), sets: [], typed };
  }

  get hasLostQuorum(): boolean {
    const before = new Set(this.members(this.before));
    const left = this.members(this.account).filter((id) => before.has(id)).length;
    return left < Math.floor(before.size / 2) + 1 && before.size > 0;
  }

  /** Ids of the instances of the cluster's control plane. */
  private members(account: AccountTables): string[] {
    return instancesOf(account, this.cluster)
      .filter((row) => isMember(marksOf(row).name))
      .map(({ id }) => id);
  }

  lawProblems(): string[] {
    const { course, cluster } = this;
    return [
      ...lawProblems(course),
      ...crowdedMachines(course.ledger, cluster, this.ground.hostsOfMachine),
    ];
  }

  private async note({ words, leads }: Words, from: number, said: string): Promise<void> {
    await this.refresh();
    this.typed.push({ words, leads, from, to: this.seen.seq, ...announcementIn(said) });
  }

  /** Reads what was called, and what there is. */
  private async refresh(): Promise<void> {
    const { simulator } = this.ground;
    const calls = await simulator.ledger(this.seen.seq);
    this.calls = [...this.calls, ...calls];
    this.seen = { ...this.seen, seq: calls.at(-1)?.seq ?? this.seen.seq };
    this.account = await simulator.account();
    this.roster = enrolled(this.roster, this.account, calls);
  }
}

function isEmpty({ resources = [] }: Deployment): boolean {
  return !resources.some(({ type }) => type.includes("capstan:Aws"));
}
