import { callContext } from "../../engine/session.js";
import { look } from "../../engine/look.js";
import type { StackState } from "../../engine/state.js";
import { cloudResources, type PriorState } from "../../plan/target.js";
import { type CommandContext, type GlobalOptions, openEngine } from "../context.js";
import { exitCodes } from "../exit.js";
import { table } from "../table.js";
import { recordedProvider, stacksOf } from "./stacks.js";

export interface StatusOptions extends GlobalOptions {
  readonly file: readonly string[];
}

interface MachineStatus {
  readonly machine: string;
  readonly phase: string;
  readonly host: string;
  readonly address: string;
  readonly kubelet: string;
}

/** capstan status: what is recorded and what the cloud shows. Changes nothing. */
export async function statusCommand(
  named: readonly string[],
  options: StatusOptions,
  context: CommandContext,
): Promise<number> {
  const { engine } = await openEngine(options, context);
  const stacks = await stacksOf(named, options.file, engine, context);
  if (stacks.length === 0 && !context.json) {
    context.terminal.write("No clusters yet. Next: capstan plan -f DIR\n");
  }
  for (const stack of stacks) {
    const state = await engine.readState(stack);
    const machines = await machinesOf(stack, state, context);
    if (context.json) context.emit({ type: "status", stack, ...transactionOf(state), machines });
    else context.terminal.write(statusText(stack, state, machines, context.terminal.columns));
  }
  return exitCodes.done;
}

async function machinesOf(
  stack: string,
  state: StackState,
  context: CommandContext,
): Promise<MachineStatus[]> {
  const provider = recordedProvider(stack, state, context);
  const { transaction } = state;
  if (provider === undefined || transaction === undefined) return [];
  const call = callContext(context.clock, context.interruption.stop);
  const { cluster } = transaction.target;
  const scope = { cluster, clusterUid: transaction.clusterUid };
  const { sightings } = await look(provider, call, scope, state);
  return transaction.target.machines.map(({ name, host, spec }) => {
    const record = cloudResources(state).find(({ key }) => key === host);
    const seen = sightings.get(host);
    const status = seen === undefined || seen === "gone" ? {} : seen.status;
    return {
      machine: name,
      phase:
        record === undefined ? "planned" : seen === "gone" ? "gone" : (seen?.phase ?? "unknown"),
      host: record?.id ?? "",
      address: typeof status["address"] === "string" ? status["address"] : "",
      kubelet: spec.versions.kubelet,
    };
  });
}

function transactionOf({ transaction, revision, pending }: PriorState) {
  return {
    revision: revision?.number ?? 0,
    openTransaction:
      transaction !== undefined && transaction.number !== revision?.number
        ? transaction.number
        : null,
    interruptedOperations: pending.map(({ type, key }) => `${type} ${key}`),
  };
}

function statusText(
  stack: string,
  state: PriorState,
  machines: readonly MachineStatus[],
  columns: number,
): string {
  const { revision, openTransaction, interruptedOperations } = transactionOf(state);
  if (state.resources.length === 0) return `Cluster ${stack}: nothing is recorded\n`;
  const head = `Cluster ${state.transaction?.target.cluster ?? stack}   revision ${revision}`;
  const open = openTransaction === null ? "" : `   transaction ${openTransaction} is not finished`;
  const rows = machines.map(({ machine, phase, host, address, kubelet }) => [
    machine,
    phase,
    host,
    address,
    kubelet,
  ]);
  const notes = interruptedOperations.map((operation) => `interrupted: ${operation}\n`).join("");
  const names = ["MACHINE", "PHASE", "HOST", "ADDRESS", "KUBELET"];
  return `${head}${open}\n\n${table(names, rows, columns)}${notes}`;
}
