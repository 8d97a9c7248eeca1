import type { Violation } from "../api/diagnostic-codes.js";
import { isJsonObject, type JsonObject } from "../api/json.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { findServed } from "../api/served-versions.js";
import type { ClusterObject } from "../api/types.js";
import { validate } from "../api/validate.js";
import type { ObjectHolder } from "./object-parts.js";

/** Labels of a namespace by its name. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>>;

/** Every API server gives each namespace this label; in files it is all that is known of one. */
const nameLabel = "kubernetes.io/metadata.name";

const wrongIdentity: Violation = {
  code: "IDENTITY_REFUSED",
  path: ["spec", "providerSpec", "value", "identityRef"],
  summary: "leads to an identity that is not valid",
  hint: "capstan validate -f - tells what is wrong with that object",
};

/** The objects among manifests by which Clusters name credentials, and what Clusters get by them. */
export class IdentityReader {
  /** Specs by provider, kind and name. */
  private readonly specs = new Map<string, JsonObject>();
  /** Those that are here but wrong: nobody is told that they are missing. */
  private readonly refused = new Set<string>();

  constructor(
    private readonly providers: readonly ProviderSpecs[],
    private readonly holder: ObjectHolder,
    private readonly labelsOf: NamespaceLabels = () => ({}),
  ) {}

  /** Keeps an object that is one of them, and answers what is wrong with it; undefined for any other object. */
  take(object: JsonObject): Violation[] | undefined {
    const kind = String(object["kind"]);
    const provider = this.providers.find(
      (one) => one.apiVersion === object["apiVersion"] && one.identities?.kinds[kind] !== undefined,
    );
    const schema = provider?.identities?.kinds[kind];
    if (provider === undefined || schema === undefined) return undefined;
    const { metadata, spec: written } = object;
    const spec = isJsonObject(written) ? written : {};
    const name = isJsonObject(metadata) ? metadata["name"] : undefined;
    if (typeof name !== "string" || name === "") {
      const hint = "Clusters name it by this";
      return [{ code: "FIELD_MISSING", path: ["metadata", "name"], summary: "is missing", hint }];
    }
    const key = `${provider.name} ${kind} ${name}`;
    const wrong = validate(schema, spec).map((violation) => ({
      ...violation,
      path: ["spec", ...violation.path],
    }));
    if (this.specs.has(key) || this.refused.has(key)) {
      wrong.push({ code: "DUPLICATE", path: ["metadata", "name"], summary: "defined twice" });
    }
    if (wrong.length > 0) this.refused.add(key);
    else this.specs.set(key, spec);
    return wrong;
  }

  /**
   * Puts the credentials that a Cluster names in the place of their name. Answers what is wrong with it. Changes
   * nothing but `cluster`.
   */
  resolve(cluster: ClusterObject): Violation[] {
    const { providerSpec } = cluster.spec;
    const { value } = providerSpec;
    if (!isJsonObject(value)) return [];
    const provider = findServed(this.providers, value.apiVersion)?.provider;
    if (provider?.identities === undefined) return [];
    const { namespace } = cluster.metadata;
    const named: string[] = [];
    const resolved = provider.identities.resolve(value, {
      namespace,
      namespaceLabels: { ...this.labelsOf(namespace), [nameLabel]: namespace },
      holder: this.holder,
      find: (kind, name) => {
        const key = `${provider.name} ${kind} ${name}`;
        named.push(key);
        return this.specs.get(key);
      },
    });
    const isRefused = named.some((key) => this.refused.has(key));
    // In files it is told of where it stands; objects of an API server are told of one by one.
    if (isRefused && this.holder === "apiServer") return [wrongIdentity];
    if (resolved.kind === "refused") {
      const { violation } = resolved;
      const path = ["spec", "providerSpec", "value", ...violation.path];
      return isRefused ? [] : [{ ...violation, path }];
    }
    const { apiVersion, kind } = value;
    providerSpec.value = { ...resolved.spec, apiVersion, kind };
    return [];
  }
}
