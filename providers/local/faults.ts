import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { canonicalJson, type JsonObject } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";

/** The calls that a fault can be set for. */
export const faultCalls = [
  "create",
  "get",
  "list",
  "update",
  "terminate",
  "disown",
  "mark",
  "poll",
] as const;
export type FaultCall = (typeof faultCalls)[number];

interface ModeTraits {
  /** What goes wrong: the call is refused, its answer is lost, what it made takes another course, or what it removes stays. */
  readonly spoils: "call" | "answer" | "course" | "removal";
  /** The calls it is for; any without. */
  readonly only?: FaultCall;
  /** It is for hosts; the other kinds have no such thing. */
  readonly hostsOnly?: true;
  /** Its duration in milliseconds unless the fault says another; none without. */
  readonly ms?: number;
}

/**
 * fail: refused, no effect. throttle: refused, try again later, after `ms` at the earliest. quota: refused, as if a quota were
 * exhausted. noRoom: refused, as if there were no room for a host of its size. unusable: refused, as if what it needs had only just been made. deny: refused, as if the credentials might not do it. hang: no effect and, for `ms`, no answer. late: is carried out after `ms`, or as soon as
 * the faults are cleared. lose: takes effect, the answer is lost. hangAfter: takes effect, then hangs. lag: listings show the new resource only after `ms`.
 * accepts: the create is answered with an operation, and the new resource shows only after `ms`. rejects: the same, but
 * what was accepted fails after `ms` for want of a quota, and nothing ever shows. noRoomLater: the same for want of room for a host of its
 * size.
 * slowBoot: the new host boots for `ms` longer. neverBoots: it stays pending. breaks: it fails
 * instead of running, and says why. dies: it ends by itself
 * `ms` after it runs. keeps: the removal is answered with an operation that fails after `ms`, as if something still used the resource, and
 * the resource stays.
 */
const modeTraits = {
  fail: { spoils: "call" },
  throttle: { spoils: "call" },
  quota: { spoils: "call", only: "create" },
  noRoom: { spoils: "call", only: "create", hostsOnly: true },
  unusable: { spoils: "call", only: "create" },
  deny: { spoils: "call" },
  hang: { spoils: "call", ms: 10 * 60_000 },
  late: { spoils: "call", ms: 10 * 60_000 },
  lose: { spoils: "answer" },
  hangAfter: { spoils: "answer", ms: 10 * 60_000 },
  lag: { spoils: "course", only: "create", ms: 1_000 },
  accepts: { spoils: "course", only: "create", ms: 1_000 },
  rejects: { spoils: "course", only: "create", ms: 500 },
  noRoomLater: { spoils: "course", only: "create", hostsOnly: true, ms: 500 },
  slowBoot: { spoils: "course", only: "create", hostsOnly: true, ms: 5_000 },
  neverBoots: { spoils: "course", only: "create", hostsOnly: true },
  breaks: { spoils: "course", only: "create", hostsOnly: true },
  dies: { spoils: "course", only: "create", hostsOnly: true, ms: 1_000 },
  keeps: { spoils: "removal", only: "terminate", ms: 500 },
} as const satisfies Record<string, ModeTraits>;

export type FaultMode = keyof typeof modeTraits;
export const faultModes = Object.keys(modeTraits) as readonly FaultMode[];

/** A fault for calls to come. The same numbers in its file always give the same course of events. */
export interface Fault {
  readonly call: FaultCall;
  readonly mode: FaultMode;
  /** Only for resources whose name begins with this. */
  readonly name?: string;
  /** `name` is the whole name; without a name only calls that are about no single resource. */
  readonly exact?: boolean;
  /** How many of the fitting calls go well first. */
  readonly skip?: number;
  /** Duration in milliseconds, for the modes that have one. */
  readonly ms?: number;
  /** How many calls go wrong. 1 without. */
  readonly times?: number;
  /** Share of the fitting calls that go wrong, 0 to 1; all without. Drawn by `seed` and count. */
  readonly probability?: number;
  readonly seed?: number;
}

/** A schedule of faults drawn by seed: any call, without end. */
export interface RandomFaults {
  readonly seed: number;
  /** Share of the calls that go wrong, 0 to 1. */
  readonly rate: number;
  /** What is drawn from, each as likely as the others. `defaultRandomModes` without. */
  readonly modes?: readonly FaultMode[];
}

export const defaultRandomModes: readonly FaultMode[] = ["fail", "throttle", "lose"];

/** Whether a mode has a meaning for a call. */
export function isModeOf(mode: FaultMode, call: FaultCall): boolean {
  const { only }: ModeTraits = modeTraits[mode];
  return only === undefined || only === call;
}

/** What goes wrong with one call. */
export interface ArmedFault {
  /** Of the fault that does it. */
  readonly key: string;
  readonly mode: FaultMode;
  readonly ms: number;
}

/** All that goes wrong with one call: one thing with the call or its answer, others with its course. */
interface ArmedFaults {
  readonly answer?: ArmedFault;
  readonly lifecycle: readonly ArmedFault[];
}

/** The call that faults are looked for. */
export interface FaultyCall {
  readonly call: string;
  readonly isHost: boolean;
  /** The resource or scope that it is about, if it is about one. */
  readonly name?: string;
  /** Whether a create will make something new: only then can its course go wrong. */
  readonly makesNew: boolean;
  /** Keys of faults that have delayed it: to them it is still the same call. */
  readonly met: readonly string[];
}

/** Whether the call is carried out before its answer goes missing. */
export function takesEffect(mode: FaultMode): boolean {
  return modeTraits[mode].spoils !== "call";
}

/** A fault as it is looked at for a call: a stored one or one that a spec declares. */
interface Armed {
  /** Under which its uses are counted. */
  readonly key: string;
  readonly call: FaultCall | undefined;
  readonly modes: readonly FaultMode[];
  readonly name: string | undefined;
  readonly exact: boolean;
  readonly skip: number;
  readonly ms: number | undefined;
  /** Without end when undefined. */
  readonly times: number | undefined;
  readonly probability: number;
  readonly seed: number;
}

/** The faults in a resource's spec, counted by the token of the resource that declares them. */
export function declaredFaults(owner: {
  readonly token: string;
  readonly spec: JsonObject;
}): Armed[] {
  const { faults } = owner.spec;
  if (!Array.isArray(faults)) return [];
  return (faults as readonly (JsonObject & Fault)[]).map((fault, index) =>
    armed(`${owner.token}/${index}/${canonicalJson(fault)}`, fault),
  );
}

/**
 * Takes what fits the call, the oldest first, and counts it. Pure but for the counts: must run in
 * the transaction of the call.
 */
export function takeFaults(
  database: DatabaseSync,
  call: FaultyCall,
  declared: readonly Armed[],
): ArmedFaults {
  const faults = [...storedFaults(database), ...declared];
  const drawn = faults.flatMap((fault) => {
    if (call.met.includes(fault.key)) return [];
    const mode = fits(fault, call) ? draw(database, fault, call) : undefined;
    if (mode === undefined) return [];
    const { spoils, ms = 0 }: ModeTraits = modeTraits[mode];
    return [{ spoils, fault: { key: fault.key, mode, ms: fault.ms ?? ms } }];
  });
  const isOfCall = (spoils: ModeTraits["spoils"]) => spoils === "call" || spoils === "answer";
  const answer = drawn.find(({ spoils }) => isOfCall(spoils));
  const happens = answer === undefined || takesEffect(answer.fault.mode);
  const lifecycle = happens ? drawn.filter(({ spoils }) => !isOfCall(spoils)) : [];
  for (const { fault } of answer === undefined ? lifecycle : [answer, ...lifecycle]) {
    database.prepare("UPDATE fault_uses SET taken = taken + 1 WHERE key = ?").run(fault.key);
  }
  return omitUndefined({ answer: answer?.fault, lifecycle: lifecycle.map(({ fault }) => fault) });
}

/** "lose, lag 1000": how the ledger names what a call met. */
export function faultsText({ answer, lifecycle }: ArmedFaults): string | undefined {
  const all = answer === undefined ? lifecycle : [answer, ...lifecycle];
  if (all.length === 0) return undefined;
  return all.map(({ mode, ms }) => (ms > 0 ? `${mode} ${ms}` : mode)).join(", ");
}

export function storeFault(database: DatabaseSync, fault: Fault): void {
  insertFault(database, armed("", fault));
}

export function storeRandomFaults(database: DatabaseSync, random: RandomFaults): void {
  const { seed, rate, modes = defaultRandomModes } = random;
  insertFault(database, {
    ...armed("", { seed, probability: rate }),
    modes,
    times: undefined,
  });
}

export function clearFaults(database: DatabaseSync): void {
  database.exec("DELETE FROM faults; DELETE FROM fault_uses WHERE key LIKE '#%'");
}

/** Whether a fault still stands: one that a spec declares always does. */
export function isStanding(database: DatabaseSync, key: string): boolean {
  const id = /^#(\d+)$/.exec(key)?.[1];
  if (id === undefined) return true;
  return database.prepare("SELECT 1 FROM faults WHERE id = ?").get(Number(id)) !== undefined;
}

/** A stored fault with what is left of it, for people. */
export interface StoredFault {
  /** "any" for a schedule. */
  readonly call: FaultCall | "any";
  readonly modes: readonly FaultMode[];
  readonly name?: string;
  readonly exact: boolean;
  readonly skip: number;
  readonly ms?: number;
  readonly probability: number;
  readonly seed: number;
  /** How many calls have gone wrong by it. */
  readonly taken: number;
  /** How many more will; without end when absent. */
  readonly left?: number;
}

/** The stored faults that are not used up, oldest first. */
export function listFaults(database: DatabaseSync): StoredFault[] {
  return storedFaults(database).flatMap((fault) => {
    const { call = "any", modes, name, exact, skip, ms, times, probability, seed } = fault;
    const { taken } = usesOf(database, fault.key);
    const left = times === undefined ? undefined : times - taken;
    if (left !== undefined && left <= 0) return [];
    return [omitUndefined({ call, modes, exact, skip, probability, seed, taken, name, ms, left })];
  });
}

function armed(key: string, fault: Partial<Fault>): Armed {
  const { call, mode, name, exact = false, skip = 0, ms, times = 1 } = fault;
  const { probability = 1, seed = 0 } = fault;
  const modes = mode === undefined ? [] : [mode];
  return { key, call, modes, name, exact, skip, ms, times, probability, seed };
}

function fits(fault: Armed, { call, name }: FaultyCall): boolean {
  if (!faultCalls.some((one) => one === call)) return false;
  if (fault.call !== undefined && fault.call !== call) return false;
  if (fault.exact) return fault.name === name;
  return fault.name === undefined || name?.startsWith(fault.name) === true;
}

/**
 * What a fault does to its n-th fitting call, if anything: a function of seed and n alone, so that a
 * run can be repeated.
 */
function draw(database: DatabaseSync, fault: Armed, call: FaultyCall): FaultMode | undefined {
  const modes = fault.modes.filter((mode) => canMeet(mode, call));
  const { asked, taken } = usesOf(database, fault.key);
  if (modes.length === 0 || (fault.times !== undefined && taken >= fault.times)) return undefined;
  database
    .prepare(
      `INSERT INTO fault_uses VALUES (?, 1, 0) ON CONFLICT (key) DO UPDATE SET asked = asked + 1`,
    )
    .run(fault.key);
  if (asked < fault.skip) return undefined;
  if (chance(fault.seed, asked, "whether") >= fault.probability) return undefined;
  return modes[Math.floor(chance(fault.seed, asked, "which") * modes.length)];
}

function canMeet(mode: FaultMode, { call, isHost, makesNew }: FaultyCall): boolean {
  const { spoils, only, hostsOnly }: ModeTraits = modeTraits[mode];
  if (only !== undefined && only !== call) return false;
  return (spoils !== "course" || makesNew) && (hostsOnly !== true || isHost);
}

/** A number from 0 up to 1, the same for the same arguments. */
function chance(seed: number, count: number, what: string): number {
  return createHash("sha256").update(`${seed}/${count}/${what}`).digest().readUInt32BE(0) / 2 ** 32;
}

function usesOf(database: DatabaseSync, key: string): { asked: number; taken: number } {
  const row = database.prepare("SELECT asked, taken FROM fault_uses WHERE key = ?").get(key);
  return { asked: Number(row?.["asked"] ?? 0), taken: Number(row?.["taken"] ?? 0) };
}

function insertFault(database: DatabaseSync, fault: Armed): void {
  const { call, modes, name, exact, skip, ms, times, probability, seed } = fault;
  database
    .prepare(
      `INSERT INTO faults (call, modes, name, exact, skip, ms, times, probability, seed)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(
      call ?? null,
      modes.join(),
      name ?? null,
      exact ? 1 : 0,
      skip,
      ms ?? null,
      times ?? null,
      probability,
      seed,
    );
}

function storedFaults(database: DatabaseSync): Armed[] {
  const rows = database.prepare("SELECT * FROM faults ORDER BY id").all();
  return rows.map((row) => ({
    key: `#${String(row["id"])}`,
    call: (row["call"] ?? undefined) as FaultCall | undefined,
    modes: String(row["modes"]).split(",") as FaultMode[],
    name: (row["name"] ?? undefined) as string | undefined,
    exact: row["exact"] === 1,
    skip: Number(row["skip"]),
    ms: (row["ms"] ?? undefined) as number | undefined,
    times: (row["times"] ?? undefined) as number | undefined,
    probability: Number(row["probability"]),
    seed: Number(row["seed"]),
  }));
}
