import type { DiagnosticCode, MemberPath, Violation } from "../api/diagnostic-codes.js";
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
import {
  type AnyObject,
  type ClusterMember,
  type ClusterObject,
  type Desired,
  maxStackNameLength,
  stackNameOf,
} from "../api/types.js";
import { nearest, validate } from "../api/validate.js";
import {
  checkAnnotations,
  checkCluster,
  checkHostNetworks,
  checkMachineSpec,
  checkProviderSpec,
  checkProgressDeadline,
  checkSelector,
  checkSkew,
  oldestControlPlane,
  type PlacedSpec,
} from "./checks.js";
import { byPosition, type Diagnostic, type Position } from "./diagnostic.js";
import { type ParsedDocument, parseManifest, type SourceText } from "./parse.js";
import { respell, type Respelling, writtenPath } from "./spelling.js";

const maxMessageLength = 240;

/** An object that fits its schema, with the document that it came from. */
interface Placed<O extends AnyObject = AnyObject> {
  readonly object: O;
  readonly document: ParsedDocument;
  readonly respellings: readonly Respelling[];
}

export interface Manifests {
  readonly clusters: readonly Desired[];
  /** Every problem, by position. With an error among them the clusters must not be used. */
  readonly diagnostics: readonly Diagnostic[];
  readonly objects: number;
  /** Where a member of one of the objects was written. */
  readonly positionOf: (object: AnyObject, path: MemberPath) => Position | undefined;
}

/**
 * Reads manifests into clusters, with every problem of every text at once. Clusters and their
 * objects keep document order; references to MachineClasses are resolved. Pure.
 */
export function readDesired(
  sources: readonly SourceText[],
  providers: readonly ProviderSpecs[],
): Manifests {
  const reader = new Reader(providers);
  for (const source of sources) {
    const { documents, diagnostics } = parseManifest(source);
    reader.diagnostics.push(...diagnostics);
    for (const document of documents) reader.readObject(document);
  }
  return reader.manifests();
}

/** An object that came without a text, as from an API server. */
export interface NamedObject {
  /** Said instead of a file, e.g. "Machine default/cp-0". */
  readonly name: string;
  /** Becomes the caller's no longer: older spellings are rewritten, defaults filled in. */
  readonly value: unknown;
}

/** The same for objects that were never text: their positions name the object. Pure but for its input. */
export function readObjects(
  objects: readonly NamedObject[],
  providers: readonly ProviderSpecs[],
): Manifests {
  const reader = new Reader(providers);
  for (const { name, value } of objects) {
    reader.readObject({ value, positionOf: () => ({ file: name, line: 1, column: 1 }) });
  }
  return reader.manifests();
}

class Reader {
  readonly diagnostics: Diagnostic[] = [];
  readonly placed: Placed[] = [];
  /** Clusters that are here but wrong: what belongs to them need not be told that they are missing. */
  private readonly refused = new Set<string>();

  constructor(private readonly providers: readonly ProviderSpecs[]) {}

  positionOf(object: AnyObject, path: MemberPath): Position | undefined {
    const found = this.placed.find(
      (one) => one.object.kind === object.kind && sameName(one.object, object),
    );
    return found?.document.positionOf(writtenPath(path, found.respellings));
  }

  manifests(): Manifests {
    const clusters = this.assemble();
    return {
      clusters,
      diagnostics: this.diagnostics.sort(byPosition),
      objects: this.placed.length,
      positionOf: (object, path) => this.positionOf(object, path),
    };
  }

  /** One document into one object; what is wrong with it alone is reported here. */
  readObject(document: ParsedDocument): void {
    const { value } = document;
    if (!isJsonObject(value)) {
      const summary = "a manifest must be an object with apiVersion and kind";
      this.report({ document, respellings: [] }, { code: "UNKNOWN_OBJECT", path: [], summary });
      return;
    }
    const { kind } = value;
    if (value["apiVersion"] !== apiVersion || !isKind(kind)) {
      this.report({ document, respellings: [] }, unknownObject(value));
      return;
    }
    const respellings = respell(value);
    const placed = { object: value as unknown as AnyObject, document, respellings };
    for (const { written, now } of respellings) this.warnOfSpelling(placed, written, now);
    const violations = validate(schemas[kind], value);
    for (const violation of violations) this.report(placed, violation);
    const own = violations.length === 0 ? this.checkAlone(placed) : this.checkValues(placed);
    for (const violation of own) this.report(placed, violation);
    if (violations.length + own.length > 0) {
      this.refused.add(describe(value));
      return;
    }
    dropServerFields(placed.object);
    this.keep(placed);
  }

  /** Objects to their clusters; what is wrong between objects is reported here. */
  private assemble(): Desired[] {
    for (const placed of this.placed) this.resolveClasses(placed);
    const members = this.placed.filter(isMember);
    const clusters = members.filter(({ object }) => object.kind === "Cluster");
    for (const member of members) this.checkOwner(member, clusters);
    return clusters.map((cluster) => {
      const own = members.filter(({ object }) => belongsTo(object, cluster.object));
      const ofKind = <K extends Kind>(kind: K) =>
        own.flatMap(({ object }) => (object.kind === kind ? [object as ObjectOf<K>] : []));
      const desired: Desired = {
        cluster: cluster.object as ObjectOf<"Cluster">,
        machines: ofKind("Machine"),
        machineSets: ofKind("MachineSet"),
        machineDeployments: ofKind("MachineDeployment"),
      };
      this.checkCluster(cluster, desired, own);
      return desired;
    });
  }

  private keep(placed: Placed): void {
    const { object } = placed;
    const duplicate = this.placed.find(
      (other) => other.object.kind === object.kind && sameName(other.object, object),
    );
    if (duplicate === undefined) {
      this.placed.push(placed);
      return;
    }
    const { file, line } = duplicate.document.positionOf([]);
    const summary = `defined twice; first in ${file}:${line}`;
    this.report(placed, { code: "DUPLICATE", path: ["metadata", "name"], summary });
  }

  /** Rules on one object that fits its schema. */
  private checkAlone(placed: Placed): Violation[] {
    const { object } = placed;
    const specs = providerSpecsIn(object);
    return [
      ...specs.flatMap(({ path, spec }) => checkProviderSpec(spec, path)),
      ...this.checkValues(placed),
      ...checkAnnotations(object),
      ...(object.kind === "Cluster"
        ? [...checkCluster(object), ...checkHostNetworks(object, this.networksOf(object))]
        : []),
      ...machineSpecsIn(object).flatMap(checkMachineSpec),
      ...(object.kind === "MachineDeployment" ? checkProgressDeadline(object.spec) : []),
      ...(object.kind === "MachineSet" || object.kind === "MachineDeployment"
        ? checkSelector(object.spec.selector, object.spec.template.metadata?.labels ?? {})
        : []),
    ];
  }

  private networksOf({ spec }: ClusterObject): readonly string[] {
    const apiVersion = spec.providerSpec.value?.apiVersion;
    return this.providers.find((one) => one.apiVersion === apiVersion)?.clusterSpec.networks ?? [];
  }

  /** The provider's objects in one object, whether or not the rest of it is right. */
  private checkValues({ object }: Placed): Violation[] {
    return providerValuePaths(object.kind).flatMap((path) =>
      this.checkProviderValue(at(object, path), path, object.kind === "Cluster"),
    );
  }

  /** The provider's own object against that provider's schema; fills in its defaults. */
  private checkProviderValue(value: unknown, path: MemberPath, forCluster: boolean): Violation[] {
    if (!isJsonObject(value) || typeof value["apiVersion"] !== "string") return [];
    const provider = this.providers.find((known) => known.apiVersion === value["apiVersion"]);
    if (provider === undefined) {
      const known = this.providers.map((one) => one.apiVersion).join(", ");
      const summary = `no provider has ${JSON.stringify(value["apiVersion"])}`;
      const hint = `known: ${known}`;
      return [{ code: "PROVIDER_UNKNOWN", path: [...path, "apiVersion"], summary, hint }];
    }
    const isClass = path.length === 1;
    const clusters = isClass ? value["kind"] === provider.clusterSpec.kind : forCluster;
    const { schema } = clusters ? provider.clusterSpec : provider.machineSpec;
    return validate(schema, value).map((violation) => ({
      ...violation,
      path: [...path, ...violation.path],
    }));
  }

  /** Puts the object that valueFrom names in the place of a value. */
  private resolveClasses(placed: Placed): void {
    const { object } = placed;
    for (const { path, spec } of providerSpecsIn(object)) {
      const name = spec.valueFrom?.machineClass.name;
      if (name === undefined) continue;
      const named = [...path, "valueFrom", "machineClass", "name"];
      const found = this.placed.find(
        (one) =>
          one.object.kind === "MachineClass" &&
          one.object.metadata.name === name &&
          one.object.metadata.namespace === object.metadata.namespace,
      );
      if (found?.object.kind !== "MachineClass") {
        const { namespace } = object.metadata;
        const summary = `there is no MachineClass ${namespace}/${name} in these manifests`;
        const hint = this.classHint(name, namespace);
        this.report(placed, { code: "CLASS_UNKNOWN", path: named, summary, hint });
        continue;
      }
      spec.value = structuredClone(found.object.providerSpec);
      const wrong = this.checkProviderValue(spec.value, path, object.kind === "Cluster");
      for (const { code, summary } of wrong) {
        this.report(placed, { code, path: named, summary: `${summary} (in MachineClass ${name})` });
      }
    }
  }

  private classHint(name: string, namespace: string): string {
    const names = this.placed
      .filter(({ object }) => object.kind === "MachineClass")
      .filter(({ object }) => object.metadata.namespace === namespace)
      .map(({ object }) => object.metadata.name);
    const near = nearest(name, names);
    if (near !== undefined) return `did you mean ${near}?`;
    return names.length === 0 ? "add a MachineClass object" : `classes here: ${names.join(", ")}`;
  }

  private checkOwner(member: Placed<ClusterMember>, clusters: readonly Placed[]): void {
    const { object } = member;
    if (object.kind === "Cluster") return;
    const owner = clusters.find((cluster) => belongsTo(object, cluster.object));
    if (owner !== undefined) {
      this.checkSameProvider(member, owner);
      return;
    }
    const name = clusterOf(object);
    if (this.refused.has(`Cluster ${object.metadata.namespace}/${name ?? ""}`)) return;
    const names = clusters.map((cluster) => describe(cluster.object)).join(", ");
    this.report(member, {
      code: "CLUSTER_MISSING",
      path: ["metadata", "labels", clusterNameLabel],
      summary:
        name === undefined
          ? `belongs to no Cluster: label ${clusterNameLabel} is missing`
          : `belongs to Cluster ${object.metadata.namespace}/${name}, which is not in these manifests`,
      hint: clusters.length === 0 ? "add a Cluster object" : `clusters here: ${names}`,
    });
  }

  private checkSameProvider(member: Placed, owner: Placed): void {
    const clusters = providerSpecsIn(owner.object)[0]?.spec.value?.apiVersion;
    for (const { path, spec } of providerSpecsIn(member.object)) {
      if (clusters === undefined || spec.value === undefined) continue;
      if (spec.value.apiVersion === clusters) continue;
      const summary = `is of another provider than its Cluster (${clusters})`;
      const written = spec.valueFrom === undefined ? ["value", "apiVersion"] : ["valueFrom"];
      this.report(member, { code: "PROVIDER_MISMATCH", path: [...path, ...written], summary });
    }
  }

  private checkCluster(cluster: Placed, desired: Desired, members: readonly Placed[]): void {
    const controlPlane = oldestControlPlane(desired);
    for (const member of members) {
      for (const placed of machineSpecsIn(member.object)) {
        for (const violation of checkSkew(placed, controlPlane)) this.report(member, violation);
      }
    }
    const { namespace, name } = desired.cluster.metadata;
    if (namespace.length + name.length + 1 <= maxStackNameLength) return;
    this.report(
      cluster,
      {
        code: "STACK_NAME",
        path: ["metadata", "name"],
        summary: `its stack is called ${stackNameOf(desired.cluster)}`,
        detail: `Pulumi allows ${maxStackNameLength} characters for namespace and name together.`,
      },
      "warning",
    );
  }

  private warnOfSpelling(placed: Placed, written: MemberPath, now: MemberPath): void {
    const summary = `older spelling of ${String(now.at(-1))}`;
    const hint = `write ${String(now.at(-1))}`;
    this.report(placed, { code: "OLD_SPELLING", path: written, summary, hint }, "warning");
  }

  private report(
    { document, respellings }: Pick<Placed, "document" | "respellings">,
    { code, path, summary, detail, hint }: Violation,
    severity: Diagnostic["severity"] = "error",
  ): void {
    const written = writtenPath(path, respellings);
    const subject = isJsonObject(document.value) ? describe(document.value) : undefined;
    this.diagnostics.push({
      code,
      severity,
      position: document.positionOf(written),
      ...(subject !== undefined && { subject }),
      ...(written.length > 0 && { path: cut(written.join(".")) }),
      summary: cut(summary),
      ...(detail !== undefined && { detail }),
      ...(hint !== undefined && { hint }),
    });
  }
}

/** What a user wrote can be of any length; a message cannot. */
function cut(text: string): string {
  return text.length <= maxMessageLength ? text : `${text.slice(0, maxMessageLength - 3)}...`;
}

function unknownObject(value: Record<string, unknown>): Violation {
  const { kind } = value;
  const kinds = Object.keys(schemas);
  const near = typeof kind === "string" ? nearest(kind, kinds) : undefined;
  const code: DiagnosticCode = "UNKNOWN_OBJECT";
  const hint =
    near === undefined || isKind(kind)
      ? `this release reads ${kinds.join(", ")} of ${apiVersion}`
      : `did you mean ${near}?`;
  return { code, path: [isKind(kind) ? "apiVersion" : "kind"], summary: "unknown object", hint };
}

/** What an API server or we ourselves write is not wanted by anybody: it must not look like a change. */
function dropServerFields(object: AnyObject): void {
  const { metadata } = object;
  delete metadata.uid;
  delete metadata.resourceVersion;
  delete metadata.generation;
  delete metadata.creationTimestamp;
  delete metadata.finalizers;
  delete metadata.ownerReferences;
  delete object.status;
  for (const { spec } of machineSpecsIn(object)) {
    delete spec.providerID;
    for (const taint of spec.taints ?? []) delete taint.timeAdded;
  }
}

/** The Machine specs in an object: a Machine's own, or a template's. */
function machineSpecsIn(object: AnyObject): PlacedSpec[] {
  switch (object.kind) {
    case "Machine":
      return [{ spec: object.spec, path: ["spec"] }];
    case "MachineSet":
    case "MachineDeployment":
      return [{ spec: object.spec.template.spec, path: ["spec", "template", "spec"] }];
    case "Cluster":
    case "MachineClass":
      return [];
  }
}

/** The providerSpecs in an object. A MachineClass has a bare provider's object instead. */
function providerSpecsIn(object: AnyObject) {
  if (object.kind === "Cluster") {
    return [{ spec: object.spec.providerSpec, path: ["spec", "providerSpec"] }];
  }
  return machineSpecsIn(object).map(({ spec, path }) => ({
    spec: spec.providerSpec,
    path: [...path, "providerSpec"],
  }));
}

/** Where objects of a kind hold a provider's object. */
function providerValuePaths(kind: Kind): MemberPath[] {
  const value = ["spec", "providerSpec", "value"];
  switch (kind) {
    case "Cluster":
    case "Machine":
      return [value];
    case "MachineSet":
    case "MachineDeployment":
      return [["spec", "template", ...value]];
    case "MachineClass":
      return [["providerSpec"]];
  }
}

function at(value: unknown, path: MemberPath): unknown {
  return path.reduce<unknown>(
    (current, part) => (isJsonObject(current) ? current[part] : undefined),
    value,
  );
}

function isMember(placed: Placed): placed is Placed<ClusterMember> {
  return placed.object.kind !== "MachineClass";
}

function sameName(left: AnyObject, right: AnyObject): boolean {
  return (
    left.metadata.name === right.metadata.name &&
    left.metadata.namespace === right.metadata.namespace
  );
}

/** The Cluster's name on the object itself or, for sets, on their template. */
function clusterOf(object: ClusterMember): string | undefined {
  const own = object.metadata.labels?.[clusterNameLabel];
  if (own !== undefined || !("template" in object.spec)) return own;
  return object.spec.template.metadata?.labels?.[clusterNameLabel];
}

function belongsTo(object: ClusterMember, cluster: AnyObject): boolean {
  return (
    object.kind !== "Cluster" &&
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
