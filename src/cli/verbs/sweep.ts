import type { Command } from "commander";
import type { SweepOptions } from "../commands/sweep.js";
import { defaultGraceMinutes, defaultMaxSharePercent } from "../../sweep/limits.js";
import { changes } from "../execute.js";
import { clusterName, percentage, wholeNumber, withExamples, withTimeout } from "./options.js";

/** The verb that cleans up after clusters: sweep. */
export function addSweepVerb(program: Command): void {
  const sweep = withTimeout(
    program
      .command("sweep")
      .description(
        "list what clusters left in the cloud and none of them wants; delete it on request",
      )
      .option("-y, --yes", "delete it; without it nothing is changed")
      .option("--grace <minutes>", "leave alone what is younger", wholeNumber, defaultGraceMinutes)
      .option(
        "--max-share <percent>",
        "refuse to delete more of all that is owned",
        percentage,
        defaultMaxSharePercent,
      )
      .option(
        "--lost-cluster <namespace/name>",
        "also what a cluster owns whose stack is lost; may be repeated",
        clusterName,
        [] as readonly string[],
      )
      .option("--kept-data", "also volumes that may be kept when their hosts go"),
  );
  withExamples(sweep, [
    ["capstan sweep", "look; exit 0: nothing, 2: something was found"],
    ["capstan sweep --yes", "delete what was found"],
    ["capstan sweep --yes --grace 0", "also what was made a moment ago"],
    ["capstan sweep --yes --lost-cluster default/old", "also a cluster that no stack holds"],
  ]);
  changes<SweepOptions>(sweep, async ({ options, context }) => {
    const { sweepCommand } = await import("../commands/sweep.js");
    return sweepCommand(options, context);
  });
}
