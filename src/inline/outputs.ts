import { all, type Output, secret } from "@pulumi/pulumi";
import { CapstanError } from "../api/error.js";
import { isJsonObject, type Json, type JsonObject } from "../api/json.js";
import { providerValue } from "../api/types.js";
import { endpointText } from "../bootstrap/kubeadm/settings.js";
import {
  adminCertificateIn,
  adminKubeconfig,
  isRenewalDue,
  newAdminCertificate,
} from "../bootstrap/kubeconfig/admin-kubeconfig.js";
import type { HostKeys } from "../bootstrap/certificates/key-ring.js";
import { identityOf } from "../compile/compile.js";
import { isShared, keyOf, type NodeKey } from "../graph/graph.js";
import type { Plan } from "../plan/plan.js";
import { systemClock } from "../provider/clock.js";
import type { ApiEndpoint, InfrastructureProvider, Observed } from "../provider/port.js";
import { clusterIn } from "../records/target.js";
import { revisionKey } from "../transaction/pass.js";
import type { ServedResource } from "./register.js";

/** What the outputs of a cluster are made from. */
interface ClusterFacts {
  readonly plan: Plan;
  readonly provider: Pick<InfrastructureProvider, "name" | "apiEndpoints">;
  /** Absent: its hosts take no user data, so that there are none. */
  readonly keys: HostKeys | undefined;
  readonly resources: ReadonlyMap<NodeKey, ServedResource>;
  /** Texts of the state that look like a kubeconfig. Secret. */
  readonly kubeconfigs: readonly string[];
  /** No API server answers before the cluster is committed. */
  readonly begins: boolean;
}

/**
 * What the program is given back. The first three can be exported as a whole; the others are made when they are asked
 * for, and their getters throw NOT_FOUND where the provider has nothing to make them from.
 */
export class ClusterOutputs {
  /** "<namespace>/<name>". */
  readonly cluster: Output<string>;
  /** Number of the committed revision. */
  readonly revision: Output<number>;
  /** How many machines the cluster has. */
  readonly machines: Output<number>;
  readonly #facts: ClusterFacts;
  #kubeconfig: Output<string> | undefined;

  constructor(facts: ClusterFacts) {
    const revision = facts.resources.get(revisionKey);
    if (revision === undefined) throw new Error("a pass registers its Revision");
    this.cluster = revision.cluster;
    this.revision = revision.number;
    this.machines = revision.machines;
    this.#facts = facts;
  }

  /** Where the API servers answer: the host, and the port. Throws NOT_FOUND. */
  get endpoint(): Output<ApiEndpoint> {
    const { plan, provider, resources } = this.#facts;
    const cluster = clusterIn(plan.target);
    const shared = plan.target.nodes.filter(isShared).flatMap((node) => {
      const resource = resources.get(keyOf(node));
      return resource === undefined ? [] : [{ node, resource }];
    });
    const told = all(shared.map(({ resource: { id, spec, status } }) => all([id, spec, status])));
    return told.apply((facts) => {
      const infrastructure = facts.flatMap(([id, spec, status], index): Observed[] => {
        const node = shared[index]?.node;
        if (node === undefined) return [];
        const who = identityOf(cluster, plan.transaction.clusterUid, node.kind, node.name);
        return [{ id, who, phase: "ready", spec: asObject(spec), status: asObject(status) }];
      });
      const [endpoint] = provider.apiEndpoints?.(infrastructure, providerValue(cluster.spec)) ?? [];
      if (endpoint === undefined) throw this.lacks("endpoint", "tells of none");
      return endpoint;
    });
  }

  /**
   * What kubectl and Pulumi's Kubernetes provider need, for the cluster's administrators: a secret. Its certificate lasts
   * a year; the one that the stack's state holds, wherever it is used, serves until half of that is over. Throws NOT_FOUND.
   */
  get kubeconfig(): Output<string> {
    const { keys, plan, kubeconfigs } = this.#facts;
    if (keys === undefined) {
      throw this.lacks("kubeconfig", "takes no user data, so the cluster has no keys");
    }
    const { name } = clusterIn(plan.target).metadata;
    const known = [...kubeconfigs];
    // Whoever uses it connects at once.
    const answers = this.#facts.begins ? this.revision : undefined;
    this.#kubeconfig ??= secret(
      all([this.endpoint, answers]).apply(async ([endpoint]) => {
        const access = { name, server: `https://${endpointText(endpoint)}`, keys };
        const now = systemClock.now();
        const kept = known
          .flatMap((text) => adminCertificateIn(text, access) ?? [])
          .find((certificate) => !isRenewalDue(certificate, access, now));
        return adminKubeconfig(access, kept ?? (await newAdminCertificate(access, now)));
      }),
    );
    return this.#kubeconfig;
  }

  /** The cloud's ids of the hosts that serve the cluster's machines, by the name of the machine. */
  get hosts(): Output<Readonly<Record<string, string>>> {
    const { plan, resources } = this.#facts;
    const ids = plan.target.machines.flatMap(({ name, host }) => {
      const resource = resources.get(host);
      return resource === undefined ? [] : [[name, resource.id] as const];
    });
    return all(Object.fromEntries(ids));
  }

  private lacks(what: string, why: string): CapstanError {
    const { plan, provider } = this.#facts;
    return new CapstanError({
      code: "NOT_FOUND",
      source: "user",
      subject: plan.cluster,
      message: `${plan.cluster} has no ${what}: provider ${provider.name} ${why}`,
    });
  }
}

/** Texts of an exported state that look like a kubeconfig, wherever they stand. Secret. Pure. */
export function kubeconfigsIn(exported: string): string[] {
  const found: string[] = [];
  const look = (value: Json): void => {
    if (typeof value === "string" && value.includes("client-certificate-data")) {
      // A secret's text is JSON again.
      found.push(value.startsWith('"') ? String(JSON.parse(value)) : value);
    } else if (Array.isArray(value)) for (const item of value as readonly Json[]) look(item);
    else if (isJsonObject(value)) for (const member of Object.values(value)) look(member);
  };
  look(JSON.parse(exported) as JsonObject);
  return found;
}

function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
