import type { Command } from "../scenario/command.js";
import type { CloudRow } from "../scenario/ledger-judge.js";
import { neighbourChanges } from "../scenario/neighbours.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { type Announcement, announcementIn } from "./announcement.js";
import { type Course, lawProblems, type Typed } from "./laws.js";

const commandDeadlineMs = 90_000;

/** Waits for a command's end; one that takes too long is killed and answers undefined. */
export async function exitCodeOf(command: Command): Promise<number | null | undefined> {
  try {
    await until("the command ends", () => command.hasEnded, commandDeadlineMs);
  } catch {
    await command.killTree();
    return undefined;
  }
  return (await command.finished).code;
}

/** A command line, and where it leads. */
export interface Words {
  readonly words: string;
  readonly leads: Typed["leads"];
  start(sandbox: Sandbox): Command;
  /** Asks for the plan that the command itself does not tell. */
  ask?(sandbox: Sandbox): Command;
}

/** How a command ended by itself; no code when it did not end. */
export interface Ended {
  readonly code: number | null | undefined;
  readonly said: string;
  /** How many changes it asked the cloud for. */
  readonly changes: number;
  /** The last entry of the ledger before it; what it asked beforehand for its plan does not count. */
  readonly from: number;
}

/** A sandbox at one point: what was there when the point began, and what was typed since. */
export class Scene {
  private constructor(
    readonly sandbox: Sandbox,
    readonly stack: string,
    /** Every row of the cloud when the point began. */
    readonly before: readonly CloudRow[],
    private readonly typed: Typed[],
  ) {}

  /** A point that begins from a copy of a baseline. */
  static from(baseline: Sandbox, stack: string): Scene {
    const sandbox = baseline.copy();
    return new Scene(sandbox, stack, sandbox.rows(), []);
  }

  /** A point that begins in a sandbox that is somebody else's to close. */
  static in(sandbox: Sandbox, stack: string): Scene {
    return new Scene(sandbox, stack, sandbox.rows(), []);
  }

  /** Another one that goes on from here. Nothing may run in this one. */
  copy(): Scene {
    return new Scene(this.sandbox.copy(), this.stack, this.before, [...this.typed]);
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

  /** What a command that does not tell its plan is about to do. */
  async ask({ ask }: Words): Promise<string> {
    if (ask === undefined) return "";
    const command = ask(this.sandbox);
    await exitCodeOf(command);
    return `${command.said}\n`;
  }

  /** Writes down what a command said and did since an entry of the ledger. */
  note(
    { words, leads }: Pick<Words, "words" | "leads">,
    { from, said }: { readonly from: number; readonly said: string },
  ): void {
    const announcement: Announcement = announcementIn(said);
    this.typed.push({ words, leads, from, to: this.sandbox.ledgerEnd(), ...announcement });
  }

  /** Namespace and name of the cluster. */
  get cluster(): string {
    return this.stack.replace(".", "/");
  }

  get course(): Course {
    const members = [...this.before, ...this.sandbox.rows()].filter(isMember);
    return {
      cluster: this.cluster,
      ledger: this.sandbox.ledger(),
      members: new Set(members.map(({ id }) => id)),
      typed: this.typed,
    };
  }

  /** Alive and of this cluster: now, or when the point began. */
  alive(rows: readonly CloudRow[] = this.sandbox.rows()): CloudRow[] {
    return rows.filter(({ cluster, state }) => cluster === this.cluster && state !== "terminated");
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
    const { course, before, cluster } = this;
    const begin = course.typed[0]?.from ?? 0;
    const since = course.ledger.filter(({ seq }) => seq > begin);
    const rows = { before, after: this.sandbox.rows() };
    return [...lawProblems(course), ...neighbourChanges(cluster, since, rows)];
  }

  close(): Promise<void> {
    return this.sandbox.close();
  }
}

function isMember({ kind, spec }: CloudRow): boolean {
  return kind === "LocalHost" && "controlPlane" in spec;
}
