import { asVerbatim } from "../../api/leaving-text.js";
import { trustedPem } from "../../bootstrap/certificates/key-ring.js";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { parse, stringify } from "yaml";
import { CapstanError, messageOf } from "../../api/error.js";
import type { Json, JsonObject } from "../../api/json.js";
import {
  issueUserCertificate,
  type UserCertificate,
} from "../../bootstrap/certificates/user-certificate.js";
import {
  type Credential,
  execCredentialOf,
  kubeconfigOf,
  mergedKubeconfig,
} from "../../bootstrap/kubeconfig/kubeconfig.js";
import { makeFolder } from "../../engine/backend/durable-files.js";
import { writeClosedFile } from "../closed-file.js";
import { accessTo, type ClusterAccess, serverOf } from "./cluster-access.js";
import type { CommandContext, GlobalOptions } from "../context.js";
import { exitCodes } from "../exit.js";

export interface KubeconfigOptions extends GlobalOptions {
  /** Whom the API server is to take the bearer for; absent: who asks. */
  readonly user?: string;
  readonly group: readonly string[];
  /** Seconds. */
  readonly ttl: number;
  readonly server?: string;
  /** Certificates are made when they are needed, not now. */
  readonly exec?: boolean;
  /** Only a certificate, as kubectl asks a plugin for one. */
  readonly credential?: boolean;
  readonly merge?: boolean;
  readonly out?: string;
}

/**
 * capstan kubeconfig: what kubectl needs to talk to a cluster, on standard output or in a file of mode 0600. Reads
 * the state alone. Its certificate is new each time, and short-lived.
 */
export async function kubeconfigCommand(
  named: string,
  options: KubeconfigOptions,
  context: CommandContext,
): Promise<number> {
  refuseContradictions(options);
  const access = await accessTo(named, "make a kubeconfig for", options, context);
  if (options.credential === true) {
    const issued = await issue(access, options, context);
    const credential = execCredentialOf(issued, issued.expiresAtMs);
    context.terminal.document(asVerbatim(`${JSON.stringify(credential)}\n`));
    return exitCodes.done;
  }
  const config = kubeconfigOf({
    name: access.stack,
    user: userOf(options, context),
    server: options.server ?? serverOf(access),
    authorityPem: trustedPem(access.keys, "ca"),
    credential: await credentialOf(access, options, context),
  });
  return deliver(config, access, options, context);
}

async function credentialOf(
  access: ClusterAccess,
  options: KubeconfigOptions,
  context: CommandContext,
): Promise<Credential> {
  if (options.exec !== true) {
    return { kind: "certificate", certificate: await issue(access, options, context) };
  }
  return { kind: "exec", command: "capstan", args: pluginArguments(access, options, context) };
}

function issue(
  { keys }: ClusterAccess,
  options: KubeconfigOptions,
  context: CommandContext,
): Promise<UserCertificate> {
  const user = userOf(options, context);
  const asked = { user, groups: options.group, ttlMs: options.ttl * 1_000 };
  return issueUserCertificate(keys, asked, context.clock.now());
}

function userOf({ user }: KubeconfigOptions, { by }: CommandContext): string {
  return user ?? by;
}

/** What leads the plugin to the same state from any folder. It asks for the same user again. */
function pluginArguments(
  { stack }: ClusterAccess,
  options: KubeconfigOptions,
  context: CommandContext,
): string[] {
  const { backend, project, ttl, group } = options;
  const where = [
    ...(project === undefined ? ["--state", context.stateDir] : ["--project", resolve(project)]),
    ...(backend === undefined ? [] : ["--backend", backend]),
    ...(options.stack === undefined ? [] : ["--stack", options.stack]),
  ];
  const who = ["--user", userOf(options, context), ...group.flatMap((one) => ["--group", one])];
  return [...where, "kubeconfig", stack, "--credential", ...who, "--ttl", `${ttl}s`];
}

function deliver(
  config: JsonObject,
  { cluster }: ClusterAccess,
  { out, merge = false }: KubeconfigOptions,
  context: CommandContext,
): number {
  const { json, emit, terminal } = context;
  const file = out ?? (merge ? usersKubeconfig(context.env) : undefined);
  if (file === undefined) {
    terminal.document(
      asVerbatim(json ? `${JSON.stringify(config)}\n` : stringify(config, { lineWidth: 0 })),
    );
    return exitCodes.done;
  }
  const whole = merge ? mergedInto(file, config) : config;
  makeFolder(dirname(file));
  writeClosedFile(file, asVerbatim(stringify(whole, { lineWidth: 0 })), "the kubeconfig");
  const current = String(config["current-context"]);
  if (json) emit({ type: "kubeconfig", cluster, file, context: current });
  else terminal.write(`${file}: context ${current} leads to ${cluster}\n`);
  return exitCodes.done;
}

/** Where kubectl writes: the first file of KUBECONFIG, or the one in the home folder. */
function usersKubeconfig(env: NodeJS.ProcessEnv): string {
  const [first] = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  return first ?? join(env["HOME"] ?? homedir(), ".kube", "config");
}

function mergedInto(file: string, config: JsonObject): JsonObject {
  const merged = existsSync(file) ? mergedKubeconfig(readYaml(file), config) : config;
  if (merged !== undefined) return merged;
  throw notMergeable(file, "it is no kubeconfig");
}

function readYaml(file: string): Json {
  try {
    return parse(readFileSync(file, "utf8")) as Json;
  } catch (error) {
    throw notMergeable(file, messageOf(error));
  }
}

function notMergeable(file: string, reason: string): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: file,
    message: `cannot merge a kubeconfig into ${file}: ${reason}`,
    hint: "it was left as it is; name another file with --out",
  });
}

function refuseContradictions({ credential, exec, merge, out, server }: KubeconfigOptions): void {
  const beside = [
    exec === true ? "--exec" : "",
    merge === true ? "--merge" : "",
    out === undefined ? "" : "--out",
    server === undefined ? "" : "--server",
  ].filter((option) => option !== "");
  if (credential !== true || beside.length === 0) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `--credential prints a certificate alone: ${beside.join(", ")} would have no effect`,
    hint: "leave one of them out",
  });
}
