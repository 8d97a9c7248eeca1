import { counted } from "../../api/counted.js";
import { CapstanError, messageOf } from "../../api/error.js";
import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { stackNameOf } from "../../api/types.js";
import { kindOfToken, providerProperty } from "../../dynamic/protocol.js";
import { keyOf as graphKey, type NodeKey, nodeKey } from "../../graph/graph.js";
import {
  fileOwner,
  type HandOver,
  moveWords,
  openHandOver,
  ownerText,
} from "../../records/hand-over.js";
import {
  type PendingOperation,
  type PriorState,
  recordAt,
  type RecordedResource,
} from "../../records/prior-state.js";
import { clusterIn, type Target } from "../../records/target.js";
import {
  lostRevision,
  type RevisionPayload,
  type RevisionRecord,
  transactionIn,
  type TransactionPayload,
  type TransactionRecord,
} from "../../records/transaction.js";
import { revisionKey, transactionKey } from "../../transaction/pass.js";
import { decodeRecord } from "./record-payload.js";

/** Marks a secret: in an export with its `plaintext`. Source: https://github.com/pulumi/pulumi/tree/v3.259.0/sdk/go/common/resource */
export const secretMark = "4dabf18193072939515e22adb298388d";

interface ExportedResource {
  readonly urn: string;
  readonly type: string;
  readonly custom?: boolean;
  readonly id?: string;
  readonly delete?: boolean;
  readonly parent?: string;
  readonly inputs?: JsonObject;
  readonly outputs?: JsonObject;
  readonly dependencies?: readonly string[];
  readonly initErrors?: readonly string[];
  readonly created?: string;
  readonly modified?: string;
}

/** When Pulumi first recorded a resource, and when it last changed the record. */
interface RecordTimes {
  readonly createdMs: number;
  readonly modifiedMs: number;
}

/** A parsed export, with what else the stack holds. */
export interface StackState extends PriorState {
  /** URNs of resources that are not ours: a stack of a cluster must hold none. */
  readonly foreign: readonly string[];
  /** The salt of the passphrase secrets provider, if that is what encrypts the stack. */
  readonly salt?: string;
  /** When Pulumi wrote it, as it says: another text after each write. */
  readonly writtenAt?: string;
  /** By URN; nothing for records of Pulumi releases that kept no times. */
  readonly times?: ReadonlyMap<string, RecordTimes>;
}

/**
 * What `pulumi stack export --show-secrets` printed, in our terms. Throws BAD_STATE for what cannot
 * be read, SCHEMA_NEWER for what a newer release wrote.
 */
export function parseExport(text: string, stack: string): StackState {
  return stateOf(deploymentOf(text, stack), stack);
}

/** A deployment with its secrets in clear, in our terms. Throws like `parseExport`. */
export function stateOf(deployment: JsonObject, stack: string): StackState {
  const exported = (deployment["resources"] ?? []) as unknown as ExportedResource[];
  const resources: RecordedResource[] = [];
  const foreign: string[] = [];
  for (const resource of exported) {
    const record = recordOf(resource);
    if (record !== undefined) resources.push(record);
    else if (!isPulumis(resource.type)) foreign.push(resource.urn);
  }
  const operations = (deployment["pending_operations"] ?? []) as unknown as {
    type: string;
    resource: ExportedResource;
  }[];
  const transaction = transactionOf(resources, stack);
  const revision = revisionOf(resources, stack) ?? lostRevision(transaction);
  const salt = saltOf(deployment);
  const writtenAt = writtenAtOf(deployment);
  return omitUndefined({
    resources: withMarks(resources, [revision?.target, transaction?.target]),
    pending: operations.map(({ type, resource }) => pendingOf(type, resource)),
    transaction,
    revision,
    foreign,
    salt,
    writtenAt,
    times: new Map(exported.flatMap((resource) => timesOf(resource))),
  });
}

/**
 * Whether Pulumi itself records resources of a type beside those of a cluster. Any other provider is a program that an engine
 * would start.
 */
function isPulumis(type: string): boolean {
  if (type.startsWith("pulumi:providers:")) return type === "pulumi:providers:pulumi-nodejs";
  return type.startsWith("pulumi:");
}

/** Each resource with what of it is secret, as the targets say that know it; the last one counts. */
function withMarks(
  resources: readonly RecordedResource[],
  targets: readonly (Target | undefined)[],
): RecordedResource[] {
  const marks = new Map(
    targets.flatMap((target) =>
      (target?.nodes ?? []).flatMap((node) =>
        node.secret === undefined ? [] : [[graphKey(node), node.secret] as const],
      ),
    ),
  );
  if (marks.size === 0) return [...resources];
  return resources.map((one) => omitUndefined({ ...one, secret: marks.get(one.key) }));
}

/**
 * Throws BAD_STATE for a stack that holds anything but a cluster: a pass registers what belongs to
 * the cluster and would delete everything else, and so would a destroy.
 */
export function refuseForeign({ foreign }: StackState, stack: string): void {
  if (foreign.length === 0) return;
  throw new CapstanError({
    code: "BAD_STATE",
    source: "user",
    subject: stack,
    message: `cannot change ${stack}: it holds ${counted(foreign.length, "resource that is", "resources that are")} not of a cluster, e.g. ${foreign[0] ?? ""}`,
    hint: "nothing was changed; in the project that they come from, pulumi up goes on with the same or with corrected manifests, and takes back with the old ones",
  });
}

/**
 * Throws NOT_OWNER unless nobody has ever had the stack, or `owner` has it: one owner at a time, and none while its objects
 * come or go (architecture section 7). `verb` is what the caller wants to do with the cluster: "change", "plan".
 */
export function refuseNonOwner(
  state: Pick<StackState, "transaction" | "revision">,
  owner: string,
  verb: string,
): void {
  const { transaction } = state;
  if (transaction === undefined) return;
  const underWay = openHandOver(state);
  if (underWay !== undefined) throw onItsWay(transaction, underWay, verb);
  if (transaction.owner === owner) return;
  const { cluster } = transaction.target;
  throw new CapstanError({
    code: "NOT_OWNER",
    source: "user",
    subject: cluster,
    message: `cannot ${verb} ${cluster}: it belongs to ${ownerText(transaction.owner)}, and this is ${ownerText(owner)}`,
    hint: `${wayOf(transaction)}; nothing was changed`,
  });
}

function onItsWay({ target }: TransactionRecord, { to }: HandOver, verb: string): CapstanError {
  const { goOn, back } = moveWords(stackNameOf(clusterIn(target)), to);
  return new CapstanError({
    code: "NOT_OWNER",
    source: "user",
    subject: target.cluster,
    message: `cannot ${verb} ${target.cluster}: it is on its way to ${ownerText(to)}, and nobody's until it is there`,
    hint: `${goOn} goes on with that, and ${back} takes it back; nothing was changed`,
  });
}

/** How the owner of a cluster changes it, and how somebody else gets it. */
function wayOf({ owner, target }: TransactionRecord): string {
  const stack = stackNameOf(clusterIn(target));
  return owner === fileOwner
    ? `capstan plan and up work on its manifests, and capstan move ${stack} --to kubernetes hands it over`
    : `kubectl changes its objects there, and capstan watch plans and applies what they say; capstan describe ${stack} shows how it is, and capstan move ${stack} --to files hands it over`;
}

function deploymentOf(text: string, stack: string): JsonObject {
  try {
    const deployment = (JSON.parse(text) as JsonObject)["deployment"];
    if (isJsonObject(deployment)) return deployment;
    throw new Error("it holds no deployment");
  } catch (error) {
    throw new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      subject: stack,
      message: `cannot read the state of ${stack}: ${messageOf(error)}`,
      hint: "it was left as it is; restore it from a backup of the backend",
      cause: error,
    });
  }
}

function recordOf(resource: ExportedResource): RecordedResource | undefined {
  const kind = kindOfUrn(resource.urn);
  if (kind === undefined) return undefined;
  const { inputs = {}, outputs = {} } = resource;
  const secretOutputs = secretsAmong(outputs);
  return omitUndefined({
    urn: resource.urn,
    key: keyOfUrn(resource.urn, kind),
    kind,
    name: nameOfUrn(resource.urn),
    type: resource.custom === true ? "resource" : "component",
    parent: ownKey(resource.parent),
    id: resource.id,
    inputs: withoutProvider(plain(inputs) as JsonObject),
    secretInputs: secretsAmong(inputs),
    outputs: withoutProvider(plain(outputs) as JsonObject),
    secretOutputs: secretOutputs.length > 0 ? secretOutputs : undefined,
    dependsOn: (resource.dependencies ?? []).flatMap((urn) => ownKey(urn) ?? []),
    unfinished: (resource.initErrors ?? []).length > 0,
    deleting: resource.delete === true,
  });
}

function timesOf({ urn, created, modified }: ExportedResource): [string, RecordTimes][] {
  if (created === undefined) return [];
  return [[urn, { createdMs: Date.parse(created), modifiedMs: Date.parse(modified ?? created) }]];
}

function pendingOf(type: string, resource: ExportedResource): PendingOperation {
  const kind = kindOfUrn(resource.urn) ?? resource.type;
  return {
    type,
    urn: resource.urn,
    key: keyOfUrn(resource.urn, kind),
    kind,
    inputs: withoutProvider(plain(resource.inputs ?? {}) as JsonObject),
  };
}

function transactionOf(
  resources: readonly RecordedResource[],
  stack: string,
): TransactionRecord | undefined {
  const record = recordAt(resources, transactionKey);
  if (record === undefined) return undefined;
  const where = `Transaction of ${stack}`;
  return transactionIn(record.inputs, decodeRecord(record.inputs, where) as TransactionPayload);
}

function revisionOf(
  resources: readonly RecordedResource[],
  stack: string,
): RevisionRecord | undefined {
  const record = recordAt(resources, revisionKey);
  if (record === undefined) return undefined;
  const where = `Revision of ${stack}`;
  return {
    number: Number(record.inputs["number"]),
    ...(decodeRecord(record.inputs, where) as RevisionPayload),
  };
}

/** Whether a URN is that of a resource of a cluster. Pure. */
export function isOwnUrn(urn: string): boolean {
  return kindOfUrn(urn) !== undefined;
}

/** The kind of a resource of ours, dynamic or component; undefined for any other. */
function kindOfUrn(urn: string): string | undefined {
  const token = urn.split("::")[2]?.split("$").at(-1) ?? "";
  const component = token.startsWith("capstan:index:") ? token.slice(14) : undefined;
  return kindOfToken(token) ?? component;
}

function nameOfUrn(urn: string): string {
  return urn.split("::").slice(3).join("::");
}

function keyOfUrn(urn: string, kind: string): NodeKey {
  return nodeKey(kind, nameOfUrn(urn));
}

function ownKey(urn: string | undefined): NodeKey | undefined {
  const kind = urn === undefined ? undefined : kindOfUrn(urn);
  return kind === undefined || urn === undefined ? undefined : keyOfUrn(urn, kind);
}

function secretsAmong(properties: JsonObject): string[] {
  return Object.keys(properties).filter((key) => isSecret(properties[key]));
}

function isSecret(value: Json | undefined): boolean {
  return isJsonObject(value) && secretMark in value && "plaintext" in value;
}

/** Secrets replaced by their values. */
function plain(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => plain(item));
  if (!isJsonObject(value)) return value;
  if (isSecret(value)) return JSON.parse(String(value["plaintext"])) as Json;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}

function withoutProvider(properties: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(properties).filter(([key]) => key !== providerProperty));
}

function writtenAtOf({ manifest }: JsonObject): string | undefined {
  const time = isJsonObject(manifest) ? manifest["time"] : undefined;
  return typeof time === "string" ? time : undefined;
}

function saltOf(deployment: JsonObject): string | undefined {
  const providers = deployment["secrets_providers"];
  const state = isJsonObject(providers) ? providers["state"] : undefined;
  const salt = isJsonObject(state) ? state["salt"] : undefined;
  return typeof salt === "string" ? salt : undefined;
}
