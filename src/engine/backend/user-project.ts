import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { CapstanError, messageOf } from "../../api/error.js";
import { isJsonObject, type Json } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { defaultStateDir, projectRoot } from "./project.js";

/** A Pulumi project of the user's, in the place of our own. */
export interface UserProject {
  /** The folder of its Pulumi.yaml. */
  readonly root: string;
  /** As its Pulumi.yaml and its URNs have it. */
  readonly name: string;
  /** Where Pulumi keeps its stacks; undefined where only Pulumi knows. */
  readonly backend?: string;
  /** The one stack of it that is worked on; absent: all. */
  readonly stack?: string;
}

/** How a command names one. */
interface ProjectChoice {
  /** A folder with a Pulumi.yaml, or below one; the present one unless given. */
  readonly project?: string;
  readonly stack?: string;
}

/**
 * The project that a command was told to work in, found as `pulumi -C DIR` finds it; undefined when it was
 * told of none. Throws NOT_FOUND without a Pulumi.yaml, INVALID_INPUT for one without a name.
 */
export function userProjectOf(
  { project, stack }: ProjectChoice,
  env: NodeJS.ProcessEnv,
): UserProject | undefined {
  if (project === undefined && stack === undefined) return undefined;
  const folder = resolve(project ?? ".");
  const root = projectRoot(folder);
  if (root === undefined) {
    throw new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: folder,
      message: `there is no Pulumi.yaml in ${folder} or above`,
      hint: "name the folder of a Pulumi project with --project",
    });
  }
  const settings = settingsIn(join(root, "Pulumi.yaml"));
  const backend = backendOf(settings, env);
  return omitUndefined({ root, name: nameIn(settings, root), backend, stack });
}

/** The state folder of a plain `pulumi` in a project: see `ambientStateDir`. */
export function stateDirOf({ root }: UserProject, env: NodeJS.ProcessEnv): string {
  const named = env["CAPSTAN_STATE"];
  return named === undefined || named === "" ? join(root, defaultStateDir) : resolve(named);
}

function settingsIn(file: string): Json {
  try {
    return parse(readFileSync(file, "utf8")) as Json;
  } catch (error) {
    throw badProject(file, messageOf(error));
  }
}

function nameIn(settings: Json, root: string): string {
  const name = isJsonObject(settings) ? settings["name"] : undefined;
  if (typeof name === "string" && name !== "") return name;
  throw badProject(join(root, "Pulumi.yaml"), "it has no name");
}

function badProject(file: string, why: string): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: file,
    message: `cannot read ${file}: ${why}`,
    hint: "pulumi about tells what Pulumi makes of it",
  });
}

/** In Pulumi's own order: environment, project, login. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/workspace/creds.go */
function backendOf(settings: Json, env: NodeJS.ProcessEnv): string | undefined {
  const named = env["PULUMI_BACKEND_URL"];
  if (named !== undefined && named !== "") return named;
  const backend = isJsonObject(settings) ? settings["backend"] : undefined;
  const url = isJsonObject(backend ?? null) ? (backend as { url?: Json }).url : undefined;
  return typeof url === "string" ? url : loginIn(env);
}

function loginIn(env: NodeJS.ProcessEnv): string | undefined {
  const home = env["PULUMI_CREDENTIALS_PATH"] ?? env["PULUMI_HOME"] ?? join(homedir(), ".pulumi");
  const file = join(home, "credentials.json");
  if (!existsSync(file)) return undefined;
  try {
    const { current } = JSON.parse(readFileSync(file, "utf8")) as { current?: unknown };
    return typeof current === "string" ? current : undefined;
  } catch {
    return undefined; // Pulumi says it better.
  }
}
