import type { Command } from "../scenario/command.js";
import type { CloudRow } from "../scenario/ledger-judge.js";
import { neighbourChanges, plantNamesakes } from "../scenario/neighbours.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { clearFaults } from "../scenario/cloud-faults.js";
import { type Announcement, announcementIn } from "./announcement.js";
import { type Boundary, callBoundaries, startUpTo } from "./boundary.js";
import { type ChaosFault, isSpoiling, killAt, letGoOn, spoilAt } from "./chaos-fault.js";
import { type Course, lawProblems, type Typed } from "./laws.js";
import type { Place } from "./place.js";
import type { Picker } from "./random.js";
import {
  type Aim,
  type Ended,
  exitCodeOf,
  type Injected,
  type Scene,
  type Words,
} from "./scene.js";
import { readObjects, setBoundsOf } from "./targets.js";
import { judgePlace, type PlaceVerdict } from "./verdict.js";

/** A sandbox whose cloud is the local one. */
export class LocalScene implements Scene {
  private constructor(
    readonly sandbox: Sandbox,
    readonly stack: string,
    /** Every row of the cloud when the point began. */
    readonly before: readonly CloudRow[],
    private readonly typed: Typed[],
    /** Ids of what carries the cluster's name and is not its own. */
    private readonly namesakes: ReadonlySet<string>,
  ) {}

  /** A point that begins from a copy of a baseline. */
  static from(baseline: Sandbox, stack: string, who: "namesakes" | "nobody" = "nobody") {
    const sandbox = baseline.copy();
    const cluster = clusterOf(stack);
    const namesakes = who === "namesakes" ? plantNamesakes(sandbox, cluster) : new Set<string>();
    return new LocalScene(sandbox, stack, sandbox.rows(), [], namesakes);
  }

  /** A point that begins in a sandbox that is somebody else's to close. */
  static in(sandbox: Sandbox, stack: string): LocalScene {
    return new LocalScene(sandbox, stack, sandbox.rows(), [], new Set());
  }

  /** Another one that goes on from here. Nothing may run in this one. */
  copy(): Promise<LocalScene> {
    const { stack, before, typed, namesakes } = this;
    const sandbox = this.sandbox.copy();
    return Promise.resolve(new LocalScene(sandbox, stack, before, [...typed], namesakes));
  }

  /** Runs a command to its end. */
  async run(words: Words): Promise<Ended> {
    const from = this.sandbox.ledgerEnd();
    const asked = await this.ask(words);
    const begin = this.sandbox.ledgerEnd();
    const command = words.start(this.sandbox);
    const code = await exitCodeOf(command);
    this.note(words, { from, said: asked + command.said });
    const changes = this.sandbox.mutations(from).length;
    return { code, said: command.said, changes, from: begin };
  }

  async inject(aim: Aim, words: Words): Promise<Injected> {
    const { operation, boundary, fault } = aim;
    const { sandbox } = this;
    const from = sandbox.ledgerEnd();
    const asked = await this.ask(words);
    if (isSpoiling(fault)) {
      const { code, said } = await spoilAt(sandbox, operation, boundary, fault);
      this.note(words, { from, said: asked + said });
      return { kind: "ended", code, said };
    }
    const command = await killAt(sandbox, operation, boundary, fault);
    this.note(words, { from, said: asked + command.said });
    return { kind: "killed", command };
  }

  /** Finds out on a copy which boundaries a command passes, and kills it at one of them. */
  async killSomewhere(words: Words, pick: Picker): Promise<Boundary | undefined> {
    const { sandbox } = this;
    const trial = sandbox.copy();
    try {
      const begin = trial.ledgerEnd();
      await exitCodeOf(words.start(trial));
      const boundary = pick(callBoundaries(trial.ledger(begin)));
      if (boundary === undefined) return undefined;
      const from = sandbox.ledgerEnd();
      const command = await startUpTo(sandbox, boundary, () => words.start(sandbox));
      await command.killTree();
      clearFaults(sandbox.cloudFile);
      this.note(words, { from, said: command.said });
      return boundary;
    } finally {
      await trial.close();
    }
  }

  letGoOn(fault: ChaosFault, killed: Command): Promise<void> {
    return letGoOn(this.sandbox, fault, killed);
  }

  judge(place: Place): Promise<PlaceVerdict> {
    return judgePlace(this, place);
  }

  /** What a command that does not tell its plan is about to do. */
  private async ask({ ask }: Words): Promise<string> {
    if (ask === undefined) return "";
    const command = ask(this.sandbox);
    await exitCodeOf(command);
    return `${command.said}\n`;
  }

  /** Writes down what a command said and did since an entry of the ledger. */
  private note(
    { words, leads, inline }: Pick<Words, "words" | "leads" | "inline">,
    { from, said }: { readonly from: number; readonly said: string },
  ): void {
    const announcement: Announcement = announcementIn(said);
    const how = inline === true ? { inline } : {};
    this.typed.push({ words, leads, ...how, from, to: this.sandbox.ledgerEnd(), ...announcement });
  }

  /** Namespace and name of the cluster. */
  get cluster(): string {
    return clusterOf(this.stack);
  }

  get course(): Course {
    const members = [...this.before, ...this.sandbox.rows()].filter(isMember);
    return {
      cluster: this.cluster,
      hostKind,
      ledger: this.sandbox.ledger(),
      members: new Set(members.map(({ id }) => id)),
      sets: setBoundsOf(readObjects(this.sandbox.manifests)),
      typed: this.typed,
    };
  }

  /** Whatever the cluster ever had: now, or when the point began. */
  own(rows: readonly CloudRow[] = this.sandbox.rows()): CloudRow[] {
    return rows.filter(({ cluster, id }) => cluster === this.cluster && !this.namesakes.has(id));
  }

  /** What is alive of it. */
  alive(rows?: readonly CloudRow[]): CloudRow[] {
    return this.own(rows).filter(({ state }) => state !== "terminated");
  }

  /** Whether so many members of the control plane are gone that the others are no majority. */
  get hasLostQuorum(): boolean {
    const before = this.alive(this.before).filter(isMember);
    const ids = new Set(before.map(({ id }) => id));
    const left = this.alive().filter(({ id }) => ids.has(id)).length;
    return left < Math.floor(before.length / 2) + 1;
  }

  /** Everything in the ledger that should not be there. */
  lawProblems(): string[] {
    const { course, before, cluster, namesakes } = this;
    const begin = course.typed[0]?.from ?? 0;
    const since = course.ledger.filter(({ seq }) => seq > begin);
    const rows = { before, after: this.sandbox.rows(), namesakes };
    return [...lawProblems(course), ...neighbourChanges(cluster, since, rows)];
  }

  close(): Promise<void> {
    return this.sandbox.close();
  }
}

const hostKind = "LocalHost";

/** Namespace and name of the cluster that a stack is of. */
function clusterOf(stack: string): string {
  return stack.replace(".", "/");
}

function isMember({ kind, spec }: CloudRow): boolean {
  return kind === hostKind && "controlPlane" in spec;
}
