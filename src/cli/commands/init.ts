import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { CapstanError } from "../../api/error.js";
import type { ProviderSpecs } from "../../api/provider-specs.js";
import { fieldsToFillIn, scaffoldCluster } from "../../api/scaffold.js";
import { nearest } from "../../api/validate.js";
import { makeFile, makeFolder } from "../../engine/backend/durable-files.js";
import type { CommandContext, GlobalOptions } from "../context.js";
import { exitCodes } from "../exit.js";

export interface InitOptions extends GlobalOptions {
  readonly provider: string;
  readonly name?: string;
  readonly workers: number;
  readonly controlPlanes: number;
}

/** capstan init: writes the manifests of a new cluster into a folder that holds nothing yet. */
export function initCommand(folder: string, options: InitOptions, context: CommandContext): number {
  const name = options.name ?? basename(resolve(folder));
  const { workers, controlPlanes } = options;
  const provider = findProvider(options.provider, context.providers.all);
  const files = scaffoldCluster({ name, provider, workers, controlPlanes });
  refuseOccupied(folder);
  makeFolder(folder, 0o777);
  const paths = files.map((file) => join(folder, file.name));
  // Whoever wrote there in the meantime keeps what they wrote.
  for (const file of files) makeFile(join(folder, file.name), file.text);
  if (context.json) {
    context.emit({
      type: "init",
      cluster: `default/${name}`,
      provider: provider.name,
      files: paths,
      fillIn: fieldsToFillIn(provider),
    });
    return exitCodes.done;
  }
  const needed = fieldsToFillIn(provider);
  const first =
    needed.length === 0 ? "" : `write ${needed.join(", ")} into ${paths[0] ?? folder}, then `;
  context.terminal.write(
    [
      `Cluster default/${name} for provider ${provider.name}:`,
      ...paths.map((path) => `  ${path}`),
      "",
      context.suggest(`Next: ${first}capstan plan -f ${folder}, then capstan up -f ${folder}`),
      "",
    ].join("\n"),
  );
  return exitCodes.done;
}

function findProvider(name: string, providers: readonly ProviderSpecs[]): ProviderSpecs {
  const found = providers.find((provider) => provider.name === name);
  if (found !== undefined) return found;
  const names = providers.map((provider) => provider.name);
  const near = nearest(name, names);
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `there is no provider ${name}`,
    hint: near === undefined ? `providers: ${names.join(", ")}` : `did you mean ${near}?`,
  });
}

/** Throws BAD_USAGE for a folder that holds something, and for what is no folder. */
export function refuseOccupied(folder: string): void {
  if (!existsSync(folder)) return;
  const inside = readOrNothing(folder);
  if (inside?.length === 0) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    subject: folder,
    message:
      inside === undefined
        ? `cannot write into ${folder}: it is not a folder`
        : `cannot write into ${folder}: it holds ${inside.slice(0, 3).join(", ")}${inside.length > 3 ? ", ..." : ""}`,
    hint: "name a folder that does not exist or is empty; nothing was written",
  });
}

function readOrNothing(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return undefined;
    throw error;
  }
}
