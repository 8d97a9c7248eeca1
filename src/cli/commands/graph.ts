import { clusterNameOf } from "../../api/types.js";
import { type GraphFormat, renderGraphs } from "../../graph/render.js";
import { type CommandContext, type GlobalOptions, loadManifests } from "../context.js";
import { exitCodes } from "../exit.js";
import type { ManifestOptions } from "../manifest-options.js";
import { firstTarget } from "../first-target.js";

export interface GraphOptions extends GlobalOptions, ManifestOptions {
  readonly format: GraphFormat;
}

/** capstan graph: what the manifests compile to, as if nothing existed yet. */
export function graphCommand(options: GraphOptions, context: CommandContext): number {
  const { clusters } = loadManifests(options, context);
  const graphs = clusters.map((desired) => {
    const { nodes } = firstTarget(desired, context);
    return { title: `Cluster ${clusterNameOf(desired.cluster)}`, nodes };
  });
  if (context.json) {
    for (const { title, nodes } of graphs) context.emit({ type: "graph", title, nodes });
  } else {
    context.terminal.write(renderGraphs(graphs, options.format));
  }
  return exitCodes.done;
}
