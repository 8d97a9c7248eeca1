import { setTimeout as pause } from "node:timers/promises";
import { CustomObjectsApi, type KubeConfig, PatchStrategy } from "@kubernetes/client-node";
import {
  type CustomResourceDefinition,
  definitionsVersion,
  definitionsVersionAnnotation,
} from "../api/crd.js";
import { CapstanError } from "../api/error.js";
import { sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { serverOf } from "./connection.js";
import { mayPass, saidBy, statusOf, within } from "./requests.js";

type InstallOutcome = "created" | "configured" | "unchanged";

export interface Installed {
  /** Of the definition, e.g. "machines.cluster.k8s.io". */
  readonly name: string;
  readonly outcome: InstallOutcome;
}

interface InstallOptions {
  readonly definitions: readonly CustomResourceDefinition[];
  /** The API server says what would happen, and nothing does. */
  readonly dryRun: boolean;
  /** Replaces definitions of a newer release of ours, and takes over fields of ours that others manage. */
  readonly force: boolean;
  readonly signal: AbortSignal;
  /** Told of each definition as it is applied. */
  readonly onInstalled: (installed: Installed) => void;
}

/** What we look at of a definition as an API server holds it. */
interface HeldDefinition {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly managedFields?: readonly { readonly manager?: string }[];
  };
  readonly spec: {
    readonly versions?: readonly {
      readonly additionalPrinterColumns?: readonly { readonly jsonPath?: string }[];
    }[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

const plural = "customresourcedefinitions";
const resource = { group: "apiextensions.k8s.io", version: "v1", plural };
const fieldManager = "capstan-install";
const establishDeadlineMs = 60_000;
const pollMs = 100;

/**
 * Makes our kinds known to an API server: applies every definition, and comes back when all are served.
 * Idempotent. Nothing is applied unless everything may be. Throws NOT_OURS where the API server holds definitions of another product, SCHEMA_NEWER where the API server holds
 * definitions of a newer release, API_SERVER where it refuses, DEADLINE where it does not serve them.
 */
export async function installDefinitions(
  config: KubeConfig,
  options: InstallOptions,
): Promise<Installed[]> {
  const installer = new Installer(config, options);
  const { definitions } = options;
  const held = new Map<string, HeldDefinition | undefined>();
  for (const { metadata } of definitions) {
    held.set(metadata.name, await installer.read(metadata.name));
  }
  refuseForeign(held);
  for (const [name, one] of held) refuseToReplace(name, one, options.force);
  if (!options.dryRun) {
    for (const definition of definitions) await installer.apply(definition, { dryRun: true });
  }
  const installed: Installed[] = [];
  for (const definition of definitions) {
    const { name } = definition.metadata;
    const outcome = outcomeOf(held.get(name), await installer.apply(definition, options));
    installed.push({ name, outcome });
    options.onInstalled({ name, outcome });
  }
  if (!options.dryRun) {
    for (const { name } of installed) await installer.untilEstablished(name);
  }
  return installed;
}

/** In printer columns of the definitions of Kubermatic's machine-controller, which serves this API group as well. */
const kubermaticField = ".spec.providerSpec.value.cloudProvider";

/**
 * Throws NOT_OURS for definitions that no release of ours has written, with or without force: their product could write no object
 * any more.
 */
function refuseForeign(held: ReadonlyMap<string, HeldDefinition | undefined>): void {
  const foreign = [...held].flatMap(([name, one]) =>
    one === undefined || Object.hasOwn(one.metadata.annotations ?? {}, definitionsVersionAnnotation)
      ? []
      : [{ name, product: productOf(one) }],
  );
  const [first] = foreign;
  if (first === undefined) return;
  const products = [...new Set(foreign.map(({ product }) => product))].join(", ");
  const names = foreign.map(({ name }) => name).join(", ");
  throw new CapstanError({
    code: "NOT_OURS",
    source: "user",
    subject: `CustomResourceDefinition ${first.name}`,
    message: `cannot install CustomResourceDefinition ${names}: ${products} serves it in this API server`,
    hint: "install Capstan into another API server (--kubeconfig, --context): two products cannot serve one API group, and --force does not change that",
  });
}

/** The name of the product whose definition it is, as far as the definition tells. */
function productOf({ metadata, spec }: HeldDefinition): string {
  const columns = spec.versions?.flatMap(
    ({ additionalPrinterColumns = [] }) => additionalPrinterColumns,
  );
  if (columns?.some(({ jsonPath }) => jsonPath === kubermaticField) === true) {
    return "Kubermatic machine-controller";
  }
  const managers = new Set(metadata.managedFields?.flatMap(({ manager }) => manager ?? []));
  // The API server itself writes the names that it has accepted.
  managers.delete("kube-apiserver");
  const [manager] = managers;
  return manager === undefined ? "another product" : `another product (written by ${manager})`;
}

/** Throws where what is there must not be touched, or is going away. */
function refuseToReplace(name: string, held: HeldDefinition | undefined, force: boolean): void {
  if (held === undefined) return;
  if (held.metadata.deletionTimestamp !== undefined) {
    throw failure("install", name, "it is being deleted", {
      hint: `try again when it is gone: kubectl wait --for=delete crd/${name}`,
      retryable: true,
    });
  }
  const version = Number(held.metadata.annotations?.[definitionsVersionAnnotation] ?? 0);
  if (force || !(version > definitionsVersion)) return;
  throw new CapstanError({
    code: "SCHEMA_NEWER",
    source: "user",
    subject: `CustomResourceDefinition ${name}`,
    message: `cannot install CustomResourceDefinition ${name}: a newer release has installed version ${version}, this one has ${definitionsVersion}`,
    hint: "use that release; --force replaces its definitions, and what only they know is lost",
  });
}

/** Of what we apply; managers, versions and conditions are the API server's own. */
function outcomeOf(before: HeldDefinition | undefined, after: HeldDefinition): InstallOutcome {
  if (before === undefined) return "created";
  const shown = ({ metadata, spec }: HeldDefinition) => [metadata.annotations, spec];
  return sameJson(shown(before), shown(after)) ? "unchanged" : "configured";
}

class Installer {
  private readonly api: CustomObjectsApi;
  private readonly server: string;

  constructor(
    config: KubeConfig,
    private readonly options: InstallOptions,
  ) {
    this.api = config.makeApiClient(CustomObjectsApi);
    this.server = serverOf(config);
  }

  async read(name: string): Promise<HeldDefinition | undefined> {
    this.options.signal.throwIfAborted();
    try {
      const found: unknown = await this.api.getClusterCustomObject({ ...resource, name }, within());
      return found as HeldDefinition;
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw this.refused("read", name, error);
    }
  }

  /** By server-side apply; the client's own type of a definition would lose what begins with x-. */
  async apply(
    body: CustomResourceDefinition,
    { dryRun }: Pick<InstallOptions, "dryRun">,
  ): Promise<HeldDefinition> {
    const { force, signal } = this.options;
    const { name } = body.metadata;
    signal.throwIfAborted();
    const request = {
      ...resource,
      name,
      body,
      fieldManager,
      force,
      fieldValidation: "Strict",
    };
    try {
      const applied: unknown = await this.api.patchClusterCustomObject(
        dryRun ? { ...request, dryRun: "All" } : request,
        within(PatchStrategy.ServerSideApply),
      );
      return applied as HeldDefinition;
    } catch (error) {
      throw this.refused("install", name, error);
    }
  }

  async untilEstablished(name: string): Promise<void> {
    const deadline = AbortSignal.timeout(establishDeadlineMs);
    for (;;) {
      const conditions = (await this.read(name))?.status?.conditions ?? [];
      const has = (type: string, status: string) =>
        conditions.find((one) => one.type === type && one.status === status);
      if (has("Established", "True")) return;
      const taken = has("NamesAccepted", "False");
      if (taken !== undefined) {
        throw failure("install", name, `its names are taken: ${taken.message ?? ""}`, {
          hint: "kubectl api-resources --api-group=cluster.k8s.io shows by what",
        });
      }
      if (deadline.aborted) throw notEstablished(name);
      const { signal } = this.options;
      await pause(pollMs, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
  }

  private refused(verb: "read" | "install", name: string, error: unknown): CapstanError {
    const hint = this.hintFor(statusOf(error));
    return failure(
      verb,
      name,
      saidBy(error),
      omitUndefined({ hint, retryable: mayPass(error), cause: error }),
    );
  }

  private hintFor(status: number): string | undefined {
    switch (status) {
      case 0:
        return `is ${this.server} the right API server, and does it run?`;
      case 401:
        return `log in to ${this.server} again, or name another context with --context`;
      case 403:
        return `it takes the rights to get, create and patch ${plural}, which cluster-admin has; or have somebody apply what "capstan crds" prints`;
      case 409:
        return "--force takes the fields over";
      default:
        return undefined;
    }
  }
}

function notEstablished(name: string): CapstanError {
  return new CapstanError({
    code: "DEADLINE",
    source: "engine",
    subject: `CustomResourceDefinition ${name}`,
    message: `cannot install CustomResourceDefinition ${name}: the API server does not serve it after ${establishDeadlineMs / 1_000} s`,
    hint: `kubectl describe crd ${name} shows why; the same command goes on`,
    retryable: true,
  });
}

function failure(
  verb: string,
  name: string,
  cause: string,
  more: { readonly hint?: string; readonly retryable?: boolean; readonly cause?: unknown },
): CapstanError {
  const subject = `CustomResourceDefinition ${name}`;
  const message = `cannot ${verb} ${subject}: ${cause}`;
  return new CapstanError({ code: "API_SERVER", source: "user", subject, message, ...more });
}
