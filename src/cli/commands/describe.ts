import { NodeReports } from "../../engine/run/node-reports.js";
import { openWorkload } from "../../kube/open-workload.js";
import { CapstanError, isCapstanError } from "../../api/error.js";
import { nearest } from "../../api/validate.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import { callContext } from "../../engine/run/handler-session.js";
import { type CommandContext, type GlobalOptions, openRecords } from "../context.js";
import type { ManifestOptions } from "../manifest-options.js";
import { type ClusterReport, describeCluster, type MachineReport } from "../describe-report.js";
import { clusterText, machineText } from "../describe-text.js";
import { exitCodes } from "../exit.js";
import { noClustersText, nothingRecorded, recordedProvider, stacksOf } from "./stacks.js";

export interface DescribeOptions extends GlobalOptions, ManifestOptions {}

/** "machine/NAME", also by the kind's other names. */
const machineArgument = /^(?:machines?|ma)\/(.+)$/i;

/**
 * capstan describe: clusters as trees with reasons, or single machines in full. Reads state and
 * cloud, changes nothing. Exit 1: the cloud could not be looked at, what is recorded was shown.
 */
export async function describeCommand(
  named: readonly string[],
  options: DescribeOptions,
  context: CommandContext,
): Promise<number> {
  const machines = named.flatMap((name) => machineArgument.exec(name)?.[1] ?? []);
  const stackNames = named.filter((name) => !machineArgument.test(name));
  const engine = await openRecords(options, context);
  const stacks = await stacksOf(stackNames, options, engine, context);
  if (stacks.length === 0 && machines.length === 0) {
    if (!context.json) context.terminal.write(context.suggest(noClustersText(engine)));
    return exitCodes.done;
  }
  const reports: ClusterReport[] = [];
  for (const stack of stacks) reports.push(await reportOf(stack, engine, context));
  if (stackNames.length > 0) await refuseUnknown(reports, stackNames, engine, context);
  if (machines.length > 0) showMachines(machines, reports, context);
  else reports.forEach((report) => showCluster(report, context));
  const failed = reports.some(({ cloudError }) => cloudError !== undefined);
  return failed ? exitCodes.failed : exitCodes.done;
}

async function reportOf(
  stack: string,
  engine: Engine,
  context: CommandContext,
): Promise<ClusterReport> {
  const { state, worker } = await engine.readWithWorker(stack);
  const provider = recordedProvider(stack, state, context);
  const { transaction } = state;
  const nowMs = context.clock.now();
  if (provider === undefined || transaction === undefined) {
    return describeCluster(stack, state, { nowMs, worker });
  }
  const call = callContext(context.clock, context.interruption.stop);
  const scope = { cluster: transaction.target.cluster, clusterUid: transaction.clusterUid };
  try {
    const looked = { provider, records: state, context: call, asksEtcd: true };
    const observation = await new NodeReports(openWorkload).observe(scope, looked);
    return describeCluster(stack, state, { nowMs, worker, provider, observation });
  } catch (error) {
    // On-call needs what is recorded most when the cloud is silent.
    if (!isCapstanError(error) || error.source !== "cloud") throw error;
    const observation = { failed: error.message };
    return describeCluster(stack, state, { nowMs, worker, provider, observation });
  }
}

function showCluster(report: ClusterReport, context: CommandContext): void {
  const { json, emit, terminal, suggest, clock } = context;
  if (json) emit({ type: "describe", ...report });
  else terminal.write(`${clusterText(report, { ...terminal, suggest }, clock.now())}\n`);
}

function showMachines(
  names: readonly string[],
  reports: readonly ClusterReport[],
  { json, emit, terminal, clock }: CommandContext,
): void {
  const all = reports.flatMap((report) => report.machines.map((machine) => ({ report, machine })));
  for (const name of names) {
    const found = all.filter(({ machine }) => machine.name === name);
    if (found.length === 0)
      throw noMachine(
        name,
        all.map(({ machine }) => machine),
      );
    for (const { report, machine } of found) {
      const { stack, cluster } = report;
      if (json) emit({ type: "machine", stack, cluster, ...machine });
      else terminal.write(`${machineText(report, machine, clock.now())}\n`);
    }
  }
}

function noMachine(name: string, known: readonly MachineReport[]): CapstanError {
  const names = known.map((machine) => machine.name);
  const near = nearest(name, names);
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    message: `cannot describe machine ${name}: it is not recorded`,
    hint:
      near !== undefined
        ? `did you mean machine/${near}?`
        : `recorded: ${names.length === 0 ? "no machines" : names.join(", ")}`,
  });
}

/** Throws NOT_FOUND for stacks that somebody named and that hold nothing. */
async function refuseUnknown(
  reports: readonly ClusterReport[],
  stackNames: readonly string[],
  engine: Engine,
  context: CommandContext,
): Promise<void> {
  const wanted = new Set(await stacksOf(stackNames, { file: [] }, engine, context));
  const unknown = reports.find(({ stack, cluster }) => cluster === undefined && wanted.has(stack));
  if (unknown === undefined) return;
  throw await nothingRecorded("describe", unknown.stack, engine);
}
