import { resolve } from "node:path";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { StackState } from "../../engine/backend/state.js";
import { KubeApi } from "../../kube/api.js";
import { ClusterObjects } from "../../kube/cluster-objects.js";
import { connect, serverOf } from "../../kube/connection.js";
import { leaseClock } from "../../kube/lease-clock.js";
import { LeaderObserver } from "../../kube/leader-observer.js";
import { leaseInApiServer, leaseName } from "../../kube/lease-store.js";
import { forgetManifests, rememberManifests } from "../stack-settings.js";
import { type CommandContext, openEngine, withLockedEngine } from "../context.js";
import { exitCodes } from "../exit.js";
import { MoveToApiServer } from "./move-to-api-server.js";
import { MoveToFiles } from "./move-to-files.js";
import type { Move, Moved, MoveOptions } from "./moving.js";
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
  const where = { namespace: options.leaseNamespace, name: leaseName };
  const leader = new LeaderObserver(leaseInApiServer(config, where), leaseClock());
  const { engine, workspace } = await openEngine(options, context);
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
    const move: Move = {
      stack,
      cluster,
      provider,
      objects,
      server,
      options,
      context,
      serverUrl: serverOf(config),
      readState: () => engine.readState(stack),
      isLed: () => leader.isLed(context.interruption.stop),
      locked: (work) => {
        const command = `capstan move ${stack} --to ${options.to}`;
        return withLockedEngine(options, context, { stack, command }, work);
      },
      noteManifests: (folder) => {
        forgetManifests(workspace, stack);
        if (folder !== undefined) rememberManifests(workspace, stack, [resolve(folder)]);
      },
      tell: (text) => {
        if (!context.json) context.terminal.write(`${stack}: ${text}\n`);
      },
    };
    tellMoved(move, await carriedOut(options.to, move, state), { to: options.to, context });
  }
  return exitCodes.done;
}

function carriedOut(to: MoveOptions["to"], move: Move, state: StackState): Promise<Moved> {
  return to === "files" ? new MoveToFiles(move).run(state) : new MoveToApiServer(move).run();
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

function tellMoved(
  { stack, cluster, tell }: Move,
  { text, transaction }: Moved,
  { to, context }: { readonly to: MoveOptions["to"]; readonly context: CommandContext },
): void {
  if (!context.json) return tell(context.suggest(text));
  const changed = transaction !== undefined;
  context.emit(omitUndefined({ type: "result", stack, cluster, to, changed, transaction }));
}
