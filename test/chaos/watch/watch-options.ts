import { parseArgs } from "node:util";
import { BadUsage, list, oneOf, pointsOf, wholeNumber } from "../options.js";
import { databaseFaults, watchFaults } from "./watch-fault.js";
import type { WatchCampaignOptions } from "./watch-campaign.js";
import { watchOperations } from "./watch-operation.js";

export const watchUsage = `npm run chaos -- --watch [options]
  --scenario DIR      a folder with the manifests of one cluster (default examples/quickstart)
  --operation LIST    of ${watchOperations.join(", ")} (default all)
  --kills LIST        what a leader meets: of ${watchFaults.join(", ")} (default all that the backend has)
  --backend file|postgres  file: two controllers of one machine; postgres: two machines under different names, with
                      stacks in a real PostgreSQL (default file)
  --seed N            what is drawn, is drawn by it (default 1)
  --points all|sample=N  every point, or N of them (default sample=25)
  --at TEXT           only boundaries whose text holds this
  --workers N         how many worlds side by side, each with an API server of its own (default 2)
  --out FILE          write each result as a line of JSON
`;

/** Reads the command line of a campaign over the watch loop. Throws BadUsage; undefined when only help was asked for. */
export function readWatchOptions(args: readonly string[]): WatchCampaignOptions | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const backend = oneOf("--backend", values.backend, ["file", "postgres"]);
  const known = watchFaults.filter(
    (fault) => backend === "postgres" || !databaseFaults.includes(fault),
  );
  return {
    scenario: values.scenario,
    backend,
    operations: list("--operation", values.operation, watchOperations),
    faults: values.kills === undefined ? known : list("--kills", values.kills, known),
    seed: wholeNumber("--seed", values.seed),
    points: pointsOf(values.points),
    at: values.at,
    workers: Math.max(1, wholeNumber("--workers", values.workers)),
    out: values.out,
  };
}

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        watch: { type: "boolean", default: true },
        help: { type: "boolean", default: false },
        scenario: { type: "string", default: "examples/quickstart" },
        operation: { type: "string", default: watchOperations.join() },
        kills: { type: "string" },
        backend: { type: "string", default: "file" },
        seed: { type: "string", default: "1" },
        points: { type: "string", default: "sample=25" },
        at: { type: "string" },
        workers: { type: "string", default: "2" },
        out: { type: "string" },
      },
    });
    return values;
  } catch (error) {
    throw new BadUsage((error as Error).message, { cause: error });
  }
}
