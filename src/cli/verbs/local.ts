import type { Command } from "commander";
import type { FaultOptions } from "../commands/local.js";
import type { GlobalOptions } from "../context.js";
import { does, looks } from "../execute.js";
import { share, wholeNumber, withExamples } from "./options.js";

const verbs = () => import("../commands/local.js");

/** The verbs that play with the simulated cloud. */
export function addLocalVerbs(local: Command): void {
  withExamples(local, [
    ["capstan local machines", "what runs"],
    ["capstan local kill cp-0", "then see what capstan plan says"],
    ["capstan local fault create lose", "the next create takes effect, its answer is lost"],
  ]);
  addMachines(local);
  addKillAndSet(local);
  addFault(local);
  addLedger(local);
  addFound(local);
  addInstall(local);
}

/** What hosts run that are not simulated. */
function addInstall(local: Command): void {
  const install = local
    .command("install [version]")
    .description(
      "set up the programs of Kubernetes that hosts run which are not simulated, the newest ones by default",
    );
  withExamples(install, [
    ["capstan local install", "once, before nodes: processes of a LocalClusterProviderSpec"],
  ]);
  looks<GlobalOptions>(install, async ({ context }, version: string | undefined) =>
    (await verbs()).localInstall(version, context),
  );
}

/** What clusters find and have not made. */
function addFound(local: Command): void {
  const network = local
    .command("network")
    .description("make a network that belongs to nobody, and print its id")
    .option("--cidr <range>", "its address range", "10.0.0.0/16");
  withExamples(network, [
    ["capstan local network --cidr 10.9.0.0/16", "for network of a LocalClusterProviderSpec"],
  ]);
  does<{ cidr: string } & GlobalOptions>(network, async ({ options, context }) =>
    (await verbs()).localNetwork(options, context),
  );

  const image = local
    .command("image [family] [name]")
    .description("make an image the newest of its family; alone: list images, oldest first");
  withExamples(image, [
    ["capstan local image ubuntu local/ubuntu-26.04", "then see capstan plan --refresh-lookups"],
  ]);
  does(image, async ({ context }, family: string | undefined, name: string | undefined) =>
    (await verbs()).localImage(family, name, context),
  );
}

function addMachines(local: Command): void {
  const machines = local
    .command("machines")
    .description("list hosts")
    .option("--all", "terminated ones too");
  withExamples(machines, [["capstan local machines --all", "every host there ever was"]]);
  looks<{ all?: boolean } & GlobalOptions>(machines, async ({ options, context }) =>
    (await verbs()).localMachines(options, context),
  );
}

function addKillAndSet(local: Command): void {
  const kill = local
    .command("kill <name>")
    .description("terminate a resource behind the provider's back: a machine, a name or an id")
    .option("--ms <n>", "so many milliseconds from now; a spot host tells of it", wholeNumber);
  withExamples(kill, [
    ["capstan local kill cp-0", "the host of Machine cp-0"],
    ["capstan local kill spot-0 --ms 120000", "the cloud takes it away in two minutes"],
  ]);
  does<{ ms?: number } & GlobalOptions>(kill, async ({ options, context }, name: string) =>
    (await verbs()).localKill(name, options, context),
  );

  const stop = local
    .command("stop <name>")
    .description("stop a simulated host behind the provider's back; it keeps all that it has");
  withExamples(stop, [["capstan local stop web-0", "then capstan up starts it again"]]);
  does(stop, async ({ context }, name: string) => (await verbs()).localStop(name, context));

  const set = local
    .command("set <name> <field=value...>")
    .description("change fields of a resource behind the provider's back");
  withExamples(set, [["capstan local set cp-0 size=large diskGib=40", "drift of two fields"]]);
  does(set, async ({ context }, name: string, fields: string[]) =>
    (await verbs()).localSet(name, fields, context),
  );
}

function addFault(local: Command): void {
  const fault = local
    .command("fault [call] [mode]")
    .description(
      "make coming calls go wrong, e.g. create lose, or random ones, or a program of a host; alone: list what is set",
    )
    .option("--name <prefix>", "only for resources whose name begins so; the host of a program")
    .option("--exact", "--name is the whole name; without it only calls about no single resource")
    .option("--skip <n>", "how many of these calls go well first", wholeNumber)
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
  withExamples(fault, [
    ["capstan local fault create fail --name workers", "the next create of a worker fails"],
    ["capstan local fault list hang --exact --skip 1", "the second listing of everything hangs"],
    ["capstan local fault random --rate 0.1 --seed 7", "a tenth of all calls, the same each time"],
    ["capstan local fault etcd hang --name cp-1", "it stands still, until etcd goOn"],
    ["capstan local fault etcd fillDisk --name cp-1", "it can write nothing, until freeDisk"],
    ["capstan local fault --clear", "all calls go well again"],
  ]);
  does<FaultOptions & GlobalOptions>(
    fault,
    async ({ options, context }, call: string | undefined, mode: string | undefined) =>
      (await verbs()).localFault(call, mode, options, context),
  );
}

function addLedger(local: Command): void {
  const ledger = local
    .command("ledger")
    .description("every call to the cloud and its effect, in order")
    .option("--after <seq>", "only entries after this number", wholeNumber, 0);
  withExamples(ledger, [["capstan local ledger --after 40", "what happened since"]]);
  looks<{ after: number } & GlobalOptions>(ledger, async ({ options, context }) =>
    (await verbs()).localLedger(options, context),
  );
}
