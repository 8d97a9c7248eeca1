import {
  defaultRandomModes,
  type Fault,
  type FaultCall,
  faultCalls,
  type FaultMode,
  faultModes,
  isModeOf,
  type RandomFaults,
} from "../../../providers/local/faults.js";
import { hasFailed, hasPower, isStopped } from "../../../providers/local/file/resource.js";
import {
  failProgram,
  faultsOf,
  faultyPrograms,
  type ProgramFault,
} from "../../../providers/local/power/program-fault.js";
import type { LocalCloud, LocalResource } from "../../../providers/local/cloud.js";
import { CapstanError } from "../../api/error.js";
import type { Json, JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type CommandContext, settingUp } from "../context.js";
import { exitCodes } from "../exit.js";
import { findAlive } from "../resource-named.js";
import { table } from "../table.js";

/** capstan local machines: the hosts of the simulated cloud, gone ones with --all. */
export async function localMachines(
  { all }: { readonly all?: boolean },
  context: CommandContext,
): Promise<number> {
  const resources = await context.providers.local.cloud.everything();
  const hosts = resources.filter(
    ({ kind, state }) => kind === "LocalHost" && (all === true || state !== "terminated"),
  );
  if (context.json) {
    for (const host of hosts) context.emit({ type: "host", ...host });
    return exitCodes.done;
  }
  const rows = hosts.map((host) => [
    host.who.cluster,
    host.who.name,
    host.id,
    stateText(host),
    String(host.spec["size"]),
    String(host.status["address"]),
  ]);
  context.terminal.write(table(["CLUSTER", "HOST", "ID", "STATE", "SIZE", "ADDRESS"], rows));
  return exitCodes.done;
}

function stateText(host: LocalResource): string {
  const { state, readySinceMs } = host;
  if (isStopped(host)) return "stopped";
  if (hasFailed(host)) return "failed";
  return state === "running" && readySinceMs === undefined ? "joining" : state;
}

/** capstan local kill: terminates a resource behind the provider's back, at once or after `ms`. */
export async function localKill(
  name: string,
  { ms }: { readonly ms?: number },
  context: CommandContext,
): Promise<number> {
  const { cloud } = context.providers.local;
  const victim = await findAlive(cloud, name);
  if (ms !== undefined) {
    const atMs = context.clock.now() + ms;
    await cloud.takeAway(victim.id, atMs);
    const { id, who } = victim;
    const text = `${id} is taken away at ${new Date(atMs).toISOString()}`;
    say(context, { type: "takenAway", id, name: who.name, atMs }, text);
    return exitCodes.done;
  }
  await cloud.terminate(victim.id, undefined, "kill");
  say(
    context,
    { type: "killed", id: victim.id, name: victim.who.name },
    `${victim.id} is terminated`,
  );
  return exitCodes.done;
}

/** capstan local stop: stops a simulated host behind the provider's back; it stands, and can be started. */
export async function localStop(name: string, context: CommandContext): Promise<number> {
  const { cloud } = context.providers.local;
  const { id, kind, who, spec } = await findAlive(cloud, name);
  if (kind !== "LocalHost" || hasPower(spec)) {
    throw new CapstanError({
      code: "INVALID_INPUT",
      source: "user",
      message: `cannot stop ${id}: only simulated hosts can be stopped`,
      hint: "capstan local kill ends any resource",
    });
  }
  await cloud.stop(id);
  say(context, { type: "stopped", id, name: who.name }, `${id} is stopped`);
  return exitCodes.done;
}

/** capstan local set: changes fields of a resource behind the provider's back. */
export async function localSet(
  name: string,
  assignments: readonly string[],
  context: CommandContext,
): Promise<number> {
  const { cloud } = context.providers.local;
  const resource = await findAlive(cloud, name);
  const fields = Object.fromEntries(assignments.map(parseAssignment));
  const spec: JsonObject = { ...resource.spec, ...fields };
  await cloud.update(resource.id, spec, undefined, "set");
  say(context, { type: "set", id: resource.id, spec }, `${resource.id} is changed`);
  return exitCodes.done;
}

export interface FaultOptions {
  readonly name?: string;
  readonly exact?: boolean;
  readonly skip?: number;
  readonly ms?: number;
  readonly times?: number;
  readonly probability?: number;
  readonly seed?: number;
  readonly rate?: number;
  /** Comma-separated. */
  readonly modes?: string;
  readonly clear?: boolean;
}

/** capstan local fault: makes coming calls go wrong, or a program of a host; without a call, lists what is set. */
export async function localFault(
  call: string | undefined,
  mode: string | undefined,
  options: FaultOptions,
  context: CommandContext,
): Promise<number> {
  const { cloud } = context.providers.local;
  if (options.clear === true) {
    await cloud.clearFaults();
    say(context, { type: "faultsCleared" }, "faults are cleared");
  } else if (call === "random") {
    const faults = randomFaultsOf(options);
    await cloud.addRandomFaults(faults);
    const text = `of all calls, ${faults.rate * 100} % go wrong, by seed ${faults.seed}`;
    say(context, { type: "randomFaults", ...faults }, text);
  } else if (call === undefined) {
    await listFaults(cloud, context);
  } else if (isFaultyProgram(call)) {
    await programFault(call, mode, options, context);
  } else {
    const fault = faultOf(call, mode, options);
    await cloud.addFault(fault);
    say(context, { type: "fault", ...fault }, `${callsText(fault)}: ${fault.mode}`);
  }
  return exitCodes.done;
}

function isFaultyProgram(call: string): call is (typeof faultyPrograms)[number] {
  return faultyPrograms.some((one) => one === call);
}

/** At once; of a full disk a mark is kept on the host. Errors: BAD_USAGE, NOT_FOUND, TOOLCHAIN. */
async function programFault(
  program: (typeof faultyPrograms)[number],
  mode: string | undefined,
  { name }: FaultOptions,
  context: CommandContext,
): Promise<void> {
  const faults = faultsOf(program);
  const fault = faults.find((one) => one === mode);
  if (fault === undefined || name === undefined) {
    throw badFault(
      `${program} ${mode ?? ""}`,
      `modes of ${program} are ${faults.join(", ")}, and --name says on which host`,
    );
  }
  const { cloud } = context.providers.local;
  const host = await findAlive(cloud, name);
  const place = { cloudPath: cloud.path, host, program };
  const met = hasPower(host.spec) ? failProgram(place, fault) : 0;
  if (met === 0) {
    throw new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: host.id,
      message: hasPower(host.spec)
        ? `no ${program} runs on ${host.who.name}`
        : `no ${program} runs on ${host.who.name}: it is simulated`,
      hint: `programs are ${faultyPrograms.join(", ")}`,
    });
  }
  const { id, who } = host;
  say(
    context,
    { type: "programFault", program, fault, id, name: who.name },
    faultTexts[fault](program, who.name),
  );
}

const faultTexts: Readonly<Record<ProgramFault, (program: string, host: string) => string>> = {
  die: (program, host) => `${program} of ${host} is killed`,
  hang: (program, host) => `${program} of ${host} stands still`,
  goOn: (program, host) => `${program} of ${host} goes on`,
  fillDisk: (program, host) => `${program} of ${host} finds its disk full`,
  freeDisk: (program, host) => `${program} of ${host} has room on its disk`,
};

/** "the next 2 calls of create of web*, after 1": which calls a fault meets. */
function callsText({ call, name, exact, skip = 0, times = 1 }: Fault): string {
  const calls = times === 1 ? `the next ${call}` : `the next ${times} calls of ${call}`;
  const nobody = exact === true ? " of no single resource" : "";
  const whose = name === undefined ? nobody : ` of ${name}${exact === true ? "" : "*"}`;
  return `${calls}${whose}${skip === 0 ? "" : `, after ${skip}`}`;
}

async function listFaults(cloud: LocalCloud, context: CommandContext): Promise<void> {
  const faults = await cloud.faults();
  if (context.json) {
    for (const fault of faults) context.emit({ type: "fault", ...fault });
    return;
  }
  const rows = faults.map(({ call, modes, name, skip, ms, probability, seed, taken, left }) => [
    call,
    modes.join(),
    name ?? "",
    String(skip),
    ms === undefined ? "" : String(ms),
    String(probability),
    String(seed),
    String(taken),
    left === undefined ? "" : String(left),
  ]);
  const header = ["CALL", "MODE", "NAME", "SKIP", "MS", "PROBABILITY", "SEED", "TAKEN", "LEFT"];
  context.terminal.write(faults.length === 0 ? "no faults are set\n" : table(header, rows));
}

function faultOf(call: string, mode: string | undefined, options: FaultOptions): Fault {
  const known = faultCalls.some((one) => one === call) && faultModes.some((one) => one === mode);
  if (!known || !isModeOf(mode as FaultMode, call as FaultCall)) {
    throw badFault(
      `${call} ${mode ?? ""}`,
      `calls are ${faultCalls.join(", ")}; modes are ${modesOf(call).join(", ")}`,
    );
  }
  const { name, exact, skip, ms, times, probability, seed } = options;
  return omitUndefined({
    call: call as FaultCall,
    mode: mode as FaultMode,
    name,
    exact: exact === true ? exact : undefined,
    skip,
    ms,
    times,
    probability,
    seed,
  });
}

function randomFaultsOf({ seed, rate, modes }: FaultOptions): RandomFaults {
  if (seed === undefined || rate === undefined) {
    throw badFault("random", "it needs --seed and --rate, e.g. --seed 7 --rate 0.1");
  }
  const named = modes?.split(",") ?? [...defaultRandomModes];
  const unknown = named.filter((mode) => !faultModes.some((one) => one === mode));
  if (unknown.length > 0) {
    throw badFault(`random ${unknown.join()}`, `modes are ${faultModes.join(", ")}`);
  }
  return { seed, rate, modes: named as FaultMode[] };
}

/** The modes of a call; all of them for a word that is none. */
function modesOf(call: string): FaultMode[] {
  const known = faultCalls.find((one) => one === call);
  return faultModes.filter((mode) => known === undefined || isModeOf(mode, known));
}

function badFault(what: string, cause: string): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot set fault ${what.trim()}: ${cause}`,
    hint: "docs/local-cloud.md tells what each does",
  });
}

/** capstan local network: makes a network that belongs to nobody, for clusters that use what is there. */
export async function localNetwork(
  { cidr }: { readonly cidr: string },
  context: CommandContext,
): Promise<number> {
  const { id, status } = await context.providers.local.cloud.makeNetwork(cidr);
  say(context, { type: "network", id, cidr, status }, id);
  return exitCodes.done;
}

/** capstan local image: makes an image the newest of its family; without one, lists those that there are. */
export async function localImage(
  family: string | undefined,
  name: string | undefined,
  context: CommandContext,
): Promise<number> {
  const { cloud } = context.providers.local;
  if (family === undefined) return listImages(cloud, context);
  if (name === undefined) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot add an image to family ${family}: it has no name`,
      hint: `capstan local image ${family} NAME`,
    });
  }
  await cloud.addImage({ family, name });
  say(context, { type: "image", family, name }, `${name} is the newest image of ${family}`);
  return exitCodes.done;
}

async function listImages(cloud: LocalCloud, context: CommandContext): Promise<number> {
  const images = await cloud.images();
  if (context.json) {
    for (const { family, name } of images) context.emit({ type: "image", family, name });
  } else {
    const rows = images.map(({ family, name }) => [family, name]);
    context.terminal.write(table(["FAMILY", "IMAGE"], rows));
  }
  return exitCodes.done;
}

/** capstan local ledger: every call and its effect, in order. */
export async function localLedger(
  { after }: { readonly after: number },
  context: CommandContext,
): Promise<number> {
  const entries = await context.providers.local.cloud.ledger(after);
  if (context.json) {
    for (const entry of entries) context.emit(entry);
    return exitCodes.done;
  }
  const rows = entries.map(({ seq, atMs, pid, call, effect, fault, name, id }) => [
    String(seq),
    new Date(atMs).toISOString(),
    String(pid),
    call,
    effect,
    fault ?? "",
    name ?? "",
    id ?? "",
  ]);
  context.terminal.write(
    table(["SEQ", "AT", "PID", "CALL", "EFFECT", "FAULT", "NAME", "ID"], rows),
  );
  return exitCodes.done;
}

/** "size=large" or "diskGib=40": JSON where it parses, text otherwise. */
function parseAssignment(assignment: string): [string, Json] {
  const at = assignment.indexOf("=");
  if (at < 1) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot read ${assignment}: expected FIELD=VALUE`,
    });
  }
  const text = assignment.slice(at + 1);
  try {
    return [assignment.slice(0, at), JSON.parse(text) as Json];
  } catch {
    return [assignment.slice(0, at), text];
  }
}

function say(context: CommandContext, document: object, text: string): void {
  if (context.json) context.emit(document);
  else context.terminal.write(`${text}\n`);
}

/** capstan local install: sets up what hosts run that are not simulated. Errors: BAD_USAGE, TOOLCHAIN. */
export async function localInstall(
  version: string | undefined,
  context: CommandContext,
): Promise<number> {
  const { ensureProcessPrograms, processVersions } = await import("#kubernetes");
  const [newest = ""] = processVersions;
  const wanted = version?.replace(/^v/, "") ?? newest;
  if (!processVersions.includes(wanted)) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot set up Kubernetes ${wanted}: hosts of this machine do not run it`,
      hint: `they run ${processVersions.join(" or ")}`,
    });
  }
  await settingUp(context, (surroundings) => ensureProcessPrograms(wanted, surroundings));
  context.terminal.write(`Kubernetes ${wanted} is there\n`);
  return exitCodes.done;
}
