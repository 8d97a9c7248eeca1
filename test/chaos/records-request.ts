import { isDeepStrictEqual } from "node:util";
import { type CloudRow, machineOf } from "../scenario/ledger-judge.js";
import { plantUntagged } from "../scenario/neighbours.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { type RecordAccident, happen, hostsOf, isMember } from "./accidents.js";
import { announcementIn, hasStep, lastWords } from "./announcement.js";
import type { Boundary } from "./boundary.js";
import type { ExpectedEnding } from "./expectation.js";
import { startUp, type Operation } from "./operation.js";
import { type Place, placeOf } from "./place.js";
import { numbersOf, type OperationProgress, progressOf } from "./progress.js";
import type { Picker } from "./random.js";
import {
  endingsAfter,
  judgeAt,
  judgeEnding,
  nowhere,
  type Recovered,
  wordsOf,
} from "./recovery.js";
import type { RequestVerb } from "./request-verbs.js";
import type { Ended, Scene, Words } from "./scene.js";
import { type ManifestObject, workerOf, writeTarget } from "./targets.js";
import { verdictProblems } from "./verdict.js";

/** A request as it is typed: of which Machine, and about which host. */
interface RecordsRequest {
  readonly verb: RequestVerb;
  readonly machine: string;
  /** The cloud's id of the host that is forgotten or imported. */
  readonly host: string;
  /** The machine of the manifests that such a host is made for. */
  readonly likeMachine: string;
  readonly words: Words;
}

/** A request that is the next command after a kill, and how far the killed operation had come. */
export interface NextRequest extends RecordsRequest {
  readonly operation: Operation;
  readonly progress: OperationProgress;
  /** What is wrong already, whatever the request does. */
  readonly problems: readonly string[];
  readonly pick: PickerFor;
}

/** Picks one of several for a purpose: each purpose has a draw of its own. */
type PickerFor = (purpose: "host" | "accident" | "victim") => Picker;

type Manifests = Extract<Place, { kind: "manifests" }>;

/** The Machine that an import brings; no scenario has one of this name. */
const importedMachine = "imported";

/** Chooses what a request is about, and puts the host into the cloud that an import needs. */
export async function nextRequest(
  scene: Scene,
  { operation, verb, pick }: Pick<NextRequest, "operation" | "verb" | "pick">,
): Promise<NextRequest> {
  const { progress, problems } = await progressOf(scene, operation);
  const [ending] = endingsAfter(operation, verb, { progress, isSecond: false });
  const place = ending?.kind === "reaches" && ending.place.kind === "manifests" && ending.place;
  const { target, previous, third } = operation;
  const about = place
    ? await requestAtRest(scene, verb, { objects: place.objects, pick })
    : await requestMeanwhile(scene, verb, { objects: target ?? previous ?? third, pick });
  return { ...about, operation, progress, problems, pick };
}

interface Choice {
  readonly objects: readonly ManifestObject[];
  readonly pick: PickerFor;
}

/** A request that nothing is in the way of. */
async function requestAtRest(
  scene: Scene,
  verb: RequestVerb,
  { objects, pick }: Choice,
): Promise<RecordsRequest> {
  const { recorded } = await hostsOf(scene);
  const worker = pick("host")(recorded.filter((host) => !isMember(host)));
  if (worker === undefined) throw new Error("every place has a worker that is recorded");
  if (verb === "import") {
    const host = plantUntagged(scene.sandbox, worker.id);
    return importOf(scene, host, { objects, likeMachine: machineOf(worker.name) });
  }
  return forgetOf(scene, verb, worker);
}

/** A request about any host that runs, whether it is recorded or not; without one about none. */
async function requestMeanwhile(
  scene: Scene,
  verb: RequestVerb,
  { objects, pick }: Choice,
): Promise<RecordsRequest> {
  const hosts = await hostsOf(scene);
  const running = [...hosts.recorded, ...hosts.left].filter((host) => !isMember(host));
  const left = hosts.left.filter((host) => !isMember(host));
  const name = `${workerOf(objects).metadata.name}-00000000-1`;
  // What the kill has left in no record is the better try.
  const host = pick("host")(left.length > 0 ? left : running) ?? { id: "host-0", name };
  return verb === "import"
    ? importOf(scene, host.id, { objects, likeMachine: machineOf(host.name) })
    : forgetOf(scene, verb, host);
}

type Named = Pick<CloudRow, "id" | "name">;

function forgetOf({ stack }: Scene, verb: RequestVerb, { id, name }: Named): RecordsRequest {
  const machine = machineOf(name);
  const words = `state forget Machine/${machine}`;
  const typed = ["state", "forget", stack, `Machine/${machine}`, "--yes"];
  // Where there is a single worker, the user agrees to lose that.
  const start = (sandbox: Sandbox) => sandbox.start(...typed, "--allow-removal", "workers");
  const about = { verb, machine, host: id, likeMachine: machine };
  return { ...about, words: { words, leads: "records", start } };
}

/** Manifests, and the machine of theirs that a host is made for. */
interface Likeness {
  readonly objects: readonly ManifestObject[];
  readonly likeMachine: string;
}

function importOf({ stack }: Scene, host: string, likeness: Likeness): RecordsRequest {
  const machine = importedMachine;
  const objects = withImported(likeness);
  const start = (sandbox: Sandbox) => {
    writeTarget(sandbox.manifests, objects);
    const where = ["-f", sandbox.manifests];
    return sandbox.start("import", stack, `Machine/${machine}`, host, "--yes", ...where);
  };
  const words = { words: `import Machine/${machine} ${host}`, leads: "records", start } as const;
  const { likeMachine } = likeness;
  return { verb: "import", machine, host, likeMachine, words };
}

/** With one Machine more: as the object says that the host was made of. */
function withImported({ objects, likeMachine }: Likeness): ManifestObject[] {
  const isOf = (name: string) => likeMachine.startsWith(`${name}-`);
  const owner =
    objects.find(({ kind, metadata }) => kind === "Machine" && metadata.name === likeMachine) ??
    objects.find(({ kind, metadata }) => isSet(kind) && isOf(metadata.name)) ??
    workerOf(objects);
  const { template } = owner.spec as { readonly template?: Pick<ManifestObject, "spec"> };
  const metadata = { ...owner.metadata, name: importedMachine };
  const { apiVersion } = owner as ManifestObject & { readonly apiVersion?: string };
  const imported = { apiVersion, kind: "Machine", metadata, spec: template?.spec ?? owner.spec };
  return [...objects, imported];
}

function isSet(kind: string): boolean {
  return kind === "MachineSet" || kind === "MachineDeployment";
}

/** A recovery, and where its request was killed, if it was. */
interface KilledRecovery extends Recovered {
  readonly second?: Boundary;
}

/**
 * Types the request after a kill. One that is refused has changed nothing; then the killed operation is brought to its end, and the
 * request has to succeed. In the end the next `up` reaches what is wanted, and every host that ran before the request runs on. With `kill` the
 * first of the two requests that asks the cloud for anything is killed and typed once more.
 */
export async function recoverByRequest(
  scene: Scene,
  next: NextRequest,
  kill?: Picker,
): Promise<KilledRecovery> {
  const recovered = await typed(scene, next, kill);
  const laws = [...recovered.verdict.laws, ...next.problems, ...scene.lawProblems()];
  return { ...recovered, verdict: { ...recovered.verdict, laws } };
}

async function typed(scene: Scene, next: NextRequest, kill?: Picker): Promise<KilledRecovery> {
  const { operation, verb, progress, words } = next;
  const second = kill && (await scene.killSomewhere(words, kill));
  const isSecond = second !== undefined;
  const where = second && { second };
  const before = { hosts: hostsAlive(scene), numbers: await numbersOf(scene) };
  const ended = await scene.run(words);
  const endings = endingsAfter(operation, verb, { progress, isSecond });
  const [goal] = endings.flatMap((one) =>
    one.kind === "reaches" && one.place.kind === "manifests" ? [one.place] : [],
  );
  // The killed one may have come to its end.
  const isDoneBefore = isSecond && (await isForgotten(scene, next));
  if (goal !== undefined && (ended.code === 0 || isDoneBefore)) {
    // An adoption that was cut off is finished by the next up, which may replace hosts.
    const staying = operation.verb === "adopt" ? new Set<string>() : before.hosts;
    const reached = await followUp(scene, next, { goal, staying });
    const isWell = verdictProblems(reached.verdict).length === 0;
    return {
      ...(verb === "forgetAmiss" && isWell ? await again(scene, next, goal) : reached),
      ...where,
    };
  }
  const numbers = await numbersOf(scene);
  const isUnchanged = ended.changes === 0 && isDeepStrictEqual(numbers, before.numbers);
  if (!isUnchanged || !endings.some((one) => isRefusedAs(one, ended))) {
    const what = `exits with ${ended.code}, ${ended.changes} changes, transaction ${numbers.transaction}`;
    return nowhere(`${words.words} ${what}: ${lastWords(ended.said)}`);
  }
  const there = await carriedOn(scene, next, isSecond);
  if (there.place?.kind !== "manifests") return { ...there, ...where };
  return { ...(await again(scene, next, there.place, isSecond ? undefined : kill)), ...where };
}

function isRefusedAs(ending: ExpectedEnding, { code }: Ended): boolean {
  if (ending.kind === "reaches" || code === 0) return false;
  return ending.codes === "any but 0" || (typeof code === "number" && ending.codes.includes(code));
}

/** Brings what the request was refused for to its end; of a destroy nothing would be left to ask about, so that goes back. */
async function carriedOn(
  scene: Scene,
  { operation, progress }: NextRequest,
  isSecond: boolean,
): Promise<Recovered> {
  const { verb } = operation;
  const isDestroyed = verb === "destroy" && progress === "committed";
  if (isDestroyed) return judgeAt(scene, { kind: "nothing" });
  const isOpenDestroy = verb === "destroy" && progress === "begun";
  const way = isOpenDestroy ? "rollback" : verb === "plain" ? "up" : "same";
  const words = wordsOf(operation, way, scene.stack);
  const ended = await scene.run(words);
  const endings = endingsAfter(operation, way, { progress, isSecond });
  return judgeEnding(scene, operation, { ended, endings, words: `then ${words.words}` });
}

const amiss: Readonly<Record<RequestVerb, readonly (RecordAccident | undefined)[]>> = {
  forget: [undefined],
  forgetAmiss: ["recordedDrift", "lostRecord", "deadHost"],
  import: [undefined, "recordedDrift", "lostRecord"],
};

/** The request where nothing is open, after an accident if it comes after one. */
async function again(
  scene: Scene,
  { verb, pick }: NextRequest,
  goal: Manifests,
  kill?: Picker,
): Promise<KilledRecovery> {
  const about = await requestAtRest(scene, verb, { objects: goal.objects, pick });
  const accident = pick("accident")(amiss[verb]);
  let { words } = about;
  if (accident !== undefined) {
    const { recorded } = await hostsOf(scene);
    const isAbout = ({ id }: CloudRow) => id === about.host;
    const meets = pick("victim")(
      recorded.filter((host) => isAbout(host) === (accident === "deadHost")),
    );
    if (meets === undefined) throw new Error(`${accident} meets a host that is recorded`);
    await happen(scene, accident, meets);
    words = { ...words, words: `${words.words} after ${accident} of ${meets.name}` };
  }
  const staying = hostsAlive(scene);
  const second = kill && (await scene.killSomewhere(words, kill));
  const where = second && { second };
  // The killed one may have come to its end.
  const isDoneBefore = second !== undefined && (await isForgotten(scene, about));
  const failed = failureOf(words, await scene.run(words));
  if (failed !== undefined && !isDoneBefore) return { ...nowhere(failed), ...where };
  return { ...(await followUp(scene, { ...about, words }, { goal, staying })), ...where };
}

/** Whether a host was forgotten: then the same words are refused, since they name no record. */
async function isForgotten(
  { sandbox, stack }: Scene,
  { verb, host }: RecordsRequest,
): Promise<boolean> {
  const { resources = [] } = await sandbox.lastGoodDeployment(stack);
  return verb !== "import" && resources.every(({ id }) => id !== host);
}

interface Done {
  /** What stays wanted. */
  readonly goal: Manifests;
  /** Ids of the hosts that have to run on. */
  readonly staying: ReadonlySet<string>;
}

/** What has to be true of a request that was done, and of the next `up`. */
async function followUp(
  scene: Scene,
  request: RecordsRequest,
  { goal, staying }: Done,
): Promise<Recovered> {
  const { sandbox } = scene;
  const from = sandbox.ledgerEnd();
  const problems = tagProblems(scene, request);
  const objects = await importedAfter(scene, request, goal.objects);
  if (typeof objects === "string") return nowhere(objects);
  const up: Words = {
    words: `up after ${request.words.words}`,
    leads: "forward",
    start: (at) => startUp(at, objects),
  };
  const upEnded = await scene.run(up);
  const upFailed = failureOf(up, upEnded);
  if (upFailed !== undefined) return nowhere(upFailed);
  const alive = hostsAlive(scene);
  const lost = [...staying].filter((id) => !alive.has(id));
  const { plans } = announcementIn(upEnded.said);
  const unnamed = sandbox
    .ledger(from)
    .filter(({ effect, kind }) => effect === "created" && kind === "LocalHost")
    .filter(({ name }) => !plans.some((plan) => hasStep(plan, "create", `LocalHost/${name}`)));
  const stuck = [
    ...problems,
    ...lost.map((id) => `${up.words}: host ${id} ran before and is gone`),
    ...unnamed.map(({ name }) => `${up.words} makes ${name}, which its plan does not name`),
  ];
  const there = await judgeAt(scene, placeOf(goal.name, objects));
  return stuck.length === 0 ? there : { place: undefined, verdict: { ...there.verdict, stuck } };
}

/** The tags of the host as the request has to leave them. */
function tagProblems(scene: Scene, request: RecordsRequest): string[] {
  const row = scene.sandbox.rows().find(({ id }) => id === request.host);
  const isTagged = row?.token !== "";
  if (row?.state === "terminated" || isTagged === (request.verb === "import")) return [];
  return [`${request.words.words}: host ${request.host} is tagged as ${row?.name} afterwards`];
}

/** The wanted objects; a forgotten host is imported first, where nothing else has happened. A text says what failed. */
async function importedAfter(
  scene: Scene,
  { verb, host, likeMachine }: RecordsRequest,
  objects: readonly ManifestObject[],
): Promise<readonly ManifestObject[] | string> {
  if (verb === "forgetAmiss") return objects;
  const likeness = { objects, likeMachine };
  const wanted = withImported(likeness);
  if (verb === "import") return wanted;
  const request = importOf(scene, host, likeness);
  return failureOf(request.words, await scene.run(request.words)) ?? wanted;
}

/** Hosts that were forgotten would be in the way of a destroy, since they still use the network: their new owner ends them. */
export async function endReleased({ sandbox }: Scene): Promise<void> {
  const released = sandbox
    .alive()
    .filter(({ kind, token }) => kind === "LocalHost" && token === "");
  for (const { id } of released) await sandbox.cloud.kill(id);
}

function failureOf({ words }: Words, { code, said }: Ended): string | undefined {
  return code === 0 ? undefined : `${words} exits with ${code}: ${lastWords(said)}`;
}

/** Ids of all hosts of the cloud that run. */
function hostsAlive({ sandbox }: Scene): ReadonlySet<string> {
  return new Set(
    sandbox
      .alive()
      .filter(({ kind }) => kind === "LocalHost")
      .map(({ id }) => id),
  );
}
