import { resolve } from "node:path";
import { digestOf } from "../api/digest.js";
import { CapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { isReadWith, notedPath } from "../manifest/files.js";
import type { Overrides } from "../manifest/overrides.js";
import { nameOfSetting, placeOfSetting, type Setting } from "../manifest/override-forms.js";
import type { Variables } from "../manifest/variables.js";
import { shellWord } from "../report/shell-word.js";

/** "--var REPLICAS=3". */
export interface Variable {
  readonly name: string;
  readonly value: string;
}

/** What a verb is told beside its manifests. */
export interface OverrideOptions {
  readonly set?: readonly Setting[];
  readonly var?: readonly Variable[];
  /** Names. */
  readonly varFromEnv?: readonly string[];
}

/** Manifests that a verb reads, with what it is told beside them. */
export interface ManifestOptions extends OverrideOptions {
  readonly file: readonly string[];
}

/** What is put into manifests. A value of the command line goes before one of the environment. */
export function overridesOf(
  { set = [], var: given, varFromEnv }: OverrideOptions,
  env: NodeJS.ProcessEnv,
): Overrides {
  const hasVariables = given !== undefined || varFromEnv !== undefined;
  const variables: Variables = new Map([
    ...(varFromEnv ?? []).map((name) => [name, env[name]] as const),
    ...(given ?? []).map(({ name, value }) => [name, value] as const),
  ]);
  return omitUndefined({ settings: set, variables: hasVariables ? variables : undefined });
}

/**
 * What a cluster comes from, to tell later whether it is missing there: absolute paths, then what can give it
 * another name. Nothing of standard input, which holds something else each time.
 */
export function sourcesOf(
  { file, set = [], var: given = [], varFromEnv = [] }: ManifestOptions,
  env: NodeJS.ProcessEnv,
): string[] {
  if (file.includes("-")) return [];
  return [
    ...file.map((path) => notedPath(resolve(path))),
    ...set.filter(renames).map(placeOfSetting),
    ...given.map(({ name, value }) => `--var ${name}=${value}`),
    ...varFromEnv.map((name) => `--var-from-env ${name} (${digestOf(env[name] ?? "", 16)})`),
  ];
}

/** Whether all of one is among others. A file in a folder that was read is, there or not, and no folder in it, and no value of an option; nothing is of standard input. Pure. */
export function isCovered(source: readonly string[], sources: readonly string[]): boolean {
  const read = new Set(sources);
  return (
    source.length > 0 &&
    source.every((one) => (isOption(one) ? read.has(one) : isReadWith(one, read)))
  );
}

/** The paths among what `sourcesOf` says. Pure. */
export function pathsIn(sources: readonly string[]): string[] {
  return sources.filter((source) => !isOption(source));
}

function isOption(source: string): boolean {
  return source.startsWith("--");
}

function renames({ path: [above, member] }: Setting): boolean {
  return above === "metadata" && (member === "name" || member === "namespace");
}

/** Throws BAD_USAGE for what is said beside manifests where none are named. */
export function refuseIdleOverrides(options: OverrideOptions, files: readonly string[]): void {
  const [first] = overrideNames(options);
  if (files.length > 0 || first === undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `${first} changes what manifests say, and none are named`,
    hint: "name them with -f",
  });
}

/** What is overridden, without the values: "--set Machine/cp-0:spec.x", "--var REPLICAS". */
export function overrideNames({
  set = [],
  var: given = [],
  varFromEnv = [],
}: OverrideOptions): string[] {
  return [
    ...set.map((setting) => `--set ${nameOfSetting(setting)}`),
    ...given.map(({ name }) => `--var ${name}`),
    ...varFromEnv.map((name) => `--var-from-env ${name}`),
  ];
}

/** The options again, as words of a shell: "-f clusters/prod --set Machine/a:spec.x=1". */
export function manifestWords({ file, ...overrides }: ManifestOptions): string {
  return [...file.map((path) => `-f ${path}`), ...overrideWords(overrides)].join(" ");
}

export function overrideWords({
  set = [],
  var: given = [],
  varFromEnv = [],
}: OverrideOptions): string[] {
  return [
    ...set.map(({ text }) => `--set ${shellWord(text)}`),
    ...given.map(({ name, value }) => `--var ${shellWord(`${name}=${value}`)}`),
    ...(varFromEnv.length === 0 ? [] : [`--var-from-env ${varFromEnv.join(",")}`]),
  ];
}
