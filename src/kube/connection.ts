import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { type Cluster, type Context, KubeConfig, type User } from "@kubernetes/client-node";
import { CapstanError, isCapstanError, messageOf } from "../api/error.js";

/** Where a pod finds the identity that Kubernetes gave it. */
const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface ConnectionOptions {
  /** One file, named on the command line: nothing else is looked at. */
  readonly kubeconfig?: string | undefined;
  /** A context of the files; without it the one that they call current. */
  readonly context?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  /** Stands in for the folder of a pod's service account. */
  readonly serviceAccount?: string;
}

/**
 * How to reach an API server, looked for as kubectl does: the file of the command line, the files of
 * KUBECONFIG, ~/.kube/config, the pod's own service account. Context, cluster and user exist, and so do
 * the files that they name; nothing is contacted. Throws KUBECONFIG naming file and context.
 */
export function connect(options: ConnectionOptions): KubeConfig {
  const { env, serviceAccount = serviceAccountFolder } = options;
  const files = configFiles(options);
  if (files.length > 0) return chooseContext(loadAll(files), files, options.context);
  if (env["KUBERNETES_SERVICE_HOST"] === undefined || !existsSync(join(serviceAccount, "token"))) {
    throw unusable(
      "no kubeconfig was found: KUBECONFIG is not set, there is no ~/.kube/config, and this is no pod",
      {
        hint: "name a file with --kubeconfig, or set KUBECONFIG",
      },
    );
  }
  if (options.context === undefined) return ofPod(env, serviceAccount);
  throw unusable(`a pod's service account has no context "${options.context}"`, {
    hint: "leave --context out, or name a file with --kubeconfig",
  });
}

/** "https://10.0.0.1:6443 (context prod)": what messages call an API server. */
export function serverOf(config: KubeConfig): string {
  const server = config.getCurrentCluster()?.server ?? "the API server";
  return `${server} (context ${config.getCurrentContext()})`;
}

/** The contexts that `connect` could use; none where it would find no files, or none that can be read. */
export function contextNames(options: ConnectionOptions): string[] {
  try {
    const contexts = loadAll(configFiles(options)).getContexts();
    return contexts.map(({ name }) => name);
  } catch (error) {
    if (isCapstanError(error)) return [];
    throw error;
  }
}

/** The files to read, first one first. Of KUBECONFIG's list those that do not exist are left out, as kubectl does. */
function configFiles({ kubeconfig, env }: ConnectionOptions): string[] {
  if (kubeconfig !== undefined) {
    if (existsSync(kubeconfig)) return [kubeconfig];
    throw unusable(`${kubeconfig} does not exist`, { hint: "name another file with --kubeconfig" });
  }
  const listed = (env["KUBECONFIG"] ?? "").split(delimiter).filter((file) => file !== "");
  if (listed.length > 0) {
    const existing = listed.filter((file) => existsSync(file));
    if (existing.length > 0) return existing;
    throw unusable(`KUBECONFIG names ${listed.join(", ")}, which does not exist`, {
      hint: "set KUBECONFIG to a file that exists, or name one with --kubeconfig",
    });
  }
  const usual = join(env["HOME"] ?? homedir(), ".kube", "config");
  return existsSync(usual) ? [usual] : [];
}

/** Several files as one: what is named twice counts as it stands first. Source: kubectl, loading rules. */
function loadAll(files: readonly string[]): KubeConfig {
  const loaded = files.map(load);
  const merged = new KubeConfig();
  merged.loadFromOptions({
    clusters: firstOfEachName(loaded.flatMap((one) => one.getClusters())),
    users: firstOfEachName(loaded.flatMap((one) => one.getUsers())),
    contexts: firstOfEachName(loaded.flatMap((one) => one.getContexts())),
    currentContext: loaded.map(currentOf).find((name) => name !== ""),
  });
  return merged;
}

function load(file: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
  } catch (error) {
    throw unusable(`${file} cannot be read as a kubeconfig: ${withoutExcerpt(error)}`, {
      hint: `kubectl config view --kubeconfig ${file} shows what kubectl makes of it`,
    });
  }
  return config;
}

/** The first line alone: a YAML parser goes on with an excerpt, and a kubeconfig holds secrets. */
function withoutExcerpt(error: unknown): string {
  if (error instanceof TypeError) return "it is no object";
  return messageOf(error).split("\n", 1)[0] ?? "";
}

function firstOfEachName<T extends { readonly name: string }>(all: readonly T[]): T[] {
  return all.filter((one, index) => all.findIndex(({ name }) => name === one.name) === index);
}

/** The library leaves it undefined where a file names none, whatever its types say. */
function currentOf({ currentContext }: { readonly currentContext?: string }): string {
  return currentContext ?? "";
}

function chooseContext(
  config: KubeConfig,
  files: readonly string[],
  wanted: string | undefined,
): KubeConfig {
  const where = files.join(", ");
  const name = wanted ?? currentOf(config);
  const names = config.getContexts().map((one) => one.name);
  const hint =
    names.length === 0
      ? "name another file with --kubeconfig"
      : `name one with --context; there are: ${names.join(", ")}`;
  if (name === "") throw unusable(`${where} has no current context`, { hint });
  const context = config.getContextObject(name);
  if (context === null) throw unusable(`${where} has no context "${name}"`, { hint });
  config.setCurrentContext(name);
  refuseMissing(config, context, where);
  return config;
}

/** A context is of use only with its cluster, its user, and the files that those name. */
function refuseMissing(config: KubeConfig, context: Context, where: string): void {
  const about = `context "${context.name}" of ${where}`;
  const hint = "correct the file, or name another context with --context";
  const cluster: Cluster | null = config.getCluster(context.cluster);
  if (cluster === null) {
    throw unusable(`${about} names cluster "${context.cluster}", which is not there`, { hint });
  }
  const named = context.user as string | undefined;
  const user: User | null = named === undefined ? null : config.getUser(named);
  if (named !== undefined && user === null) {
    throw unusable(`${about} names user "${named}", which is not there`, { hint });
  }
  const missing = [cluster.caFile, user?.certFile, user?.keyFile].find(
    (file) => file !== undefined && !existsSync(file),
  );
  if (missing === undefined) return;
  throw unusable(`${about} names the file ${missing}, which does not exist`, { hint });
}

/** A pod's token is read again as it is renewed, hence the provider and not the token itself. */
function ofPod(env: NodeJS.ProcessEnv, folder: string): KubeConfig {
  const host = env["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = env["KUBERNETES_SERVICE_PORT"] ?? "443";
  const name = "in-cluster";
  const config = new KubeConfig();
  const cluster: Cluster = {
    name,
    caFile: join(folder, "ca.crt"),
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    skipTLSVerify: false,
  };
  const tokenFile = join(folder, "token");
  const user: User = { name, authProvider: { name: "tokenFile", config: { tokenFile } } };
  const contexts = [{ name, cluster: name, user: name }];
  config.loadFromOptions({ clusters: [cluster], users: [user], contexts, currentContext: name });
  return config;
}

function unusable(cause: string, more: { readonly hint: string }) {
  const message = `cannot reach an API server: ${cause}`;
  return new CapstanError({ code: "KUBECONFIG", source: "user", message, ...more });
}
