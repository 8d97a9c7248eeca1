import { type Command, InvalidArgumentError, Option } from "commander";
import { parseRemovals, type Removal, removals } from "../../api/protection.js";
import type { Variable } from "../manifest-options.js";
import { parseSetting, type Setting, variableName } from "../../manifest/override-forms.js";
import { canonicalVersion, minorOf } from "../../api/versions.js";
import { defaultDeadlineMs, defaultTimeoutSeconds } from "../../plan/deadline.js";

export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("expected a whole number");
  return Number(text);
}

/** At least one. */
export function engineCount(text: string): number {
  const count = wholeNumber(text);
  if (count === 0) throw new InvalidArgumentError("expected 1 or more");
  return count;
}

export function percentage(text: string): number {
  const percent = wholeNumber(text);
  if (percent > 100) throw new InvalidArgumentError("expected 0 to 100");
  return percent;
}

/** "local,aws": at least one name. */
export function names(text: string): readonly string[] {
  const all = text.split(",").map((name) => name.trim());
  if (all.includes("")) throw new InvalidArgumentError("expected names with commas between");
  return all;
}

/** "1.34.2" for "v1.34.2" and "1.34.2". */
export function kubernetesVersion(text: string): string {
  const version = canonicalVersion(text);
  if (minorOf(version) === undefined) {
    throw new InvalidArgumentError("expected a version such as 1.34.2");
  }
  return version;
}

const secondsIn = { s: 1, m: 60, h: 3_600 } as const;

/** "30", "30s", "5m", "1h": seconds. */
export function seconds(text: string): number {
  const [, count, unit = "s"] = /^(\d+)([smh])?$/.exec(text) ?? [];
  if (count === undefined) {
    throw new InvalidArgumentError("expected seconds, or a time such as 30s, 5m or 1h");
  }
  return Number(count) * secondsIn[unit as keyof typeof secondsIn];
}

export function share(text: string): number {
  if (!/^(0(\.\d+)?|1(\.0+)?)$/.test(text)) {
    throw new InvalidArgumentError("expected 0 to 1, e.g. 0.1");
  }
  return Number(text);
}

/** "default/prod", one of several. */
export function clusterName(text: string, earlier: readonly string[] = []): readonly string[] {
  if (!/^[^/\s]+\/[^/\s]+$/.test(text)) {
    throw new InvalidArgumentError("expected NAMESPACE/NAME, e.g. default/prod");
  }
  return [...earlier, text];
}

const collect = (value: string, earlier: string[]): string[] => [...earlier, value];

/** "REPLICAS=3". */
function variable(text: string, earlier: readonly Variable[] = []): readonly Variable[] {
  const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  if (variableName.test(name)) return [...earlier, { name, value }];
  throw new InvalidArgumentError("expected NAME=VALUE");
}

/** "REPLICAS,VERSION". */
function variableNames(text: string, earlier: readonly string[] = []): readonly string[] {
  const names = text.split(",");
  if (names.every((name) => variableName.test(name))) return [...earlier, ...names];
  throw new InvalidArgumentError("expected NAME, or several with a comma between");
}

/** "MachineDeployment/workers:spec.replicas=5". */
function setting(text: string, earlier: readonly Setting[] = []): readonly Setting[] {
  const parsed = parseSetting(text);
  if (parsed !== undefined) return [...earlier, parsed];
  throw new InvalidArgumentError(
    "expected KIND/NAME:PATH=VALUE, e.g. MachineDeployment/workers:spec.replicas=5",
  );
}

/** -R, of verbs that need manifests. */
export function withRecursion(command: Command): Command {
  return withFiles(command).option("-R, --recursive", "read the folders below named folders, too");
}

/** -f, and what is said beside manifests: every verb that reads manifests has them. */
export function withFiles(command: Command): Command {
  return withOverrides(withPaths(command));
}

/** What a command says beside its manifests. */
export function withOverrides(command: Command): Command {
  return command
    .option(
      "--set <[kind/name:]path=value>",
      "a value in the place of the manifests' own; may be repeated",
      setting,
    )
    .option(
      "--var <name=value>",
      `what \${NAME} stands for in manifests; may be repeated`,
      variable,
    )
    .option(
      "--var-from-env <names>",
      "variables of the environment that manifests may use",
      variableNames,
    );
}

/** -f alone, of a verb that only remembers manifests. */
export function withPaths(command: Command): Command {
  const about =
    "manifests: a file, a folder, a quoted pattern, or - for standard input; may be repeated";
  return command.addOption(
    new Option("-f, --file <path>", about).argParser(collect).default([], "none"),
  );
}

export function withTimeout(command: Command): Command {
  return command.option(
    "--timeout <seconds>",
    "how long hosts may take to run, or to go away",
    seconds,
    defaultTimeoutSeconds,
  );
}

export function withDeadline(command: Command): Command {
  return command.option(
    "--deadline <seconds>",
    "how long the whole change may take; then it is taken back",
    seconds,
    defaultDeadlineMs / 1_000,
  );
}

export function withYes(command: Command): Command {
  return command.option("-y, --yes", "do not ask");
}

/** What a person says of an answer of the cloud that is not believed. */
export function withThaw(command: Command): Command {
  return command.option(
    "--thaw <fingerprint>",
    "the implausible answer of the cloud with this fingerprint is true",
  );
}

/** "control-plane,workers". */
function removalList(text: string): readonly Removal[] {
  const parsed = parseRemovals(text);
  if (parsed !== undefined) return parsed;
  throw new InvalidArgumentError(`expected ${removals.join(" or ")}, or both with a comma between`);
}

/** --allow-removal, of verbs that could take away what a cluster cannot lose by accident. */
export function withRemoval(command: Command): Command {
  return command.option(
    "--allow-removal <what>",
    "let a cluster lose its control-plane, its workers, or both",
    removalList,
  );
}

/** --require-state, of verbs that only read: for schedules, which must not be green because they look nowhere. */
export function withStateRequired(command: Command): Command {
  return command.option("--require-state", "fail where nothing is recorded, instead of telling so");
}

/** Options that decide what a plan is made of. */
export function withPlanning(command: Command): Command {
  return withRemoval(command)
    .option("--adopt", "take over what the cloud holds of a cluster without state")
    .option("--details", "show all inputs of what is new")
    .option("--refresh-lookups", "look up again what is recorded, e.g. the newest image")
    .option("--prune", "delete clusters that these manifests no longer hold")
    .addOption(
      new Option(
        "--require <class>",
        "refuse steps that cannot be taken back as well as this",
      ).choices(["reversible", "compensable"]),
    );
}

/** Commands with what they do, at the end of a verb's help. */
export function withExamples(
  command: Command,
  examples: readonly (readonly [command: string, about: string])[],
): Command {
  const width = Math.max(...examples.map(([line]) => line.length));
  const lines = examples.map(([line, about]) => `  ${line.padEnd(width)}   ${about}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
