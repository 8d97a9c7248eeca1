import { clusterNameOf } from "../../api/types.js";
import { type GraphFormat, renderGraphs } from "../../graph/render.js";
import { defaultDeadlineMs } from "../../plan/deadline.js";
import { makePlan } from "../../plan/plan.js";
import { emptyState } from "../../plan/target.js";
import { type CommandContext, type GlobalOptions, loadManifests, providerOf } from "../context.js";
import { exitCodes } from "../exit.js";

export interface GraphOptions extends GlobalOptions {
  readonly file: readonly string[];
  readonly format: GraphFormat;
}

/** capstan graph: what the manifests compile to, as if nothing existed yet. */
export function graphCommand(options: GraphOptions, context: CommandContext): number {
  const { clusters } = loadManifests(options.file, context);
  const graphs = clusters.map((desired) => {
    const { target } = makePlan({
      wish: { kind: "objects", desired },
      provider: providerOf(desired, context),
      prior: emptyState,
      sightings: new Map(),
      strangers: [],
      newClusterUid: "",
      nowMs: 0,
      owner: "files",
      ...{ direction: "forward", by: context.by, deadlineMs: defaultDeadlineMs },
    });
    return { title: `Cluster ${clusterNameOf(desired.cluster)}`, nodes: target.nodes };
  });
  if (context.json) {
    for (const { title, nodes } of graphs) context.emit({ type: "graph", title, nodes });
  } else {
    context.terminal.write(renderGraphs(graphs, options.format));
  }
  return exitCodes.done;
}
