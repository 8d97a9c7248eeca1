import { CapstanError } from "../../api/error.js";
import { isNameOf } from "../../api/kind-names.js";
import type { MachineGroup, OwnerMove } from "../../sets/moves.js";
import { type CommandContext, loadManifests } from "../context.js";
import { exitCodes } from "../exit.js";
import { withNamedFiles } from "../named-files.js";
import { manifestWords } from "../manifest-options.js";
import { bringAbout, type UpOptions } from "./up.js";

export type StateMoveOptions = Omit<UpOptions, "plan" | "adopt" | "prune" | "rollback">;

/**
 * capstan state move: machines get another owner, and then the manifests are brought about, in one transaction.
 * What `up` would delete and make anew, since a pool has another name, keeps its hosts.
 */
export async function stateMoveCommand(
  words: readonly string[],
  given: StateMoveOptions,
  context: CommandContext,
): Promise<number> {
  const moves = movesIn(words);
  const options = withNamedFiles({ ...given, rollback: true }, "state move", context);
  const manifests = loadManifests(options, context);
  const [desired, ...others] = manifests.clusters;
  if (desired === undefined || others.length > 0) throw severalClusters(manifests.clusters.length);
  const command = `capstan state move ${manifestWords(options)} ${words.join(" ")}`;
  await bringAbout({ desired, manifests, moves }, options, context, { command });
  return exitCodes.done;
}

/** "FROM TO FROM TO". Throws BAD_USAGE. */
function movesIn(words: readonly string[]): OwnerMove[] {
  if (words.length % 2 === 1) {
    throw badUsage(`where is ${words.at(-1) ?? ""} to go? from and to come in pairs`);
  }
  const names = words.map(groupNamed);
  return names.flatMap((from, index) => {
    const to = names[index + 1];
    return index % 2 === 1 || to === undefined ? [] : [{ from, to }];
  });
}

const kinds = ["Machine", "MachineSet", "MachineDeployment"] as const;

/** "MachineDeployment/workers", "md/workers". Throws BAD_USAGE. */
function groupNamed(word: string): MachineGroup {
  const [prefix = "", name = "", ...more] = word.split("/");
  const kind = kinds.find((one) => isNameOf(one, prefix));
  if (kind !== undefined && name !== "" && more.length === 0) return { kind, name };
  throw badUsage(`${word} names no machines: KIND/NAME does, with KIND one of ${kinds.join(", ")}`);
}

function badUsage(message: string): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message,
    hint: "e.g. capstan state move -f DIR MachineDeployment/workers MachineDeployment/general",
  });
}

function severalClusters(count: number): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `machines move within one cluster, and these manifests hold ${count}`,
    hint: "name the manifests of one cluster with -f; nothing was changed",
  });
}
