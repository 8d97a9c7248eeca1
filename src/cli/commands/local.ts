import { type Fault, faultCalls, type FaultMode, faultModes } from "../../../providers/local/faults.js";
import type { LocalCloud, LocalResource } from "../../../providers/local/cloud.js";
import { CapstanError } from "../../api/error.js";
import type { Json, JsonObject } from "../../api/json.js";
import { isHostOf } from "../../plan/hosts.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit.js";
import { table } from "../table.js";

/** capstan local machines: the hosts of the simulated cloud, gone ones with --all. */
export async function localMachines(
  { all }: { readonly all?: boolean },
  context: CommandContext,
): Promise<number> {
  const resources = await context.providers.local.cloud.list({});
  const hosts = resources.filter(
    ({ kind, state }) => kind === "LocalHost" && (all === true || state !== "terminated"),
  );
  if (context.json) {
    for (const host of hosts) context.emit({ type: "host", ...host });
    return exitCodes.done;
  }
  const rows = hosts.map(({ id, who, state, spec, status }) => [
    who.cluster,
    who.name,
    id,
    state,
    String(spec["size"]),
    String(status["address"]),
  ]);
  context.terminal.write(table(["CLUSTER", "HOST", "ID", "STATE", "SIZE", "ADDRESS"], rows));
  return exitCodes.done;
}

/** capstan local kill: terminates a resource behind the provider's back. */
export async function localKill(name: string, context: CommandContext): Promise<number> {
  const { cloud } = context.providers.local;
  const victim = await findAlive(cloud, name);
  await cloud.terminate(victim.id, undefined, "kill");
  say(context, { type: "killed", id: victim.id, name: victim.who.name }, `${victim.id} is terminated`);
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
  readonly times: number;
  readonly clear?: boolean;
}

/** capstan local fault: makes coming calls go wrong. */
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
    return exitCodes.done;
  }
  const known = faultCalls.some((one) => one === call) && faultModes.some((one) => one === mode);
  if (!known) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot set fault ${call ?? ""} ${mode ?? ""}: calls are ${faultCalls.join(", ")}; modes are ${faultModes.join(", ")}`,
    });
  }
  const fault: Fault = {
    call: call as Fault["call"],
    mode: mode as FaultMode,
    ...(options.name !== undefined && { name: options.name }),
  };
  await cloud.addFault({ ...fault, times: options.times });
  say(context, { type: "fault", ...fault }, `the next ${options.times} ${fault.call} calls ${fault.mode}`);
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
  const rows = entries.map(({ seq, atMs, pid, call, effect, name, id }) => [
    String(seq),
    new Date(atMs).toISOString(),
    String(pid),
    call,
    effect,
    name ?? "",
    id ?? "",
  ]);
  context.terminal.write(table(["SEQ", "AT", "PID", "CALL", "EFFECT", "NAME", "ID"], rows));
  return exitCodes.done;
}

/** By id, by resource name, or by the name of the machine that a host serves. */
async function findAlive(cloud: LocalCloud, name: string): Promise<LocalResource> {
  const alive = (await cloud.list({})).filter(({ state }) => state !== "terminated");
  const named = alive.filter(({ id, who }) => id === name || who.name === name);
  const found = named.length > 0 ? named : alive.filter(({ who }) => isHostOf(name, who.name));
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) return only;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    message:
      only === undefined
        ? `nothing in the local cloud is called ${name}`
        : `${name} is not clear: ${found.map(({ id, who }) => `${who.cluster} ${who.name} (${id})`).join(", ")}`,
    hint: "capstan local machines lists what there is",
  });
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
