import { isJsonObject } from "../api/json.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import {
  apiVersion,
  clusterNameLabel,
  isKind,
  type Kind,
  type ObjectOf,
  schemas,
} from "../api/schema.js";
import type { AnyObject, Desired } from "../api/types.js";
import { validate, type Violation } from "../api/validate.js";
import { byPosition, type Diagnostic } from "./diagnostic.js";
import { type ParsedDocument, parseManifest, type SourceText } from "./parse.js";

type Path = readonly (string | number)[];

/** An object that fits its schema, with the document that it came from. */
interface Placed {
  readonly object: AnyObject;
  readonly kind: Kind;
  readonly document: ParsedDocument;
}

/**
 * Reads manifests into clusters. Returns every problem of every text at once, by position; with an
 * error among them the clusters must not be used. Clusters and their objects keep document order.
 * Pure.
 */
export function readDesired(
  sources: readonly SourceText[],
  providers: readonly ProviderSpecs[],
): { clusters: Desired[]; diagnostics: Diagnostic[] } {
  const reader = new Reader(providers);
  for (const source of sources) {
    const { documents, diagnostics } = parseManifest(source);
    reader.diagnostics.push(...diagnostics);
    for (const document of documents) reader.readObject(document);
  }
  const clusters = reader.assemble();
  return { clusters, diagnostics: reader.diagnostics.sort(byPosition) };
}

class Reader {
  readonly diagnostics: Diagnostic[] = [];
  private readonly placed: Placed[] = [];

  constructor(private readonly providers: readonly ProviderSpecs[]) {}

  /** One document into one object; what is wrong with it alone is reported here. */
  readObject(document: ParsedDocument): void {
    const { value } = document;
    if (!isJsonObject(value)) {
      this.report(document, undefined, [], "a manifest must be an object with apiVersion and kind");
      return;
    }
    const subject = describe(value);
    const { kind } = value;
    if (value["apiVersion"] !== apiVersion || !isKind(kind)) {
      const known = Object.keys(schemas).join(", ");
      this.report(document, subject, [isKind(kind) ? "apiVersion" : "kind"], "unknown object", {
        hint: `this release reads ${known} of ${apiVersion}`,
      });
      return;
    }
    const violations = [
      ...validate(schemas[kind], value),
      ...providerSpecPaths(kind).flatMap((path) => this.checkProviderSpec(kind, value, path)),
    ];
    for (const { path, summary, hint } of violations) {
      this.report(document, subject, path, summary, { hint });
    }
    if (violations.length > 0) return;
    const object = value as unknown as AnyObject;
    const twin = this.placed.find((other) => other.kind === kind && sameName(other.object, object));
    if (twin !== undefined) {
      const { file, line } = twin.document.positionOf([]);
      this.report(document, subject, ["metadata", "name"], `defined twice; first in ${file}:${line}`);
      return;
    }
    this.placed.push({ object, kind, document });
  }

  /** Objects to their clusters; what is wrong between objects is reported here. */
  assemble(): Desired[] {
    const clusters = this.placed.filter(({ kind }) => kind === "Cluster");
    for (const member of this.placed) this.checkMember(member, clusters);
    return clusters.map(({ object }) => {
      const members = this.placed.filter(
        (member) => member.kind !== "Cluster" && belongsTo(member.object, object),
      );
      const ofKind = <K extends Kind>(kind: K) =>
        members
          .filter((member) => member.kind === kind)
          .map((member) => member.object as unknown as ObjectOf<K>);
      return {
        cluster: object as ObjectOf<"Cluster">,
        machines: ofKind("Machine"),
        machineSets: ofKind("MachineSet"),
        machineDeployments: ofKind("MachineDeployment"),
      };
    });
  }

  private checkMember({ object, kind, document }: Placed, clusters: readonly Placed[]): void {
    const subject = describe(object);
    if (kind === "Cluster") return;
    const clusterName = clusterOf(object);
    const owner = clusters.find((cluster) => belongsTo(object, cluster.object));
    if (owner === undefined) {
      const summary =
        clusterName === undefined
          ? `belongs to no Cluster: label ${clusterNameLabel} is missing`
          : `belongs to Cluster ${object.metadata.namespace}/${clusterName}, which is not in these manifests`;
      const names = clusters.map((cluster) => describe(cluster.object)).join(", ");
      this.report(document, subject, ["metadata", "labels", clusterNameLabel], summary, {
        hint: clusters.length === 0 ? "add a Cluster object" : `clusters here: ${names}`,
      });
    } else {
      this.checkSameProvider({ object, kind, document }, owner);
    }
    if ("selector" in object.spec) {
      const labels = object.spec.template.metadata?.labels ?? {};
      for (const [label, wanted] of Object.entries(object.spec.selector.matchLabels)) {
        if (labels[label] === wanted) continue;
        const path = ["spec", "selector", "matchLabels", label];
        this.report(document, subject, path, `does not match the template's labels`, {
          hint: `add ${label}: ${wanted} to spec.template.metadata.labels`,
        });
      }
    }
  }

  private checkSameProvider(member: Placed, owner: Placed): void {
    for (const path of providerSpecPaths(member.kind)) {
      const own = at(member.object, [...path, "apiVersion"]);
      const clusters = at(owner.object, ["spec", "providerSpec", "value", "apiVersion"]);
      if (own === clusters) continue;
      this.report(
        member.document,
        describe(member.object),
        [...path, "apiVersion"],
        `is of another provider than its Cluster (${String(clusters)})`,
      );
    }
  }

  /** The provider's own object against that provider's schema; fills in its defaults. */
  private checkProviderSpec(kind: Kind, object: unknown, path: Path): Violation[] {
    const spec = at(object, path);
    if (!isJsonObject(spec) || typeof spec["apiVersion"] !== "string") return [];
    const provider = this.providers.find((known) => known.apiVersion === spec["apiVersion"]);
    if (provider === undefined) {
      const known = this.providers.map((one) => one.apiVersion).join(", ");
      const summary = `no provider has ${JSON.stringify(spec["apiVersion"])}`;
      return [{ path: [...path, "apiVersion"], summary, hint: `known: ${known}` }];
    }
    const { schema } = kind === "Cluster" ? provider.clusterSpec : provider.machineSpec;
    return validate(schema, spec).map((violation) => ({
      ...violation,
      path: [...path, ...violation.path],
    }));
  }

  private report(
    document: ParsedDocument,
    subject: string | undefined,
    path: Path,
    summary: string,
    { hint }: { readonly hint?: string | undefined } = {},
  ): void {
    this.diagnostics.push({
      severity: "error",
      position: document.positionOf(path),
      ...(subject !== undefined && { subject }),
      ...(path.length > 0 && { path: path.join(".") }),
      summary,
      ...(hint !== undefined && { hint }),
    });
  }
}

/** Where objects of a kind hold a provider's object. */
function providerSpecPaths(kind: Kind): Path[] {
  const direct = ["spec", "providerSpec", "value"];
  return kind === "Cluster" || kind === "Machine"
    ? [direct]
    : [["spec", "template", ...direct]];
}

function at(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (current, part) => (isJsonObject(current) ? current[part] : undefined),
    value,
  );
}

function sameName(left: AnyObject, right: AnyObject): boolean {
  return (
    left.metadata.name === right.metadata.name && left.metadata.namespace === right.metadata.namespace
  );
}

/** The Cluster's name on the object itself or, for sets, on their template. */
function clusterOf(object: AnyObject): string | undefined {
  const own = object.metadata.labels?.[clusterNameLabel];
  if (own !== undefined || !("template" in object.spec)) return own;
  return object.spec.template.metadata?.labels?.[clusterNameLabel];
}

function belongsTo(object: AnyObject, cluster: AnyObject): boolean {
  return (
    object.metadata.namespace === cluster.metadata.namespace &&
    clusterOf(object) === cluster.metadata.name
  );
}

/** "Machine default/cp-0", as far as the value tells. */
function describe(value: unknown): string {
  const kind = at(value, ["kind"]);
  const name = at(value, ["metadata", "name"]);
  const namespace = at(value, ["metadata", "namespace"]);
  const shownKind = typeof kind === "string" ? kind : "object";
  if (typeof name !== "string") return shownKind;
  return `${shownKind} ${typeof namespace === "string" ? namespace : "default"}/${name}`;
}
