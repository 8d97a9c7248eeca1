import { callContext } from "../engine/run/handler-session.js";
import { NodeReports } from "../engine/run/node-reports.js";
import type { RunEvent } from "../engine/run/run-event.js";
import { openWorkload } from "../kube/open-workload.js";
import { providerFor } from "../provider/for-cluster.js";
import type { CommandContext } from "./context.js";
import { runEventDocument } from "./outcome.js";
import { runEventLine } from "./progress.js";
import type { ClusterOf, Surveyed } from "./survey-cluster.js";

/**
 * What a run does at its end, for a cluster of which nothing is to be changed: an earlier command may have died before it.
 * Objects that change are named.
 */
export async function settleCluster(
  { observation, state: records }: Surveyed,
  { desired }: ClusterOf,
  context: CommandContext,
): Promise<void> {
  const { clock, interruption, providers, terminal } = context;
  const provider = providerFor(desired.cluster, providers.all);
  const looked = { provider, records, context: callContext(clock, interruption.stop) };
  const report = (event: RunEvent) => {
    if (context.json) context.emit(runEventDocument(event));
    else terminal.write(`${runEventLine(event) ?? ""}\n`);
  };
  await new NodeReports(openWorkload).keepMarks(observation, looked, report);
}
