import { type Command, Option } from "commander";
import type { InstallCommandOptions } from "../commands/install.js";
import type { MoveOptions } from "../commands/moving.js";
import { logLevels } from "../../controller/log-levels.js";
import { does } from "../execute.js";
import type { WatchOptions } from "../commands/watch-options.js";
import { defaultMaxSharePercent, pruneGraceMinutes } from "../../sweep/limits.js";
import {
  engineCount,
  names,
  percentage,
  seconds,
  wholeNumber,
  withDeadline,
  withExamples,
  withFiles,
  withTimeout,
} from "./options.js";

/** The verbs that talk to an API server. */
export function addApiServerVerbs(program: Command): void {
  const install = withConnection(program.command("install"))
    .description("make the kinds known to an API server, and wait until it serves them")
    .option("--dry-run", "let the API server say what would change")
    .option(
      "--force",
      "replace our definitions of a newer release, and fields of them that others manage",
    );
  withExamples(install, [
    ["capstan install", "into the current context; again at any time"],
    ["capstan install --context prod --dry-run", "what would change there"],
  ]);
  does<InstallCommandOptions>(install, async ({ options, context }) => {
    const { installCommand } = await import("../commands/install.js");
    return installCommand(options, context);
  });
}

/** capstan watch: the loop. */
export function addWatchVerb(program: Command): void {
  const watch = withDeadline(withTimeout(withConnection(withFiles(program.command("watch")))))
    .description("keep clusters as their objects want them, for ever")
    .option("--prune", "with -f: delete clusters that these manifests no longer hold")
    .option(
      "--grace <minutes>",
      "with --prune: how long one has to be missing first",
      wholeNumber,
      pruneGraceMinutes,
    )
    .option(
      "--max-share <percent>",
      "with --prune: delete none while more of all clusters are missing",
      percentage,
      defaultMaxSharePercent,
    )
    .option("--period <seconds>", "between two looks for drift, e.g. 30s", seconds, 30)
    .option(
      "--engines <count>",
      "engines at the same time, one of them for namespaces that have none",
      engineCount,
      3,
    )
    .option("--concurrency <count>", "clusters at the same time", wholeNumber, 500)
    .option(
      "--providers <names>",
      "those that objects of an API server may use, with commas between (default: all but local)",
      names,
    )
    .option("--lease-namespace <name>", "where replicas agree on who leads", "default")
    .option("--metrics-address <address>", "serve /metrics, /healthz and /readyz there, e.g. :8080")
    .option("--cluster-metrics", "also series for each cluster")
    .addOption(
      new Option("--log-level <level>", "what is worth a line").choices(logLevels).default("info"),
    );
  withExamples(watch, [
    ["capstan watch", "the objects in the current context's API server"],
    ["capstan watch -f clusters --period 30s", "the manifests in a folder"],
  ]);
  does<WatchOptions>(watch, async ({ options, context }) => {
    if (options.file.length > 0) {
      const { watchFiles } = await import("../commands/watch-files.js");
      return watchFiles(options, context);
    }
    const { watchApiServer } = await import("../commands/watch-api-server.js");
    return watchApiServer(options, context);
  });
}

/** capstan move: from files to an API server, and back. */
export function addMoveVerb(program: Command): void {
  const move = withConnection(program.command("move"))
    .argument("<stack...>", "whose owner changes")
    .description(
      "give clusters to an API server, or back to files; nothing in the cloud is touched",
    )
    .addOption(
      new Option("--to <owner>", "who owns them from then on")
        .choices(["files", "kubernetes"])
        .makeOptionMandatory(),
    )
    .option("--out <folder>", "with --to files: where their manifests go")
    .option("--force", "with --to files: write over files that are there")
    .option("--timeout <seconds>", "how long a controller may take to rest", wholeNumber, 600)
    .option("--lease-namespace <name>", "where replicas agree on who leads", "default");
  withExamples(move, [
    ["capstan move default.quickstart --to kubernetes", "its objects are in the API server then"],
    [
      "capstan move default.quickstart --to files --out clusters",
      "its manifests are in clusters then",
    ],
  ]);
  does<MoveOptions>(move, async ({ options, context }, stacks: string[]) => {
    const { moveCommand } = await import("../commands/move.js");
    return moveCommand(stacks, options, context);
  });
}

/** --kubeconfig and --context, which every verb that talks to an API server has. */
function withConnection(command: Command): Command {
  return command
    .option(
      "--kubeconfig <file>",
      "how to reach the API server (default: KUBECONFIG, ~/.kube/config, or the pod's account)",
    )
    .option("--context <name>", "a context of the kubeconfig (default: its current one)");
}
