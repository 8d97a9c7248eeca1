import { asNodesTell } from "../../plan/observation.js";
import { NodeReports } from "../../engine/run/node-reports.js";
import { openWorkload } from "../../kube/open-workload.js";
import { recordedKeys } from "../../records/recorded-keys.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { domainOffer, domainOfHost } from "../../api/failure-domains.js";
import { type MachineVersions, providerValue } from "../../api/types.js";
import type { StackWorker } from "../../engine/locks/stack-worker.js";
import { callContext } from "../../engine/run/handler-session.js";
import type { Observation } from "../../engine/run/observe.js";
import type { StackState } from "../../engine/backend/state.js";
import { inNameOrder } from "../../sets/name-order.js";
import { type WayBack, wayBackOf } from "../../plan/undo/point-of-no-return.js";
import {
  isOpen,
  knownMachines,
  cloudResources,
  type PriorState,
  type RecordedResource,
  recordedSpec,
} from "../../records/prior-state.js";
import { clusterIn, failureDomainOf, type Target } from "../../records/target.js";
import { leavingHosts } from "../../plan/changes/leaving.js";
import type { ObservedResource } from "../../plan/observation.js";
import type { InfrastructureProvider, NodeReport } from "../../provider/port.js";
import { openTransactionText } from "../open-transaction.js";
import { pendingOperationLines, pendingOperations } from "../pending-operations.js";
import { type CommandContext, type GlobalOptions, openRecords } from "../context.js";
import type { ManifestOptions } from "../manifest-options.js";
import { expiryWarnings } from "../../source/certificate-report.js";
import { exitCodes } from "../exit.js";
import { wrap } from "../fit.js";
import { table } from "../table.js";
import { noClustersText, recordedProvider, refuseUnknown, stacksOf, tellEnd } from "./stacks.js";

export interface StatusOptions extends GlobalOptions, ManifestOptions {}

interface MachineStatus {
  readonly machine: string;
  readonly phase: string;
  readonly host: string;
  readonly address: string;
  /** Where the host is; absent where its cluster offers no failure domains. */
  readonly failureDomain?: string;
  /** What is wanted. */
  readonly kubelet: string;
  readonly ready: boolean;
  readonly readySinceMs?: number;
  /** What runs, as the node says, in the shape of a Machine's status.versions. */
  readonly versions?: MachineVersions;
  readonly osImage?: string;
  /** Nothing asks for this host any more: it goes when others serve. */
  readonly leaving?: true;
}

/** capstan status: what is recorded and what the cloud shows. Changes nothing. */
export async function statusCommand(
  named: readonly string[],
  options: StatusOptions,
  context: CommandContext,
): Promise<number> {
  const engine = await openRecords(options, context);
  const stacks = await stacksOf(named, options, engine, context);
  if (stacks.length === 0 && !context.json) {
    context.terminal.write(context.suggest(noClustersText(engine)));
  }
  for (const stack of stacks) {
    const { state, worker } = await engine.readWithWorker(stack);
    if (tellEnd("status", stack, state, { engine, context })) continue;
    if (named.length > 0) await refuseUnknown("show the status of", [stack], engine);
    const provider = recordedProvider(stack, state, context);
    const observation = await seenOf(state, provider, context);
    const machines = observation === undefined ? [] : machinesOf(state, observation, provider);
    const transaction = transactionOf(state, worker);
    if (context.json) context.emit({ type: "status", stack, ...transaction, machines });
    else {
      const wayBack = wayBackOf(provider, state, observation);
      const open = context.suggest(openText(stack, state, { worker, wayBack }));
      const { columns } = context.terminal;
      const warnings = expiryWarnings(recordedKeys(state), context.clock.now());
      const text = { columns, transaction, openText: open, warnings };
      context.terminal.write(statusText(stack, state, machines, text));
    }
  }
  return exitCodes.done;
}

/** Undefined of a stack of which nothing is recorded. */
async function seenOf(
  state: StackState,
  provider: InfrastructureProvider | undefined,
  context: CommandContext,
): Promise<Observation | undefined> {
  const { transaction } = state;
  if (provider === undefined || transaction === undefined) return undefined;
  const call = callContext(context.clock, context.interruption.stop);
  const scope = { cluster: transaction.target.cluster, clusterUid: transaction.clusterUid };
  const looked = { provider, records: state, context: call };
  return new NodeReports(openWorkload).observe(scope, looked);
}

/** What is to be done about an open transaction; empty without one. */
function openText(
  stack: string,
  state: StackState,
  how: { readonly worker: StackWorker; readonly wayBack: WayBack },
): string {
  const { transaction } = state;
  if (transaction === undefined || !isOpen(state)) return "";
  const revision = state.revision?.number ?? 0;
  return openTransactionText({ ...transaction, stack, revision, ...how });
}

function machinesOf(
  state: StackState,
  observation: Observation,
  provider: InfrastructureProvider | undefined,
): MachineStatus[] {
  const observedResources = asNodesTell(observation);
  const { transaction } = state;
  if (transaction === undefined) return [];
  const { target } = transaction;
  const records = new Map(cloudResources(state).map((record) => [record.key, record]));
  const wanted = target.machines.map((machine): MachineStatus => ({
    machine: machine.name,
    kubelet: machine.spec.versions.kubelet,
    ...hostStatus(records.get(machine.host), observedResources.get(machine.host)),
    ...domainStatus(failureDomainOf(machine, target, provider)),
  }));
  const known = knownMachines(state);
  const toDelete = new Set(records.keys());
  for (const { host } of target.machines) toDelete.delete(host);
  const leaving = leavingHosts({ prior: state, observedResources }, toDelete, target);
  const old = leaving.map(({ machine, host }) => ({
    machine,
    kubelet: known.get(machine)?.spec.versions.kubelet ?? "",
    ...hostStatus(records.get(host), observedResources.get(host)),
    ...domainStatus(recordedDomain(records.get(host), target, provider)),
    leaving: true as const,
  }));
  return [...wanted, ...old].sort((left, right) => inNameOrder(left.machine, right.machine));
}

/** A machine may have been given another domain than that of a host which is to go. */
function recordedDomain(
  record: RecordedResource | undefined,
  target: Target,
  provider: InfrastructureProvider | undefined,
): string | undefined {
  const { failureDomains } = provider ?? {};
  if (record === undefined || provider === undefined || failureDomains === undefined) return;
  const offer = domainOffer(provider, providerValue(clusterIn(target).spec));
  return offer && domainOfHost(failureDomains, recordedSpec(record));
}

function domainStatus(failureDomain: string | undefined): Pick<MachineStatus, "failureDomain"> {
  return omitUndefined({ failureDomain });
}

function hostStatus(
  record: RecordedResource | undefined,
  seen: ObservedResource | undefined,
): Omit<MachineStatus, "machine" | "kubelet" | "failureDomain" | "leaving"> {
  const observed = seen === "gone" ? undefined : seen;
  const address = observed?.status["address"];
  return omitUndefined({
    phase: record === undefined ? "planned" : seen === "gone" ? "gone" : (seen?.phase ?? "unknown"),
    host: record?.id ?? "",
    address: typeof address === "string" ? address : "",
    ready: observed?.phase === "ready",
    readySinceMs: observed?.readySinceMs,
    ...(observed?.node !== undefined && saidBy(observed.node)),
  });
}

function saidBy({
  osImage,
  kubelet,
  controlPlane,
  containerRuntime,
}: NodeReport): Pick<MachineStatus, "versions" | "osImage"> {
  return omitUndefined({
    versions: omitUndefined({ kubelet, controlPlane, containerRuntime }),
    osImage,
  });
}

function transactionOf(state: PriorState, worker: StackWorker) {
  const { transaction, revision } = state;
  return {
    revision: revision?.number ?? 0,
    openTransaction:
      transaction !== undefined && transaction.number !== revision?.number
        ? transaction.number
        : null,
    worker,
    ...pendingOperations(state, worker),
  };
}

function statusText(
  stack: string,
  state: PriorState,
  machines: readonly MachineStatus[],
  text: {
    readonly columns: number;
    readonly transaction: ReturnType<typeof transactionOf>;
    readonly openText: string;
    readonly warnings: readonly string[];
  },
): string {
  const { columns, transaction, openText, warnings } = text;
  const { revision, openTransaction, worker } = transaction;
  if (state.resources.length === 0) return `Cluster ${stack}: nothing is recorded\n`;
  const head = `Cluster ${state.transaction?.target.cluster ?? stack}   revision ${revision}`;
  const standing = worker.kind === "alive" ? "is under way" : "is not finished";
  const open = openTransaction === null ? "" : `   transaction ${openTransaction} ${standing}`;
  const isSpread = machines.some(({ failureDomain }) => failureDomain !== undefined);
  const rows = machines.map((one) => [
    one.machine,
    phaseText(one),
    one.host,
    one.address,
    ...(isSpread ? [one.failureDomain ?? ""] : []),
    kubeletText(one),
  ]);
  const notes = [...pendingOperationLines(transaction, worker), ...warnings]
    .map((note) => `${note}\n`)
    .join("");
  const names = ["MACHINE", "PHASE", "HOST", "ADDRESS", ...(isSpread ? ["DOMAIN"] : []), "KUBELET"];
  const ways = openText === "" ? [] : ["", ...wrap(openText, columns), ""];
  return `${head}${open}\n\n${table(names, rows, columns)}${notes}${ways.join("\n")}`;
}

function phaseText({ phase, leaving }: MachineStatus): string {
  return leaving === undefined ? phase : `${phase}, to go`;
}

/** "1.34.2", or "1.33.6, wants 1.34.2" where something else runs than is wanted. */
function kubeletText({ kubelet, versions, leaving }: MachineStatus): string {
  if (leaving !== undefined) return versions?.kubelet ?? kubelet;
  return versions === undefined || versions.kubelet === kubelet
    ? kubelet
    : `${versions.kubelet}, wants ${kubelet}`;
}
