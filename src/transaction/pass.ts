import { CapstanError } from "../api/error.js";
import type { JsonObject } from "../api/json.js";
import { identityOf } from "../compile/compile.js";
import {
  dependenciesOf,
  type GraphNode,
  inDependencyOrder,
  keyOf,
  nodeKey,
  type NodeKey,
} from "../graph/graph.js";
import type { Plan } from "../plan/plan.js";
import {
  isRecordKind,
  type PriorState,
  type RecordedResource,
  stateSchemaVersion,
} from "../plan/target.js";
import type { PassProgram, Registration } from "./registration.js";

export const transactionKey = nodeKey("Transaction", "transaction");
export const revisionKey = nodeKey("Revision", "revision");

/** The encoded payloads of Transaction and Revision: opaque text here, compressed by the engine. */
export interface Payloads {
  readonly transaction: string;
  readonly revision: string;
}

/** What a pass may do: nothing but these, and whatever is recorded stays. */
export interface Admission {
  /** Creations and updates carried out by now, this pass included. */
  readonly admitted: ReadonlySet<NodeKey>;
  /** Recorded resources that this pass may delete; empty but for the commit. */
  readonly deletions: ReadonlySet<NodeKey>;
  readonly commit: boolean;
}

/**
 * The complete list that one pass registers. Every resource of the state is in it, as recorded or as
 * wanted, except those whose deletion is admitted (law 8). Transaction comes first and everything
 * depends on it; Revision comes last and depends on everything. Pure.
 */
export function programOf(
  plan: Plan,
  prior: PriorState,
  admission: Admission,
  payloads: Payloads,
): PassProgram {
  const recorded = new Map(prior.resources.map((resource) => [resource.key, resource]));
  const changing = new Set(plan.steps.map(({ key }) => key));
  const wanted = plan.target.nodes.filter((node) => {
    const key = keyOf(node);
    if (node.type === "component") return false;
    return admission.admitted.has(key) || !changing.has(key);
  });
  const wantedKeys = new Set(wanted.map(keyOf));
  const kept = prior.resources.filter(
    ({ key, kind, type, deleting }) =>
      type === "resource" &&
      !isRecordKind(kind) &&
      !deleting &&
      !wantedKeys.has(key) &&
      !admission.deletions.has(key),
  );
  const transaction = transactionRegistration(plan, payloads.transaction);
  const members = [...wanted.map((node) => registrationOf(plan, node)), ...kept.map(verbatim)];
  const parents = [...new Set(members.flatMap(({ parent }) => parent ?? []))];
  const body = ordered([...parents.map(componentRegistration), ...members]).map(afterTransaction);
  const revision = admission.commit
    ? revisionRegistration(plan, payloads.revision)
    : oldRevision(recorded.get(revisionKey));
  const everything = [transactionKey, ...body.map(({ key }) => key)];
  const registrations = [
    transaction,
    ...body,
    ...(revision === undefined ? [] : [{ ...revision, dependsOn: everything }]),
  ];
  assertNothingLeftOut(registrations, prior, admission.deletions);
  return { registrations, stackOutputs: stackOutputs(revision) };
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

function registrationOf(plan: Plan, node: GraphNode): Registration {
  const cluster = plan.target.objects.find(({ kind }) => kind === "Cluster");
  if (cluster?.kind !== "Cluster") throw new Error("a target holds its Cluster");
  return {
    key: keyOf(node),
    type: node.type,
    kind: node.kind,
    name: node.name,
    ...(node.parent !== undefined && { parent: node.parent }),
    inputs: {
      who: identityOf(cluster, plan.transaction.clusterUid, node.kind, node.name),
      spec: node.spec,
    },
    secretInputs: [],
    dependsOn: dependenciesOf(node),
  };
}

/** A recorded resource as it is: registering it so changes nothing. */
function verbatim(resource: RecordedResource): Registration {
  const { key, type, kind, name, parent, inputs, secretInputs, dependsOn } = resource;
  return {
    key,
    type,
    kind,
    name,
    ...(parent !== undefined && { parent }),
    inputs,
    secretInputs,
    dependsOn,
  };
}

function componentRegistration(key: NodeKey): Registration {
  const at = key.indexOf("/");
  const [kind, name] = [key.slice(0, at), key.slice(at + 1)];
  return { key, type: "component", kind, name, inputs: {}, secretInputs: [], dependsOn: [] };
}

function transactionRegistration(plan: Plan, payload: string): Registration {
  const { number, clusterUid, owner, startedAtMs } = plan.transaction;
  return recordRegistration("Transaction", transactionKey, {
    ...commonFacts(plan),
    number,
    clusterUid,
    owner,
    startedAtMs,
    payload,
  });
}

function revisionRegistration(plan: Plan, payload: string): Registration {
  const { number, clusterUid } = plan.transaction;
  return recordRegistration("Revision", revisionKey, {
    ...commonFacts(plan),
    number,
    clusterUid,
    machines: plan.target.machines.length,
    payload,
  });
}

function commonFacts(plan: Plan): JsonObject {
  return {
    schemaVersion: stateSchemaVersion,
    cluster: plan.cluster,
    targetDigest: plan.targetDigest,
  };
}

function recordRegistration(kind: string, key: NodeKey, inputs: JsonObject): Registration {
  const name = kind.toLowerCase();
  const secretInputs = ["payload"];
  return { key, type: "resource", kind, name, inputs, secretInputs, dependsOn: [] };
}

/** Between passes the old Revision is registered word for word, so that it stays. */
function oldRevision(recorded: RecordedResource | undefined): Registration | undefined {
  return recorded === undefined ? undefined : verbatim(recorded);
}

function afterTransaction(registration: Registration): Registration {
  return { ...registration, dependsOn: [...new Set([transactionKey, ...registration.dependsOn])] };
}

function ordered(registrations: readonly Registration[]): Registration[] {
  const byKey = new Map(registrations.map((registration) => [registration.key, registration]));
  const nodes = registrations.map(({ kind, name, type, parent, dependsOn }): GraphNode => ({
    kind,
    name,
    type,
    ...(parent !== undefined && { parent }),
    spec: {},
    dependsOn,
  }));
  return inDependencyOrder(nodes).map((node) => byKey.get(keyOf(node)) as Registration);
}

/** Derived from the Revision alone: a pass that fails publishes nothing new. */
function stackOutputs(revision: Registration | undefined): JsonObject {
  if (revision === undefined) return {};
  const { cluster, number, machines } = revision.inputs;
  return { cluster: cluster ?? "", revision: number ?? 0, machines: machines ?? 0 };
}
