import { CapstanError } from "../../api/error.js";
import { isNameOf } from "../../api/kind-names.js";
import { providerFor } from "../../provider/for-cluster.js";
import { type Desired, stackNameOf } from "../../api/types.js";
import { type ImportPlan, planImport } from "../../engine/operations/import.js";
import { refuseForeign, refuseNonOwner } from "../../engine/backend/state.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import { callContext } from "../../engine/run/handler-session.js";
import { settleLastCalls } from "../../engine/run/recover.js";
import type { Manifests } from "../../manifest/desired.js";
import { describeChanges } from "../../plan/changes/tree.js";
import { fileOwner } from "../../records/hand-over.js";
import { confirm } from "../confirm.js";
import {
  type CommandContext,
  type GlobalOptions,
  loadManifests,
  openEngine,
  withLockedEngine,
} from "../context.js";
import { exitCodes } from "../exit.js";
import { type ManifestOptions, manifestWords } from "../manifest-options.js";
import { withNamedFiles } from "../named-files.js";
import { planLine } from "../survey-cluster.js";
import { planText } from "../terminal.js";
import { stacksOf } from "./stacks.js";
import { carryOut } from "./up.js";

export interface ImportOptions extends GlobalOptions, ManifestOptions {
  readonly yes?: boolean;
  readonly recursive?: boolean;
  /** Seconds that the cloud's calls may take. */
  readonly timeout: number;
  /** Seconds that all of it may take. */
  readonly deadline: number;
}

/** Which host is to serve which Machine, as it was typed. */
interface Words {
  readonly machine: string;
  readonly id: string;
}

/** capstan import: a host that was there before gets our marks and a record, and serves a Machine of the manifests. */
export async function importCommand(
  stackName: string,
  words: Words,
  given: ImportOptions,
  context: CommandContext,
): Promise<number> {
  const machine = machineNamed(words.machine);
  const options = withNamedFiles(given, "import", context);
  const manifests = loadManifests(options, context);
  const { engine } = await openEngine(options, context);
  const [stack = stackName] = await stacksOf([stackName], { file: [] }, engine, context);
  const about = { machine, id: words.id, stack, manifests, desired: clusterOf(stack, manifests) };
  const command = commandOf(about, options);
  await withLockedEngine(options, context, { stack, command, owner: fileOwner }, (locked) =>
    importHost(about, options, { engine: locked, context }),
  );
  return exitCodes.done;
}

interface About extends Words {
  readonly stack: string;
  readonly manifests: Manifests;
  readonly desired: Desired;
}

async function importHost(
  about: About,
  options: ImportOptions,
  { engine, context }: { readonly engine: Engine; readonly context: CommandContext },
): Promise<void> {
  const { machine, id, stack, desired, manifests } = about;
  const { clock, interruption, by, emit } = context;
  const { stop } = interruption;
  const provider = providerFor(desired.cluster, context.providers.all);
  await settleLastCalls(engine, provider, callContext(clock, stop));
  const state = await engine.readState(stack);
  refuseForeign(state, stack);
  refuseNonOwner(state, fileOwner, "change");
  const request = {
    machine,
    id,
    desired,
    positionOf: (...place: Parameters<Manifests["positionOf"]>) => manifests.positionOf(...place),
  };
  const deadlineMs = options.deadline * 1_000;
  const planned = await planImport(request, state, { provider, clock, stop, by, deadlineMs });
  const { plan, driftFilter } = planned;
  show(machine, planned, context);
  if (plan.empty) {
    if (context.json) emit({ type: "result", cluster: plan.cluster, changed: false });
    return;
  }
  const question = `Import ${id} as Machine ${machine} of ${plan.cluster}?`;
  await confirm(question, options.yes === true, context);
  const next = {
    look: `capstan plan ${manifestWords(options)}`,
    again: commandOf(about, options),
    takeBack: `capstan rollback ${stack}`,
  };
  const { timeout, deadline } = options;
  const how = { timeout, deadline, rollback: true };
  await carryOut(plan, state, { engine, provider, driftFilter, options: how, next }, context);
}

function show(machine: string, { plan, later }: ImportPlan, context: CommandContext): void {
  const { json, emit, terminal } = context;
  if (json) {
    emit(planLine(plan));
    if (later.length > 0) emit({ type: "later", cluster: plan.cluster, machine, changes: later });
    return;
  }
  terminal.write(`${planText(plan, terminal)}\n`);
  if (later.length === 0) return;
  const changes = describeChanges(later);
  terminal.write(`The next up changes Machine ${machine} in place: ${changes}\n\n`);
}

function commandOf({ stack, machine, id }: Words & Pick<About, "stack">, options: ImportOptions) {
  return `capstan import ${stack} Machine/${machine} ${id} ${manifestWords(options)}`;
}

/** "Machine/db-0". Throws BAD_USAGE: the machines of sets get their hosts from these. */
function machineNamed(word: string): string {
  const [kind = "", name = "", ...more] = word.split("/");
  if (isNameOf("Machine", kind) && name !== "" && more.length === 0) return name;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `${word} names no Machine that could be given a host: Machine/NAME does`,
    hint: "e.g. capstan import default/prod Machine/db-0 host-5f1c -f prod",
  });
}

/** Throws NOT_FOUND for manifests of other clusters. */
function clusterOf(stack: string, { clusters }: Manifests): Desired {
  const stacks = clusters.map(({ cluster }) => stackNameOf(cluster));
  const desired = clusters[stacks.indexOf(stack)];
  if (desired !== undefined) return desired;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: stack,
    message: `cannot import into ${stack}: these manifests are of ${stacks.join(", ")}`,
    hint: "name the manifests of the cluster with -f; nothing was changed",
  });
}
