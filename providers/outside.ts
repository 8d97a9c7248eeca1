import { existsSync, readFileSync } from "node:fs";
import { createRequire, registerHooks, type ResolveHookSync } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CapstanError, isCapstanError, messageOf } from "../src/api/error.js";
import { apiGroupOf } from "../src/api/served-versions.js";
import { nearest } from "../src/api/validate.js";
import { olderVersionProblems } from "../src/provider/older-versions.js";
import type { InfrastructureProvider, ProviderContext } from "../src/provider/port.js";

/** Where providers from outside are named. */
export interface OutsideProviders {
  /** The project's folder: its package.json, or the nearest above it, may hold `capstan.providers`. */
  readonly folder: string;
  /** CAPSTAN_PROVIDERS, comma-separated, overrides it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Told once, before code of any of them runs: which modules, and the folder that they are named in. */
  readonly loads?: (specifiers: readonly string[], base: string) => void;
}

/** A provider and where it comes from, as a user would say it. */
export interface Origin {
  readonly provider: InfrastructureProvider;
  readonly from: string;
}

/** Kinds in every graph that are no provider's. */
const reservedKinds = ["Machine", "Transaction", "Revision"];

/**
 * Loads the providers that a project names, in order: module specifiers and paths, relative to where
 * they are named. Errors: INVALID_INPUT, and NOT_FOUND for a module that does not exist.
 */
export function loadProviders(outside: OutsideProviders, context: ProviderContext): Origin[] {
  const { specifiers, base } = namedProviders(outside);
  if (specifiers.length > 0) outside.loads?.(specifiers, base);
  return specifiers.map((specifier) => ({
    provider: providerIn(loadModule(specifier, base), specifier, context),
    from: specifier,
  }));
}

/** Throws INVALID_INPUT when two providers cannot be told apart, or one takes a kind of ours. */
export function refuseClashes(origins: readonly Origin[]): void {
  const taken = new Map(reservedKinds.map((kind) => [`kind ${kind}`, "capstan itself"]));
  for (const { provider, from } of origins) {
    const { name, handlers } = provider;
    const kinds = [...handlers.keys()].map((kind) => `kind ${kind}`);
    const groups = groupsOf(provider).map((group) => `API group ${group}`);
    for (const claim of [`name ${name}`, ...groups, ...kinds]) {
      const other = taken.get(claim);
      if (other !== undefined) {
        throw invalid(
          `cannot use provider ${from}: ${claim} is already that of ${other}`,
          "take one of them out of capstan.providers, or have its author rename it",
        );
      }
      taken.set(claim, from);
    }
  }
}

/** The API group of a provider, and the former names of it. */
function groupsOf({ apiVersion, olderVersions = [] }: InfrastructureProvider): string[] {
  const former = olderVersions.flatMap(({ formerly = [] }) => formerly);
  return [...new Set([apiVersion, ...former].map(apiGroupOf))];
}

function namedProviders({ folder, env }: OutsideProviders): { specifiers: string[]; base: string } {
  const named = env["CAPSTAN_PROVIDERS"];
  if (named !== undefined) {
    const specifiers = named.split(",").map((one) => one.trim());
    return { specifiers: specifiers.filter((one) => one !== ""), base: resolve(folder) };
  }
  const file = packageFile(folder);
  return file === undefined
    ? { specifiers: [], base: folder }
    : { specifiers: providersOf(file), base: dirname(file) };
}

/** The package.json of a folder, or the nearest above it. */
function packageFile(folder: string): string | undefined {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const file = join(at, "package.json");
    if (existsSync(file)) return file;
    if (at === dirname(at)) return undefined;
  }
}

function providersOf(file: string): string[] {
  const content = readPackage(file) as { capstan?: { providers?: unknown } } | null;
  const providers = content?.capstan?.providers ?? [];
  if (
    Array.isArray(providers) &&
    providers.every((one): one is string => typeof one === "string")
  ) {
    return providers;
  }
  throw invalid(
    `cannot read ${file}: capstan.providers must be a list of modules`,
    'e.g. "capstan": { "providers": ["./provider.js"] }',
  );
}

function readPackage(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (cause) {
    throw invalid(`cannot read ${file}: ${messageOf(cause)}`, "correct the file", cause);
  }
}

function loadModule(specifier: string, base: string): unknown {
  const hooks = registerHooks({ resolve: withOurCapstan });
  try {
    return createRequire(join(base, "package.json"))(specifier);
  } catch (cause) {
    throw cannotLoad(specifier, base, cause);
  } finally {
    hooks.deregister();
  }
}

/** A provider that has no capstan of its own gets the one that loads it. */
const withOurCapstan: ResolveHookSync = (wanted, context, next) => {
  try {
    return next(wanted, context);
  } catch (error) {
    if (!/^capstan(\/|$)/.test(wanted)) throw error;
    const file = createRequire(import.meta.url).resolve(wanted);
    return { url: pathToFileURL(file).href, shortCircuit: true };
  }
};

function cannotLoad(specifier: string, base: string, cause: unknown): CapstanError {
  const code = (cause as { code?: unknown } | null)?.code;
  const message = messageOf(cause).split("\n")[0] ?? "";
  if (code === "MODULE_NOT_FOUND" && message.includes(`'${specifier}'`)) {
    return new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: specifier,
      message: `cannot load provider ${specifier}: there is no such module, seen from ${base}`,
      hint: "install it, or correct capstan.providers in package.json or CAPSTAN_PROVIDERS",
      cause,
    });
  }
  const hint =
    code === "ERR_REQUIRE_ASYNC_MODULE"
      ? "a provider's module must not use top-level await"
      : "the module itself has failed; docs/providers.md shows one that works";
  return invalid(`cannot load provider ${specifier}: ${message}`, hint, cause);
}

/** The default export, the export `provider`, or the module itself; a function is called. */
function providerIn(
  loaded: unknown,
  specifier: string,
  context: ProviderContext,
): InfrastructureProvider {
  const { default: byDefault, provider: byName } = membersOf(loaded);
  const exported = [byDefault, byName, loaded].find(
    (one) => typeof one === "function" || membersOf(one)["handlers"] !== undefined,
  );
  const made =
    typeof exported === "function"
      ? call(exported as (context: ProviderContext) => unknown, specifier, context)
      : exported;
  const problems = problemsOf(made);
  if (problems.length === 0) return made as InfrastructureProvider;
  throw invalid(
    `cannot use provider ${specifier}: ${problems.join("; ")}`,
    'export what defineProvider returns, or a function that returns it, as default or as "provider"',
  );
}

function call(
  make: (context: ProviderContext) => unknown,
  specifier: string,
  context: ProviderContext,
): unknown {
  try {
    return make(context);
  } catch (cause) {
    if (isCapstanError(cause)) throw cause;
    throw invalid(
      `cannot use provider ${specifier}: ${messageOf(cause)}`,
      "its function is called with { stateDir, clock, env } and has failed",
      cause,
    );
  }
}

/** What keeps a value from being a provider, in words. */
function problemsOf(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return ["it exports no provider"];
  if (value instanceof Promise) return ["its function must not be async"];
  const members = membersOf(value);
  const { olderVersions = [] } = members;
  const older: readonly unknown[] = Array.isArray(olderVersions) ? olderVersions : [];
  const versions = [members, ...older.map(membersOf)];
  const specs = ["clusterSpec", "machineSpec"].filter((spec) =>
    versions.some((version) => {
      const { kind, schema } = membersOf(version[spec]);
      return typeof kind !== "string" || typeof schema !== "object";
    }),
  );
  const words = ["name", "apiVersion", "hostKind"].filter(
    (word) => typeof members[word] !== "string" || members[word] === "",
  );
  const calls = ["compile", "verdict", "generationInputs", "inventory"].filter(
    (name) => typeof members[name] !== "function",
  );
  const { handlers, hostKind } = value as Partial<InfrastructureProvider>;
  const served = handlers instanceof Map && handlers.has(hostKind ?? "");
  return [
    ...words.map((word) => `${word} must be a text`),
    ...specs.map((spec) => `${spec} must have a kind and a schema`),
    ...olderVersionProblems(members["apiVersion"], olderVersions),
    ...calls.map((name) => `${name} must be a function`),
    ...(served ? [] : ["handlers must be a Map with a handler for hostKind"]),
    ...(handlers instanceof Map ? idleKeyInputs(members["keyInputs"], handlers) : []),
  ];
}

/** Kinds whose inputs plans would show, if there were any resource of them. */
function idleKeyInputs(keyInputs: unknown, handlers: ReadonlyMap<unknown, unknown>): string[] {
  const kinds = [...handlers.keys()].map(String);
  return Object.keys(membersOf(keyInputs))
    .filter((kind) => !kinds.includes(kind))
    .map((kind) => {
      const near = nearest(kind, kinds);
      const help = near === undefined ? `kinds: ${kinds.join(", ")}` : `did you mean ${near}?`;
      return `keyInputs.${kind} has no handler, ${help}`;
    });
}

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function invalid(message: string, hint: string, cause?: unknown): CapstanError {
  return new CapstanError({ code: "INVALID_INPUT", source: "user", message, hint, cause });
}
