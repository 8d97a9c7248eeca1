import { CapstanError } from "../api/error.js";
import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { identityOf } from "../compile/compile.js";
import {
  dependenciesOf,
  type GraphNode,
  inDependencyOrder,
  keyOf,
  nodeKey,
  type NodeKey,
} from "../graph/graph.js";
import type { RemainingPlan } from "../plan/plan.js";
import {
  cloudResources,
  pendingDeletions,
  isRecordKind,
  type PriorState,
  recordAt,
  type RecordedResource,
} from "../records/prior-state.js";
import { targetDigest } from "../records/target.js";
import { stateSchemaVersion } from "../records/transaction.js";
import type { PassProgram, Registration } from "./registration.js";

export const transactionKey = nodeKey("Transaction", "transaction");
export const revisionKey = nodeKey("Revision", "revision");

/** The encoded payloads of Transaction and Revision: opaque text here, compressed by the engine. */
export interface Payloads {
  readonly transaction: string;
  readonly revision: string;
}

/** What a pass may do: nothing but this, and whatever is recorded stays. */
export type AllowedChanges =
  /** Records the revision again whose record is lost; everything else stays as it is recorded. */
  | { readonly kind: "restore" }
  /** Gives records to what the cloud holds and nobody recorded, as it is; everything else stays as it is recorded. */
  | { readonly kind: "record"; readonly found: readonly GraphNode[] }
  /** Writes Transaction alone; everything else stays as it is recorded. */
  | { readonly kind: "begin" }
  /** Carries out these creations and updates, then these deletions. */
  | {
      readonly kind: "change";
      readonly allowed: ReadonlySet<NodeKey>;
      readonly deletions: ReadonlySet<NodeKey>;
    }
  /** Writes Revision, then deletes these. A single pass may carry changes out before. */
  | {
      readonly kind: "commit";
      readonly allowed: ReadonlySet<NodeKey>;
      readonly deletions: ReadonlySet<NodeKey>;
    };

const none: ReadonlySet<NodeKey> = new Set();

/** What a pass may delete. Pure. */
export function deletionsIn(allowed: AllowedChanges): ReadonlySet<NodeKey> {
  return "deletions" in allowed ? allowed.deletions : none;
}

/** What a pass changes in place. Pure. */
export function updatesIn(
  { steps }: Pick<RemainingPlan, "steps">,
  allowed: AllowedChanges,
): ReadonlySet<NodeKey> {
  const keys = "allowed" in allowed ? allowed.allowed : none;
  const updates = steps.filter((step) => step.kind === "update" && keys.has(step.key));
  return new Set(updates.map(({ key }) => key));
}

/**
 * The complete list that one pass registers. Every resource of the state is in it, as recorded or as
 * wanted, except those whose deletion is allowed (law 8). Transaction comes first and everything
 * depends on it; Revision comes last and depends on everything. Pure.
 */
export function programOf(
  plan: RemainingPlan,
  prior: PriorState,
  allowed: AllowedChanges,
  payloads: Payloads,
): PassProgram {
  const staying = prior.resources.filter(({ deleting }) => !deleting);
  const deletions = deletionsIn(allowed);
  const wanted = wantedNodes(plan, allowed);
  const wantedKeys = new Set(wanted.map(keyOf));
  const kept = staying.filter(
    ({ key, kind, type }) =>
      type === "resource" && !isRecordKind(kind) && !wantedKeys.has(key) && !deletions.has(key),
  );
  const { inline } = plan.transaction;
  const kind = allowed.kind === "commit" && inline === true ? "change" : allowed.kind;
  const transaction = transactionRegistration(plan, prior, { kind, payloads });
  const members = [...wanted.map((node) => registrationOf(plan, node)), ...kept.map(verbatim)];
  const parents = [...new Set(members.flatMap(({ parent }) => parent ?? []))];
  const body = inRegistrationOrder(
    presentOnly([...parents.map(componentRegistration), ...members]),
  );
  const revision = revisionRegistration(plan, prior, { kind: allowed.kind, payloads });
  const everything = [transactionKey, ...body.map(({ key }) => key)];
  const registrations = [
    transaction,
    ...body,
    ...(revision === undefined ? [] : [{ ...revision, dependsOn: everything }]),
  ];
  assertNothingLeftOut(registrations, prior, deletions);
  assertStepsAsPlanned(plan, allowed);
  return { registrations, stackOutputs: stackOutputs(revision) };
}

/** What is not made yet, or just going, is nothing to depend on. */
function presentOnly(registrations: readonly Registration[]): Registration[] {
  const present = new Set(registrations.map(({ key }) => key));
  return registrations.map((one) => ({
    ...one,
    dependsOn: [...new Set([transactionKey, ...one.dependsOn.filter((key) => present.has(key))])],
  }));
}

/** Nodes that a pass registers as the target wants them; others, and what is left alone, stay as they are recorded. */
function wantedNodes(plan: RemainingPlan, allowed: AllowedChanges): GraphNode[] {
  if (allowed.kind === "record") return [...allowed.found];
  if (!("allowed" in allowed)) return [];
  const changing = new Set([...plan.steps.map(({ key }) => key), ...plan.left]);
  return plan.target.nodes.filter((node) => {
    const key = keyOf(node);
    return node.type === "resource" && (allowed.allowed.has(key) || !changing.has(key));
  });
}

/**
 * Ids of what is recorded a second time as replaced and that this pass does not delete: Pulumi asks for
 * that all the same, to be rid of the older record. Pure.
 */
export function recordedTwice(
  prior: PriorState,
  deletions: ReadonlySet<NodeKey>,
): ReadonlySet<string> {
  const staying = cloudResources(prior).filter(({ key }) => !deletions.has(key));
  const ids = new Set(staying.map(({ id }) => id));
  return new Set(pendingDeletions(prior).flatMap(({ id = "" }) => (ids.has(id) ? [id] : [])));
}

/**
 * Law 8, checked before any engine starts: a resource that the pass does not register would be
 * deleted by Pulumi. Throws BAD_STATE; a component may go with the last of its hosts.
 */
function assertNothingLeftOut(
  registrations: readonly Registration[],
  prior: PriorState,
  deletions: ReadonlySet<NodeKey>,
): void {
  const registered = new Set(registrations.map(({ key }) => key));
  const lost = prior.resources.filter(
    ({ key, type, deleting }) =>
      type === "resource" && !deleting && !registered.has(key) && !deletions.has(key),
  );
  if (lost.length === 0) return;
  throw new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    message: `refusing a pass that would delete ${lost.map(({ key }) => key).join(", ")}, which no plan admitted`,
    hint: "this is a defect; nothing was changed",
  });
}

/**
 * Law 20, checked before any engine starts. No pass deletes a resource that its target has, and a commit carries out each step of its plan that
 * is no deletion. Throws BAD_STATE.
 */
export function assertStepsAsPlanned(plan: RemainingPlan, allowed: AllowedChanges): void {
  const deletions = deletionsIn(allowed);
  const wanted = plan.target.nodes.map(keyOf).filter((key) => deletions.has(key));
  const open =
    allowed.kind === "commit"
      ? plan.steps.filter(({ kind, key }) => kind !== "delete" && !allowed.allowed.has(key))
      : [];
  if (wanted.length === 0 && open.length === 0) return;
  const problems = [
    ...wanted.map((key) => `delete ${key}, which its target has`),
    ...open.map(({ kind, key }) => `commit without the ${kind} of ${key}`),
  ];
  throw new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    message: `refusing a pass that would ${problems.join(", ")}`,
    hint: "this is a defect; nothing was changed",
  });
}

function registrationOf(plan: RemainingPlan, node: GraphNode): Registration {
  const cluster = plan.target.objects.find(({ kind }) => kind === "Cluster");
  if (cluster?.kind !== "Cluster") throw new Error("a target holds its Cluster");
  return omitUndefined({
    key: keyOf(node),
    type: "resource",
    kind: node.kind,
    name: node.name,
    parent: node.parent,
    inputs: omitUndefined({
      who: identityOf(cluster, plan.transaction.clusterUid, node.kind, node.name),
      spec: node.spec,
      keep: node.keep,
    }),
    ...secretPropertiesOf(node),
    dependsOn: dependenciesOf(node),
  });
}

/**
 * Pulumi encrypts by the name of an output (rule 5.5), so the whole spec or status is encrypted that holds a secret field: nothing
 * that a handler puts under another name in it is in clear.
 */
function secretPropertiesOf({
  secret = {},
}: GraphNode): Pick<Registration, "secretInputs" | "secretOutputs"> {
  const secretInputs = secret.inputs === undefined ? [] : ["spec"];
  const secretOutputs = secret.outputs === undefined ? secretInputs : [...secretInputs, "status"];
  return secretOutputs.length === 0 ? { secretInputs } : { secretInputs, secretOutputs };
}

/** A recorded resource as it is: registering it so changes nothing. */
function verbatim(resource: RecordedResource): Registration {
  const { key, type, kind, name, parent, inputs, secretInputs, secretOutputs, dependsOn } =
    resource;
  return omitUndefined({
    key,
    type,
    kind,
    name,
    parent,
    inputs,
    secretInputs,
    secretOutputs,
    // Pulumi for Node.js records no dependency on a parent, but it has to be registered before.
    dependsOn: parent === undefined ? dependsOn : [...new Set([parent, ...dependsOn])],
  });
}

function componentRegistration(key: NodeKey): Registration {
  const at = key.indexOf("/");
  const [kind, name] = [key.slice(0, at), key.slice(at + 1)];
  return { key, type: "component", kind, name, inputs: {}, secretInputs: [], dependsOn: [] };
}

/**
 * Word for word once it is begun: Pulumi encrypts anew whatever it is given, and would write it. A commit says in it, too, that
 * there was one: Revision is the first record that a plain `pulumi destroy` deletes. In a single pass it would say so
 * before anything is done, and says it at the next begin.
 */
function transactionRegistration(
  plan: RemainingPlan,
  { resources, revision }: PriorState,
  { kind, payloads }: { readonly kind: AllowedChanges["kind"]; readonly payloads: Payloads },
): Registration {
  const { number, clusterUid, owner, startedAtMs } = plan.transaction;
  const recorded = recordAt(resources, transactionKey);
  const isAsBefore = kind === "restore" || kind === "record";
  if (recorded !== undefined && (isAsBefore || recorded.inputs["number"] === number)) {
    const registration = verbatim(recorded);
    if (kind !== "commit") return registration;
    return { ...registration, inputs: { ...registration.inputs, committed: number } };
  }
  const inputs = { number, clusterUid, owner, startedAtMs, payload: payloads.transaction };
  // Of a destroy that has begun to clear its records there is nothing left to go back to.
  const committed = revision?.number;
  return recordRegistration(
    "Transaction",
    transactionKey,
    omitUndefined({ ...commonFacts(plan), ...inputs, committed }),
  );
}

/**
 * Until the commit the old Revision is registered word for word, so that it stays. Of one whose record is lost Transaction tells, and
 * no longer than until the next begin: it is recorded again before that, or with it.
 */
function revisionRegistration(
  plan: RemainingPlan,
  { resources, revision: last }: PriorState,
  { kind, payloads }: { readonly kind: AllowedChanges["kind"]; readonly payloads: Payloads },
): Registration | undefined {
  const { number, clusterUid } = plan.transaction;
  const recorded = recordAt(resources, revisionKey);
  const facts = { ...commonFacts(plan), clusterUid, payload: payloads.revision };
  const { machines } = plan.target;
  if (kind === "commit" && recorded?.inputs["number"] !== number) {
    return recordRegistration("Revision", revisionKey, {
      ...facts,
      number,
      machines: machines.length,
    });
  }
  if (recorded !== undefined) return verbatim(recorded);
  if ((kind !== "restore" && kind !== "begin") || last === undefined) return undefined;
  return recordRegistration("Revision", revisionKey, {
    ...facts,
    number: last.number,
    targetDigest: targetDigest(last.target),
    machines: last.target.machines.length,
  });
}

/** The cloud in clear too: Pulumi deletes the Revision first, and nothing may go without a look at that. */
function commonFacts(plan: RemainingPlan): JsonObject {
  const { cloud } = plan.transaction;
  return omitUndefined({
    provider: cloud === undefined ? undefined : plan.provider,
    cloud,
    schemaVersion: stateSchemaVersion,
    cluster: plan.cluster,
    targetDigest: plan.targetDigest,
  });
}

function recordRegistration(kind: string, key: NodeKey, inputs: JsonObject): Registration {
  const name = kind.toLowerCase();
  const secretInputs = ["payload"];
  return { key, type: "resource", kind, name, inputs, secretInputs, dependsOn: [] };
}

/** Each behind everything that it depends on; otherwise in the order given. Pure. Throws GRAPH_CYCLE. */
export function inRegistrationOrder(registrations: readonly Registration[]): Registration[] {
  const nodes = registrations.map((registration) => ({ ...registration, spec: {}, registration }));
  return inDependencyOrder(nodes).map(({ registration }) => registration);
}

/** Derived from the Revision alone: a pass that fails publishes nothing new. */
function stackOutputs(revision: Registration | undefined): JsonObject {
  if (revision === undefined) return {};
  const { cluster, number, machines } = revision.inputs;
  return { cluster: cluster ?? "", revision: number ?? 0, machines: machines ?? 0 };
}
