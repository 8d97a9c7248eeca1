import { readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { CapstanError } from "../../api/error.js";
import { makeFile, makeFolder } from "../../engine/backend/durable-files.js";
import type { CommandContext, GlobalOptions } from "../context.js";
import { exitCodes } from "../exit.js";
import { packageFolder } from "../package.js";
import { refuseOccupied } from "./init.js";

export interface InitProviderOptions extends GlobalOptions {
  /** Name of the npm package, e.g. "capstan-provider-acme" or "@acme/provider". */
  readonly providerPackage: string;
}

/** The package that is copied: it is a provider that passes, for a cloud called acme. */
const starter = fileURLToPath(new URL("examples/provider-starter/", packageFolder));

/** capstan init --provider-package: writes a package with a provider, its tests and its CI into a folder that holds nothing yet. */
export function initProviderCommand(
  given: string | undefined,
  { providerPackage }: InitProviderOptions,
  context: CommandContext,
): number {
  const names = namesOf(providerPackage);
  const folder = given ?? names.folder;
  refuseOccupied(folder);
  const files = readdirSync(starter, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(starter, join(entry.parentPath, entry.name)))
    .sort();
  makeFolder(folder, 0o777);
  const release = releaseFrom(folder);
  for (const file of files) {
    const path = join(folder, file);
    makeFolder(dirname(path), 0o777);
    makeFile(path, renamed(readFileSync(join(starter, file), "utf8"), names, release));
  }
  const paths = files.map((file) => join(folder, file));
  const { name } = names;
  if (context.json) {
    context.emit({ type: "init", package: providerPackage, provider: name, files: paths });
    return exitCodes.done;
  }
  context.terminal.write(
    [
      `Package ${providerPackage} with provider ${name}:`,
      ...paths.map((path) => `  ${path}`),
      "",
      `Next: cd ${folder}, npm install, npm test; README.md says what to fill in`,
      "",
    ].join("\n"),
  );
  return exitCodes.done;
}

interface Names {
  /** Of the package. */
  readonly package: string;
  /** Of the provider: "acme". */
  readonly name: string;
  /** What its kinds begin with: "Acme". */
  readonly stem: string;
  readonly folder: string;
}

/** Throws BAD_USAGE for a name that no package, or no provider, can have. */
function namesOf(given: string): Names {
  const [, folder = "", name = ""] =
    /^(?:@[a-z0-9][\w.-]*\/)?((?:capstan-provider-)?([a-z][a-z0-9]*(?:-[a-z0-9]+)*))$/.exec(
      given,
    ) ?? [];
  if (name !== "" && given.length <= 100) {
    const stem = name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
    return { package: given, name, stem, folder };
  }
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `${given} cannot be the name of a provider's package`,
    hint: "names have lower-case letters, digits and single dashes, and may have a scope: capstan-provider-acme, @acme/capstan-provider-acme",
  });
}

/** The folder of this release as a dependency of a package in a folder: no registry has it. */
function releaseFrom(folder: string): string {
  const path = relative(realpathSync(folder), realpathSync(fileURLToPath(packageFolder)));
  return `file:${path.split(sep).join("/")}`;
}

/** All names in the starter have acme in them, and nothing else has; its dependency is the release that it is part of. */
function renamed(text: string, { package: whole, name, stem }: Names, release: string): string {
  return text.replaceAll(/capstan-provider-acme|acme|Acme|file:\.\.\/\.\./g, (found) => {
    if (found.startsWith("file:")) return release;
    if (found === "acme") return name;
    return found === "Acme" ? stem : whole;
  });
}
