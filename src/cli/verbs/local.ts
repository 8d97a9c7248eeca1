import type { Command } from "commander";
import type { FaultOptions } from "../commands/local.js";
import type { GlobalOptions } from "../context.js";
import { does } from "../execute.js";
import { share, wholeNumber, withExamples } from "./options.js";

/** The verbs that play with the simulated cloud. */
export function addLocalVerbs(local: Command): void {
  const verbs = () => import("../commands/local.js");
  withExamples(local, [
    ["capstan local machines", "what runs"],
    ["capstan local kill cp-0", "then see what capstan plan says"],
    ["capstan local fault create lose", "the next create takes effect, its answer is lost"],
  ]);
  does<{ all?: boolean } & GlobalOptions>(
    local.command("machines").description("list hosts").option("--all", "terminated ones too"),
    async ({ options, context }) => (await verbs()).localMachines(options, context),
  );
  does(
    local
      .command("kill <name>")
      .description("terminate a resource behind the provider's back: a machine, a name or an id"),
    async ({ context }, name: string) => (await verbs()).localKill(name, context),
  );
  does(
    local
      .command("set <name> <field=value...>")
      .description("change fields of a resource behind the provider's back"),
    async ({ context }, name: string, fields: string[]) =>
      (await verbs()).localSet(name, fields, context),
  );
  addFault(local);
  does<{ after: number } & GlobalOptions>(
    local
      .command("ledger")
      .description("every call to the cloud and its effect, in order")
      .option("--after <seq>", "only entries after this number", wholeNumber, 0),
    async ({ options, context }) => (await verbs()).localLedger(options, context),
  );
}

function addFault(local: Command): void {
  const fault = local
    .command("fault [call] [mode]")
    .description(
      "make coming calls go wrong, e.g. create lose, or random ones; alone: list what is set",
    )
    .option("--name <prefix>", "only for resources whose name begins so")
    .option("--ms <n>", "milliseconds, for the modes that take time", wholeNumber)
    .option("--times <n>", "how many calls; 1 unless given", wholeNumber)
    .option("--probability <p>", "share of the calls that go wrong, 0 to 1", share)
    .option(
      "--seed <n>",
      "decides which calls go wrong, with --probability or for random",
      wholeNumber,
    )
    .option("--rate <p>", "random: share of all calls that go wrong, 0 to 1", share)
    .option("--modes <list>", "random: how they go wrong, comma-separated")
    .option("--clear", "forget all faults");
  does<FaultOptions & GlobalOptions>(
    fault,
    async ({ options, context }, call: string | undefined, mode: string | undefined) =>
      (await import("../commands/local.js")).localFault(call, mode, options, context),
  );
}
