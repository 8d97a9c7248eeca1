import { allDefinitions } from "../../api/identity-crd.js";
import { connect, serverOf } from "../../kube/connection.js";
import { type Installed, installDefinitions } from "../../kube/install.js";
import type { CommandContext, GlobalOptions } from "../context.js";
import { exitCodes } from "../exit.js";

/** Which API server a command talks to. */
export interface ConnectionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface InstallCommandOptions extends GlobalOptions, ConnectionFlags {
  readonly dryRun?: boolean;
  readonly force?: boolean;
}

/** capstan install: makes the kinds known to an API server. */
export async function installCommand(
  options: InstallCommandOptions,
  { json, emit, terminal, env, interruption, providers }: CommandContext,
): Promise<number> {
  const config = connect({ ...options, env });
  const dryRun = options.dryRun === true;
  const server = serverOf(config);
  const definitions = allDefinitions(providers.all);
  const width = Math.max(...definitions.map(({ metadata }) => metadata.name.length));
  const installed = await installDefinitions(config, {
    definitions,
    dryRun,
    force: options.force === true,
    signal: interruption.stop,
    onInstalled: ({ name, outcome }) => {
      if (json) emit({ type: "definition", name, outcome, dryRun });
      else
        terminal.write(
          `${name.padEnd(width)} ${dryRun && outcome !== "unchanged" ? `would be ${outcome}` : outcome}\n`,
        );
    },
  });
  if (json) emit({ type: "install", server, dryRun, changed: changedIn(installed) });
  else terminal.write(`${summaryOf(installed, { server, dryRun })}\n`);
  return exitCodes.done;
}

function changedIn(installed: readonly Installed[]): number {
  return installed.filter(({ outcome }) => outcome !== "unchanged").length;
}

function summaryOf(
  installed: readonly Installed[],
  { server, dryRun }: { readonly server: string; readonly dryRun: boolean },
): string {
  const changed = changedIn(installed);
  if (dryRun)
    return `${changed} of ${installed.length} would change in ${server}; nothing was done`;
  return `All ${installed.length} are served by ${server}; kubectl get capstan shows their objects`;
}
