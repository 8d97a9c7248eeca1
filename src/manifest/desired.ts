import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { asJson, isJsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import {
  apiVersion,
  isKind,
  isSharedKind,
  type Kind,
  type ObjectOf,
  schemas,
} from "../api/schema.js";
import { findServed } from "../api/served-versions.js";
import {
  type AnyObject,
  type ClusterMember,
  type ClusterObject,
  type Desired,
  maxStackNameLength,
  stackNameOf,
} from "../api/types.js";
import { validate } from "../api/validate.js";
import { oldestControlPlane } from "../api/versions.js";
import { checkAnnotations, idleMarks } from "./annotations.js";
import {
  checkCluster,
  checkHostNetworks,
  checkMachineSpec,
  checkProviderSpec,
  checkProgressDeadline,
  checkSelector,
  checkSkew,
} from "./checks.js";
import { checkDrainRule, idleRule, rulesForCluster } from "./drain-rules.js";
import { dropServerFields, spellVersions, withoutEmptyMarks } from "./normal-form.js";
import { checkHealthCheck, idleHealthCheck } from "./health-checks.js";
import { byPosition, type Diagnostic, type Position } from "./diagnostic.js";
import {
  belongsTo,
  describe,
  machineSpecsIn,
  type ObjectHolder,
  providerSpecsIn,
} from "./object-parts.js";
import { withDefaultDomains } from "./default-domains.js";
import { GeneratedNames } from "./generated-names.js";
import { checkLabelSyntax } from "./label-syntax.js";
import { unfold } from "./lists.js";
import { checkIgnored, checkOffers } from "./offers.js";
import { idleFields } from "./idle-fields.js";
import { checkOverlap, isSelecting } from "./overlaps.js";
import { type ParsedDocument, parseManifest, type SourceText } from "./parse.js";
import {
  checkProviderValues,
  deprecatedVersions,
  idleMembers,
  inStorageVersion,
  presentGroups,
} from "./provider-values.js";
import { placeOfSetting, type Setting } from "./override-forms.js";
import { noOverrides, type Overrides } from "./overrides.js";
import { IdentityReader, type NamespaceLabels } from "./identities.js";
import { checkOwner, resolveClasses } from "./references.js";
import { applySetting, memberAt, objectFor, partsHint, type Unsettable } from "./settings.js";
import { asWritten, leadsTo, madeAt, placeIn, type Placed } from "./placed.js";
import { inOurGroup, respell, writtenPath } from "./spelling.js";
import { isOfOtherGeneration, otherGeneration, unknownObject } from "./unknown-object.js";
import { checkUnknown, tolerated } from "./unknown-values.js";
import { forgottenVariable } from "./variables.js";

const maxMessageLength = 240;

export interface Manifests {
  readonly clusters: readonly Desired[];
  /** Every problem, by position. With an error among them the clusters must not be used. */
  readonly diagnostics: readonly Diagnostic[];
  readonly objects: number;
  /** Where a member of one of the objects was written. */
  readonly positionOf: (object: AnyObject, path: MemberPath) => Position | undefined;
}

/**
 * Reads manifests into clusters, with every problem of every text at once. What the command says beside
 * them is put in before anything is checked. Clusters and their objects keep document order; references
 * to MachineClasses are resolved. Pure.
 */
export function readDesired(
  sources: readonly SourceText[],
  providers: readonly ProviderSpecs[],
  { variables, givenBy, settings }: Overrides = noOverrides,
): Manifests {
  const reader = new Reader(providers, "files", variables !== undefined);
  const documents = sources.flatMap((source) => {
    const parsed = parseManifest(source, variables, givenBy);
    reader.diagnostics.push(...parsed.diagnostics);
    reader.unread.push(...parsed.unread);
    return parsed.documents;
  });
  reader.read(documents, settings);
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
  labelsOf?: NamespaceLabels,
): Manifests {
  const reader = new Reader(providers, "apiServer", true, labelsOf);
  const documents = objects.map(({ name, value }): ParsedDocument => ({
    value,
    positionOf: () => ({ file: name, line: 1, column: 1 }),
    writtenAt: () => undefined,
    unresolved: [],
  }));
  reader.read(documents, []);
  return reader.manifests();
}

class Reader {
  readonly diagnostics: Diagnostic[] = [];
  readonly placed: Placed[] = [];
  /** Clusters that are here but wrong: what belongs to them need not be told that they are missing. */
  private readonly refused = new Set<string>();
  private readonly otherGeneration: ParsedDocument[] = [];
  /** Documents that could not be read: an object whose kind and name one of them has is not told to be missing. */
  readonly unread: string[] = [];
  private readonly identities: IdentityReader;
  private readonly names: GeneratedNames;

  constructor(
    private readonly providers: readonly ProviderSpecs[],
    private readonly holder: ObjectHolder,
    /** Whether all variables are replaced by now. */
    private readonly hasVariables = true,
    labelsOf?: NamespaceLabels,
  ) {
    this.identities = new IdentityReader(providers, holder, labelsOf);
    this.names = new GeneratedNames(holder);
  }

  /** Whether an object, as "Cluster default/prod", is here but wrong, or may be. */
  private isRefused(object: string): boolean {
    const kind = object.slice(0, object.indexOf(" "));
    const name = object.slice(object.lastIndexOf("/") + 1);
    return (
      this.refused.has(object) ||
      this.unread.some((text) => text.includes(kind) && text.includes(name))
    );
  }

  positionOf(object: AnyObject, path: MemberPath): Position | undefined {
    const found = this.placed.find(
      (one) => one.object.kind === object.kind && sameName(one.object, object),
    );
    return found && placeIn(found, path);
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

  /** Documents into objects; what is wrong with one alone is reported here. */
  read(documents: readonly ParsedDocument[], settings: readonly Setting[]): void {
    const opened = documents
      .flatMap((document) => this.unfolded(document))
      .flatMap((document) => this.open(document) ?? []);
    this.reportOtherGeneration();
    for (const setting of settings) this.set(setting, opened);
    for (const placed of opened) this.check(placed);
  }

  /** The objects of a document; what is wrong with a list is reported here. */
  private unfolded(document: ParsedDocument): readonly ParsedDocument[] {
    const { documents, violations } = unfold(document);
    const list = { document, respellings: [], settings: [] };
    for (const violation of violations) this.report(list, violation);
    return documents;
  }

  /** An object of a known kind, in the present spelling; undefined, and told of, for anything else. */
  private open(document: ParsedDocument): Placed | undefined {
    const { value } = document;
    const bare = { document, respellings: [], settings: [] };
    if (!isJsonObject(value)) {
      const summary = "a manifest must be an object with apiVersion and kind";
      this.report(bare, { code: "UNKNOWN_OBJECT", path: [], summary });
      return undefined;
    }
    const ofIdentity = this.identities.take(value);
    if (ofIdentity !== undefined) {
      for (const violation of ofIdentity) this.report(bare, violation);
      return undefined;
    }
    inOurGroup(value);
    if (isOfOtherGeneration(value)) {
      this.otherGeneration.push(document);
      return undefined;
    }
    if (value["apiVersion"] !== apiVersion || !isKind(value["kind"])) {
      this.report(bare, unknownObject(value));
      return undefined;
    }
    const respellings = respell(value);
    const placed = { ...bare, object: value as unknown as AnyObject, respellings };
    const named = this.names.give(value);
    if (named !== undefined) this.report(placed, named, "warning");
    for (const { written, now } of respellings) this.warnOfSpelling(placed, written, now);
    for (const former of presentGroups(placed.object, this.providers)) {
      this.report(placed, former, "warning");
    }
    return placed;
  }

  private reportOtherGeneration(): void {
    const [first, ...others] = this.otherGeneration;
    if (first === undefined) return;
    const bare = { document: first, respellings: [], settings: [] };
    this.report(bare, otherGeneration(others.map(({ value }) => describe(value))));
  }

  private set(setting: Setting, opened: readonly Placed[]): void {
    const sought = objectFor(setting, opened);
    if (sought.kind === "none") return this.refuseSetting(setting, sought);
    const made = applySetting(sought.found.object, setting);
    if (made.kind === "none") return this.refuseSetting(setting, made);
    sought.found.settings.push(made);
  }

  private refuseSetting(setting: Setting, { summary, hint }: Unsettable): void {
    const position = { file: placeOfSetting(setting) };
    this.diagnostics.push({ code: "SETTING", severity: "error", position, summary, hint });
  }

  private check(placed: Placed): void {
    const { kind } = placed.object;
    const violations = [
      ...checkUnknown(placed.object),
      ...tolerated(placed.object, validate(schemas[kind], asJson(placed.object))),
    ];
    for (const violation of violations) this.report(placed, violation);
    const own = tolerated(
      placed.object,
      violations.length === 0
        ? this.checkAlone(placed.object)
        : checkProviderValues(placed.object, this.providers),
    );
    for (const violation of own) this.report(placed, violation);
    const { object } = placed;
    const idle =
      violations.length === 0
        ? [
            ...idleFields(object, this.holder),
            ...idleMarks(object),
            ...idleMembers(object, this.providers),
          ]
        : [];
    for (const violation of idle) this.report(placed, violation, "warning");
    for (const warning of deprecatedVersions(object, this.providers)) {
      this.report(placed, warning, "warning");
    }
    const isValid = violations.length + own.length === 0;
    const stored = isValid ? this.stored(placed) : undefined;
    if (stored === undefined) {
      this.refused.add(describe(object));
      return;
    }
    dropServerFields(stored.object);
    spellVersions(stored.object);
    this.keep({ ...stored, object: withoutEmptyMarks(stored.object) });
  }

  /** As everything after this place knows it: in the provider's storage version. Undefined: it cannot be. */
  private stored(placed: Placed): Placed | undefined {
    const { object, violations } = inStorageVersion(placed.object, this.providers);
    for (const violation of violations) this.report(placed, violation);
    return violations.length === 0 ? { ...placed, object } : undefined;
  }

  /** Objects to their clusters; what is wrong between objects is reported here. */
  private assemble(): Desired[] {
    const refused = { has: (object: string) => this.isRefused(object) };
    const classes = objectsOfKind(this.placed, "MachineClass");
    for (const placed of this.placed) {
      const { providers } = this;
      const wrong = resolveClasses(placed.object, { classes, providers, refused });
      // Not before: a class may bring the provider's object.
      const unoffered = checkOffers(placed.object, providers);
      for (const violation of [...wrong, ...unoffered]) this.report(placed, violation);
      const ignored = checkIgnored(placed.object, providers);
      for (const violation of ignored) this.report(placed, violation, "warning");
    }
    const members = this.placed.filter(isMember);
    const owners = objectsOfKind(this.placed, "Cluster");
    for (const member of members) {
      const wrong = checkOwner(member.object, owners, refused);
      for (const violation of wrong) this.report(member, violation);
    }
    const rules = objectsOfKind(this.placed, "MachineDrainRule");
    for (const placed of this.placed) {
      if (placed.object.kind !== "MachineDrainRule" || this.holder === "apiServer") continue;
      for (const idle of idleRule(placed.object, owners)) this.report(placed, idle, "warning");
    }
    return this.placed.filter(isCluster).map((placed) => {
      const { object: cluster } = placed;
      for (const wrong of this.identities.resolve(cluster)) this.report(placed, wrong);
      const own = members.filter(({ object }) => belongsTo(object, cluster));
      const desired: Desired = {
        cluster,
        machines: objectsOfKind(own, "Machine"),
        machineSets: objectsOfKind(own, "MachineSet"),
        machineDeployments: objectsOfKind(own, "MachineDeployment"),
        drainRules: rulesForCluster(rules, cluster),
        healthChecks: objectsOfKind(own, "MachineHealthCheck"),
      };
      this.checkCluster(placed, desired, own);
      return withDefaultDomains(desired, this.providers);
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
    const hint = "rename one of them, or take it away";
    this.report(placed, { code: "DUPLICATE", path: ["metadata", "name"], summary, hint });
  }

  /** Rules on one object that fits its schema. */
  private checkAlone(object: AnyObject): Violation[] {
    const specs = providerSpecsIn(object);
    return [
      ...specs.flatMap(({ path, spec }) => checkProviderSpec(spec, path)),
      ...checkProviderValues(object, this.providers),
      ...checkLabelSyntax(object),
      ...checkAnnotations(object, this.holder),
      ...(object.kind === "Cluster"
        ? [...checkCluster(object), ...checkHostNetworks(object, this.networksOf(object))]
        : []),
      ...machineSpecsIn(object).flatMap(checkMachineSpec),
      ...(object.kind === "MachineDeployment" ? checkProgressDeadline(object.spec) : []),
      ...(object.kind === "MachineDrainRule" ? checkDrainRule(object) : []),
      ...(object.kind === "MachineHealthCheck" ? checkHealthCheck(object) : []),
      ...(object.kind === "MachineSet" || object.kind === "MachineDeployment"
        ? checkSelector(object.spec.selector, object.spec.template.metadata?.labels ?? {})
        : []),
    ];
  }

  private networksOf({ spec }: ClusterObject): readonly string[] {
    const served = findServed(this.providers, spec.providerSpec.value?.apiVersion);
    return served?.version.clusterSpec.networks ?? [];
  }

  private checkCluster(
    cluster: Placed,
    desired: Desired,
    members: readonly Placed<ClusterMember>[],
  ): void {
    this.checkSelectors(members);
    for (const member of members) {
      if (member.object.kind !== "MachineHealthCheck") continue;
      for (const idle of idleHealthCheck(member.object, desired))
        this.report(member, idle, "warning");
    }
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

  private checkSelectors(members: readonly Placed<ClusterMember>[]): void {
    const sets = members.flatMap(({ object, document }) =>
      isSelecting(object) ? [{ set: object, name: namedWithPlace(object, document) }] : [],
    );
    for (const member of members) {
      const violation = checkOverlap(member.object, sets);
      if (violation !== undefined) this.report(member, violation);
    }
  }

  private warnOfSpelling(placed: Placed, written: MemberPath, now: MemberPath): void {
    const summary = `older spelling of ${String(now.at(-1))}`;
    const hint = `write ${String(now.at(-1))}`;
    this.report(placed, { code: "OLD_SPELLING", path: written, summary, hint }, "warning");
  }

  private report(
    placed: Omit<Placed, "object">,
    violation: Violation,
    severity: Diagnostic["severity"] = "error",
  ): void {
    const { document, respellings } = placed;
    const { code, path, summary, detail } = asWritten(placed, violation);
    const written = writtenPath(path, respellings);
    if (document.unresolved.some((one) => leadsTo(one, written))) return;
    const subject = isJsonObject(document.value) ? describe(document.value) : undefined;
    this.diagnostics.push(
      omitUndefined({
        code,
        severity,
        position: placeIn(placed, path),
        subject,
        path: written.length > 0 ? cut(written.join(".")) : undefined,
        summary: cut(summary),
        detail,
        hint: this.hintFor(placed, asWritten(placed, violation)),
      }),
    );
  }

  /** How the member was given says more about what to do than what it has to be. */
  private hintFor(
    { document, settings }: Omit<Placed, "object">,
    { path, hint, wanted }: Violation,
  ): string | undefined {
    const made = madeAt(path, settings);
    if (made !== undefined) {
      return wanted === undefined ? hint : partsHint(made.setting, path, wanted);
    }
    if (this.hasVariables) return hint;
    return forgottenVariable(memberAt(document.value, path)) ?? hint;
  }
}

/** "MachineSet default/db (a.yaml:15)"; an object of an API server is its own place. */
function namedWithPlace(object: AnyObject, document: ParsedDocument): string {
  const { file, line } = document.positionOf(["spec", "selector"]);
  const name = describe(object);
  return file === name ? name : `${name} (${file}:${line})`;
}

/** What a user wrote can be of any length; a message cannot. */
function cut(text: string): string {
  return text.length <= maxMessageLength ? text : `${text.slice(0, maxMessageLength - 3)}...`;
}

function objectsOfKind<K extends Kind>(placed: readonly Placed[], kind: K): ObjectOf<K>[] {
  return placed.flatMap(({ object }) => (object.kind === kind ? [object as ObjectOf<K>] : []));
}

function isCluster(placed: Placed): placed is Placed<ClusterObject> {
  return placed.object.kind === "Cluster";
}

function isMember(placed: Placed): placed is Placed<ClusterMember> {
  return !isSharedKind(placed.object.kind);
}

function sameName(left: AnyObject, right: AnyObject): boolean {
  return (
    left.metadata.name === right.metadata.name &&
    left.metadata.namespace === right.metadata.namespace
  );
}
