import type { Command } from "commander";
import type { ImportOptions } from "../commands/import.js";
import { does } from "../execute.js";
import { withDeadline, withExamples, withRecursion, withTimeout, withYes } from "./options.js";

/** capstan import: a host that was there before serves a Machine. */
export function addImportVerb(program: Command): void {
  const verb = withDeadline(withTimeout(withYes(withRecursion(program.command("import")))))
    .argument("<stack>", "which cluster")
    .argument("<kind/name>", "the Machine of the manifests that is to have the host: Machine/db-0")
    .argument("<id>", "what the cloud calls the host")
    .description("make a host that is there serve a machine: it gets our marks and a record");
  withExamples(verb, [
    ["capstan import default/prod Machine/db-0 host-5f1c -f prod", "shows the plan and asks"],
    ["capstan up --adopt -f prod", "takes over a whole cluster whose state is lost"],
  ]);
  does<ImportOptions>(
    verb,
    async ({ options, context }, stack: string, machine: string, id: string) => {
      const { importCommand } = await import("../commands/import.js");
      return importCommand(stack, { machine, id }, options, context);
    },
  );
}
