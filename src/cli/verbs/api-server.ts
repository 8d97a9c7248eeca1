import type { Command } from "commander";
import type { InstallCommandOptions } from "../commands/install.js";
import { does } from "../execute.js";
import { withExamples } from "./options.js";

/** The verbs that talk to an API server. */
export function addApiServerVerbs(program: Command): void {
  const install = withConnection(program.command("install"))
    .description("make the kinds known to an API server, and wait until it serves them")
    .option("--dry-run", "let the API server say what would change")
    .option("--force", "replace definitions of a newer release, and fields that others manage");
  withExamples(install, [
    ["capstan install", "into the current context; again at any time"],
    ["capstan install --context prod --dry-run", "what would change there"],
  ]);
  does<InstallCommandOptions>(install, async ({ options, context }) => {
    const { installCommand } = await import("../commands/install.js");
    return installCommand(options, context);
  });
}

/** --kubeconfig and --context, which every verb that talks to an API server has. */
export function withConnection(command: Command): Command {
  return command
    .option(
      "--kubeconfig <file>",
      "how to reach the API server (default: KUBECONFIG, ~/.kube/config, or the pod's account)",
    )
    .option("--context <name>", "a context of the kubeconfig (default: its current one)");
}
