import { lastWords } from "./announcement.js";
import { type ExpectedEnding, endingsOf, revisionAsked } from "./expectation.js";
import { type Operation, startDestroy, startPlainUp, startRollback, startUp } from "./operation.js";
import { type Place, placeOf, placeText } from "./place.js";
import { type OperationProgress, progressOf } from "./progress.js";
import { type Ended, exitCodeOf, type Scene, type Words } from "./scene.js";
import { requestVerbs, type RequestVerb } from "./request-verbs.js";
import { type ChaosTarget, writeTarget } from "./targets.js";
import { stuckWith, type PlaceVerdict, verdictProblems } from "./verdict.js";

/**
 * What people type next: the same words; `up` with the manifests of where it went, of before, or with
 * others; rollback, rollback --to; destroy; up --adopt after the state was lost; a plain `pulumi up`. Requests that change
 * records and ownership tags alone are in records-request.ts.
 */
export const recoveries = [
  "same",
  "up",
  "old",
  "third",
  "rollback",
  "rollbackTo",
  "destroy",
  "adopt",
  "plain",
  ...requestVerbs,
] as const;
export type NextCommand = (typeof recoveries)[number];

/** Commands whose words an operation alone says. */
type PlainCommand = Exclude<NextCommand, RequestVerb>;

/** Those that are tried unless others are asked for. */
export const usualRecoveries: readonly NextCommand[] = ["same", "old", "third", "rollback"];

/** Where a run or a recovery ended, and what is wrong there. */
export interface Recovered {
  /** undefined: nowhere that it may end. */
  readonly place: Place | undefined;
  readonly verdict: PlaceVerdict;
}

/** Whether a command has a meaning after an operation, and is not another one's words again. */
export function isPossible(recovery: NextCommand, operation: Operation): boolean {
  const { verb, baseline, revisions, target } = operation;
  switch (recovery) {
    case "same":
    case "old":
    case "third":
    case "adopt":
    case "forget":
    case "forgetAmiss":
    case "import":
      return true;
    case "up":
      return verb !== "up" && target !== undefined;
    case "rollback":
    case "destroy":
      return verb !== recovery;
    case "rollbackTo":
      return revisions.length > 0 || verb === "adopt";
    case "plain":
      return verb !== "plain" && baseline !== "nothing";
  }
}

/** What is typed for it. */
export function wordsOf(operation: Operation, recovery: PlainCommand, stack: string): Words {
  const { name, previous, third, target } = operation;
  const up = (words: string, to: ChaosTarget, ...args: string[]): Words => ({
    words,
    leads: "forward",
    start: (sandbox) =>
      to === undefined ? startDestroy(sandbox, stack) : startUp(sandbox, to, ...args),
    ...(to === undefined && { leads: "away" }),
  });
  switch (recovery) {
    case "same":
      return wordsOfOperation(operation, stack);
    case "up":
      return up(`up after ${name}`, target);
    case "old":
      return up("up with the old manifests", previous);
    case "third":
      return up("up with other manifests", third);
    case "adopt":
      return up("up --adopt", target ?? previous, "--adopt");
    case "rollback": {
      const start: Words["start"] = (sandbox) => startRollback(sandbox, stack);
      return { words: "rollback", leads: "back", start };
    }
    case "rollbackTo": {
      const number = String(revisionAsked(operation));
      const start: Words["start"] = (sandbox) => startRollback(sandbox, stack, "--to", number);
      return { words: `rollback --to ${number}`, leads: "forward", start };
    }
    case "destroy":
      return { words: "destroy", leads: "away", start: (sandbox) => startDestroy(sandbox, stack) };
    case "plain":
      return plainWords(stack, target ?? previous ?? third);
  }
}

/** The words that meet the fault. */
export function wordsOfOperation(operation: Operation, stack: string): Words {
  const { name, verb, target } = operation;
  if (verb === "plain" && target !== undefined) return plainWords(stack, target);
  const leads = verb === "destroy" ? "away" : "forward";
  return { words: name, leads, start: (sandbox) => operation.start(sandbox) };
}

function plainWords(stack: string, to: NonNullable<ChaosTarget>): Words {
  return {
    words: "pulumi up",
    leads: "forward",
    inline: true,
    start: (sandbox) => startPlainUp(sandbox, stack, to),
    ask: (sandbox) => {
      writeTarget(sandbox.manifests, to);
      return sandbox.start("plan", "-f", sandbox.manifests);
    },
  };
}

/** What comes after a crash. */
export interface Comeback {
  readonly operation: Operation;
  readonly recovery: PlainCommand;
  /** The recovery itself was killed once before. */
  readonly isSecond: boolean;
}

/** Runs the command that comes after a crash, and judges what is there then. */
export async function recover(scene: Scene, comeback: Comeback): Promise<Recovered> {
  const { operation, recovery, isSecond } = comeback;
  const { progress, problems } = await progressOf(scene, operation);
  const history = await historyProblems(scene, operation, progress);
  if (recovery === "adopt") scene.sandbox.loseState(scene.stack);
  const words = wordsOf(operation, recovery, scene.stack);
  const ended = await scene.run(leadingAsItIs(words, progress));
  const endings = endingsAfter(operation, recovery, { progress, isSecond });
  const recovered = await judgeEnding(scene, operation, { ended, endings, words: words.words });
  const laws = [...problems, ...history, ...scene.lawProblems()];
  return { ...recovered, verdict: { ...recovered.verdict, laws } };
}

/** `rollback` of what is not open is a change like any other: its plan says what goes. */
function leadingAsItIs(words: Words, progress: OperationProgress): Words {
  const isOpen = progress === "begun" || progress === "beyond";
  return words.leads === "back" && !isOpen ? { ...words, leads: "forward" } : words;
}

/** A recovery that was killed may have been at its end, or nowhere, when the next one came. */
export function endingsAfter(
  operation: Operation,
  recovery: NextCommand,
  { progress, isSecond }: { readonly progress: OperationProgress; readonly isSecond: boolean },
): readonly ExpectedEnding[] {
  const endings = endingsOf(operation, recovery, progress);
  if (!isSecond || progress === "begun") return endings;
  return [...endings, ...endingsOf(operation, recovery, "begun"), refusedBack(operation)];
}

function refusedBack({ previous }: Operation): ExpectedEnding {
  return { kind: "refuses", codes: [1], at: placeOf("previous", previous) };
}

/** A command that has ended, and how it may. */
interface Judged {
  readonly ended: Ended;
  readonly endings: readonly ExpectedEnding[];
  readonly words: string;
}

/** Judges where a command has ended: at the place of the first ending that fits and holds. */
export async function judgeEnding(
  scene: Scene,
  operation: Operation,
  { ended, endings, words }: Judged,
): Promise<Recovered> {
  const fitting = endings.filter((ending) => fits(ending, ended));
  if (fitting.length === 0) return nowhere(`${words} ${wrongEndText(ended, endings)}`);
  let first: Recovered | undefined;
  for (const ending of fitting) {
    const there = await judgeThere(scene, operation, ending);
    if (there.place !== undefined) return there;
    first ??= there;
  }
  return first ?? nowhere();
}

function fits(ending: ExpectedEnding, { code, changes }: Ended): boolean {
  if (ending.kind === "reaches") return code === 0;
  if (code === undefined || code === null || changes > 0) return false;
  return ending.codes === "any but 0" ? code !== 0 : ending.codes.includes(code);
}

async function judgeThere(
  scene: Scene,
  operation: Operation,
  ending: ExpectedEnding,
): Promise<Recovered> {
  const place = ending.kind === "reaches" ? ending.place : ending.at;
  if (place.kind !== "open") return judgeAt(scene, place);
  // It was refused: then the way forward has to be open.
  return goForward(scene, operation);
}

/** What was begun gets to its target by its own words. */
async function goForward(scene: Scene, operation: Operation): Promise<Recovered> {
  // What a plain `pulumi up` has left open is gone on with by ours.
  const way = operation.verb === "plain" ? "up" : "same";
  const words = wordsOf(operation, way, scene.stack);
  const ended = await scene.run(words);
  const endings = endingsOf(operation, way, "begun");
  return judgeEnding(scene, operation, { ended, endings, words: `then ${words.words}` });
}

/** Typed once more, what is reached already changes nothing. */
export async function judgeRepeated(scene: Scene, operation: Operation): Promise<PlaceVerdict> {
  const words = wordsOfOperation(operation, scene.stack);
  const { code, changes, said } = await scene.run(words);
  const isErased = operation.target === undefined;
  const isRight = changes === 0 && (code === 0 || (isErased && code === 1));
  if (!isRight)
    return stuckWith(
      `${words.words} again ${endText(code)}, ${changes} changes: ${lastWords(said)}`,
    );
  return (await judgeAt(scene, placeOf("target", operation.target))).verdict;
}

/** Judges whether a place is reached in every respect, and whether nothing is left to plan (law 1). */
export async function judgeAt(scene: Scene, place: Place): Promise<Recovered> {
  const { sandbox } = scene;
  const verdict = await scene.judge(place);
  if (verdictProblems(verdict).length > 0) return { place: undefined, verdict };
  if (place.kind !== "manifests") return { place, verdict };
  writeTarget(sandbox.manifests, place.objects);
  const command = sandbox.start("plan", "-f", sandbox.manifests);
  const code = await exitCodeOf(command);
  if (code === 0) return { place, verdict };
  const stuck = [`plan of what was reached ${endText(code)}: ${lastWords(command.said)}`];
  return { place: undefined, verdict: { ...verdict, stuck } };
}

/** Destroys what was reached: whatever happened before, that leaves nothing. */
export async function finalDestroy(
  scene: Scene,
  operation: Operation,
  recovered: Recovered,
): Promise<Recovered> {
  const { sandbox, stack } = scene;
  // Perhaps nothing is recorded of it: then a destroy refuses, and names this way. It may be made to fail, too.
  if (recovered.place?.kind === "found") await scene.run(wordsOf(operation, "adopt", stack));
  const command = startDestroy(sandbox, stack);
  const code = await exitCodeOf(command);
  // Of a cluster whose first command was killed before it noted anything, there is nothing to be found.
  const isNowhere = code === 1 && recovered.place?.kind === "nothing";
  if (code !== 0 && !isNowhere)
    return nowhere(`the last destroy ${endText(code)}: ${lastWords(command.said)}`);
  return { ...recovered, verdict: await scene.judge({ kind: "nothing" }) };
}

/** A destroy keeps its history until nothing is left. */
async function historyProblems(
  { sandbox, stack }: Scene,
  { verb, revisions }: Operation,
  progress: OperationProgress,
): Promise<string[]> {
  if (verb !== "destroy" || progress === "committed") return [];
  const { stdout } = await sandbox.start("history", stack).finished;
  const listed = stdout.split("\n").flatMap(numbersIn);
  return revisions
    .map((_, index) => index + 1)
    .filter((number) => !listed.includes(number))
    .map((number) => `history lists no revision ${number} any more`);
}

function numbersIn(line: string): number[] {
  if (!line.startsWith("{")) return [];
  const { transactions = [] } = JSON.parse(line) as {
    readonly transactions?: readonly { readonly number: number; readonly reach: string }[];
  };
  return transactions.filter(({ reach }) => reach !== "never").map(({ number }) => number);
}

/** A run that has ended where none may end. */
export function nowhere(...stuck: string[]): Recovered {
  return { place: undefined, verdict: stuckWith(...stuck) };
}

function wrongEndText({ code, changes, said }: Ended, endings: readonly ExpectedEnding[]): string {
  return `${endText(code)}, ${changes} changes, and has to ${endings.map(endingText).join(" or ")}: ${lastWords(said)}`;
}

function endingText(ending: ExpectedEnding): string {
  if (ending.kind === "reaches") return `reach ${placeText(ending.place)}`;
  const codes = ending.codes === "any but 0" ? ending.codes : ending.codes.join(" or ");
  return `refuse with ${codes}`;
}

function endText(code: number | null | undefined): string {
  return code === undefined ? "does not end" : `exits with ${code}`;
}
