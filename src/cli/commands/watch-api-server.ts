import { offeredProviders } from "../../../providers/offered.js";
import { CapstanError } from "../../api/error.js";
import { ControllerManager } from "../../controller/controller-manager.js";
import { visible } from "../../api/visible.js";
import { connect } from "../../kube/connection.js";
import { keepConnections } from "../../kube/kept-connections.js";
import { type CommandContext, openWorkspace } from "../context.js";
import { exitCodes } from "../exit.js";
import { refuseIdleOverrides } from "../manifest-options.js";
import { packageVersion } from "../package.js";
import { watchLog } from "../watch-log.js";
import { controllerSettings, type WatchOptions } from "./watch-options.js";

/** capstan watch: keeps the clusters of an API server as their objects want them, until it is stopped. */
export async function watchApiServer(
  options: WatchOptions,
  context: CommandContext,
): Promise<number> {
  const { env } = context;
  refuseIdleOverrides(options, []);
  refuseOwnPassphrase(options, env);
  const manager = new ControllerManager({
    settings: controllerSettings(options, context),
    config: keepConnections(connect({ ...options, env })),
    providers: offeredProviders(context.providers.all, options.providers),
    openWorkspace: () => openWorkspace(options, context),
    leaseNamespace: options.leaseNamespace,
    metricsAddress: options.metricsAddress,
    clusterMetrics: options.clusterMetrics === true,
    version: packageVersion(),
    log: watchLog(options.logLevel, context),
    // kubectl shows both as they are.
    redact: (text) => visible(context.secrets.scrub(text)),
    // Engines live in process groups of their own and see that we are gone.
    overrun: () => process.exit(exitCodes.failed),
  });
  await manager.start();
  return exitCodes.done;
}

/**
 * A passphrase that is made in the state folder is gone with a pod's, and with it the state that it has
 * encrypted in a backend that stays. Throws BAD_USAGE.
 */
function refuseOwnPassphrase({ backend }: WatchOptions, env: NodeJS.ProcessEnv): void {
  const given = env["PULUMI_CONFIG_PASSPHRASE"] ?? env["PULUMI_CONFIG_PASSPHRASE_FILE"];
  if (backend === undefined || given !== undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message:
      "cannot watch with a backend and no passphrase: each replica would make one of its own",
    hint: "set PULUMI_CONFIG_PASSPHRASE_FILE to a file that all replicas have (docs/state.md)",
  });
}
