import type { Command } from "../scenario/command.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import type { Boundary } from "./boundary.js";
import type { ChaosFault } from "./chaos-fault.js";
import type { Course, Typed } from "./laws.js";
import type { Operation } from "./operation.js";
import { patient } from "./patience.js";
import type { Place } from "./place.js";
import type { Picker } from "./random.js";
import type { PlaceVerdict } from "./verdict.js";

const commandDeadlineMs = 180_000;

/** Waits for a command's end; one that takes too long is killed and answers undefined. */
export async function exitCodeOf(
  command: Command,
  deadlineMs = commandDeadlineMs,
): Promise<number | null | undefined> {
  try {
    await until("the command ends", () => command.hasEnded, patient(deadlineMs));
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
  readonly inline?: true;
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

/** One operation, with a fault at one boundary. */
export interface Aim {
  readonly operation: Operation;
  readonly boundary: Boundary;
  readonly fault: ChaosFault;
}

/** What a fault left: a command that was killed, or one that came to its end. */
export type Injected =
  | { readonly kind: "killed"; readonly command: Command }
  | { readonly kind: "ended"; readonly code: number | null | undefined; readonly said: string };

/** A sandbox and its cloud at one point: what was there when the point began, and what was typed since. */
export interface Scene {
  readonly sandbox: Sandbox;
  readonly stack: string;
  readonly course: Course;
  /** Whether so many members of the control plane are gone that the others are no majority. */
  readonly hasLostQuorum: boolean;
  /** Runs a command to its end. */
  run(words: Words): Promise<Ended>;
  /** Runs the operation's words into a fault. Throws where they never come to the boundary. */
  inject(aim: Aim, words: Words): Promise<Injected>;
  /** Kills a command at one of the boundaries that it passes; undefined where it passes none. */
  killSomewhere(words: Words, pick: Picker): Promise<Boundary | undefined>;
  /** Lets what was stopped or late go on after the recovery, and waits until it has. */
  letGoOn(fault: ChaosFault, killed: Command): Promise<void>;
  /** Holds cloud, state and a place against each other. */
  judge(place: Place): Promise<PlaceVerdict>;
  /** Everything in the ledger that should not be there. */
  lawProblems(): string[];
  /** Another one that goes on from here. Nothing may run in this one. */
  copy(): Promise<Scene>;
  close(): Promise<void>;
}
