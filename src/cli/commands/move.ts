import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Engine } from "../../engine/pulumi/engine.js";
import type { StackState } from "../../engine/backend/state.js";
import { KubeApi } from "../../kube/api.js";
import { ClusterObjects } from "../../kube/cluster-objects.js";
import { connect, serverOf } from "../../kube/connection.js";
import { type CommandContext, openEngine } from "../context.js";
import { exitCodes } from "../exit.js";
import { MoveToApiServer } from "./move-to-api-server.js";
import { MoveToFiles } from "./move-to-files.js";
import { type Move, type Moved, type MoveOptions, tellStep } from "./moving.js";
import { nothingRecorded, recordedProvider, refuseNothingNamed, stacksOf } from "./stacks.js";

/**
 * capstan move: gives clusters another owner, manifests in files or an API server. Nothing in the cloud is
 * touched. Broken off at any point, nobody acts on the cluster but its one owner, and the same command goes on.
 */
export async function moveCommand(
  named: readonly string[],
  options: MoveOptions,
  context: CommandContext,
): Promise<number> {
  refuseNothingNamed(named, { file: [] });
  refuseWithoutFolder(options);
  const config = connect({ ...options, env: context.env });
  const api = new KubeApi(config);
  const server = await api.identity();
  const { engine } = await openEngine(options, context);
  for (const stack of await stacksOf(named, { file: [] }, engine, context)) {
    const state = await engine.readState(stack);
    const provider = recordedProvider(stack, state, context);
    const cluster = state.transaction?.target.cluster;
    if (provider === undefined || cluster === undefined) {
      throw await nothingRecorded("move", stack, engine);
    }
    const objects = new ClusterObjects({
      api,
      key: cluster,
      clock: context.clock,
      stop: context.interruption.stop,
      attempt: context.newClusterUid(),
    });
    const about = { stack, cluster, provider, objects, options, context, config };
    const move: Move = { ...about, server, serverUrl: serverOf(config) };
    tellMoved(move, await carriedOut(move, engine, state));
  }
  return exitCodes.done;
}

function carriedOut(move: Move, engine: Engine, state: StackState): Promise<Moved> {
  return move.options.to === "files"
    ? new MoveToFiles(move, engine).run(state)
    : new MoveToApiServer(move).run();
}

function refuseWithoutFolder({ to, out }: MoveOptions): void {
  if ((to === "files") === (out !== undefined)) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message:
      to === "files"
        ? "which folder? name the one for the manifests with --out"
        : "--out is where manifests go, and these go to an API server",
    hint: "e.g. capstan move default.quickstart --to files --out clusters",
  });
}

function tellMoved(move: Move, { text, transaction }: Moved): void {
  const { stack, cluster, context, options } = move;
  if (!context.json) return tellStep(move, context.suggest(text));
  const changed = transaction !== undefined;
  context.emit(
    omitUndefined({ type: "result", stack, cluster, to: options.to, changed, transaction }),
  );
}
