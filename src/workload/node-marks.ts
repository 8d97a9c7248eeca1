import { isJsonObject, type Json, type JsonObject, sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { secretText } from "../api/secret-fields.js";
import type { MachineSpec } from "../api/types.js";
import { ownAnnotationPrefix } from "../api/update-policy.js";

/** What a Machine's spec wants its Node to bear. */
export interface NodeMarks {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly NodeTaint[];
  /** Whether a control-plane member takes pods like a worker: `controlPlaneTaint` is taken off its Node. */
  readonly takesPods: boolean;
}

interface NodeTaint {
  readonly key: string;
  readonly value?: string | undefined;
  readonly effect: string;
}

/** kubeadm puts it on the Nodes of control-plane members. Source: kubeadm reference, "NodeRegistrationOptions". */
export const controlPlaneTaint: NodeTaint = {
  key: "node-role.kubernetes.io/control-plane",
  effect: "NoSchedule",
};

/** A Node as its API server shows it, as far as it bears marks. Source: core/v1, Node. */
export interface MarkedNode {
  readonly metadata?:
    | {
        readonly resourceVersion?: string;
        readonly labels?: Readonly<Record<string, string>>;
        readonly annotations?: Readonly<Record<string, string>>;
      }
    | undefined;
  readonly spec?: { readonly taints?: readonly NodeTaint[] | undefined } | undefined;
}

/** What has to be merged into a Node; null takes a name off. Source: RFC 7396. */
interface NodePatch {
  readonly metadata: {
    readonly labels?: Readonly<Record<string, string | null>>;
    readonly annotations?: Readonly<Record<string, string | null>>;
    /** The Node has to be as it was read. */
    readonly resourceVersion?: string;
  };
  readonly spec?: { readonly taints: readonly NodeTaint[] };
}

/** Names of the marks that a Node has from its Machine: only these are undone again. */
const marksAnnotation = `${ownAnnotationPrefix}node-marks`;

interface OwnMarks {
  readonly labels: readonly string[];
  readonly annotations: readonly string[];
  readonly taints: readonly string[];
  readonly takesPods: boolean;
}

/** Pure. */
export function marksOf({
  metadata,
  taints = [],
  roles = [],
}: Pick<MachineSpec, "metadata" | "taints" | "roles">): NodeMarks {
  return {
    labels: metadata?.labels ?? {},
    annotations: metadata?.annotations ?? {},
    taints: taints.map(({ key, value, effect }) =>
      omitUndefined({ key, value: value === "" ? undefined : value, effect }),
    ),
    takesPods: roles.includes("Master") && roles.includes("Node"),
  };
}

/**
 * What has to be merged into a Node so that it bears what is wanted; undefined where it does. What others have put there stays:
 * only what is wanted is set, and only what was wanted before is undone. Pure.
 */
export function marksPatch(node: MarkedNode, wanted: NodeMarks): NodePatch | undefined {
  const { resourceVersion, labels = {}, annotations = {} } = node.metadata ?? {};
  const own = ownMarksIn(annotations[marksAnnotation]);
  const record = recordOf(wanted);
  const { taints = [] } = node.spec ?? {};
  const kept = taintsWith(taints, wanted, own);
  const areTaintsRight = areSameTaints(taints, kept);
  const metadata = omitUndefined({
    labels: changes(labels, wanted.labels, own.labels),
    annotations: changes(annotations, { ...wanted.annotations, [marksAnnotation]: record }, [
      ...own.annotations,
      marksAnnotation,
    ]),
    // Lists are merged as wholes: whoever changes it at the same time is not written over.
    resourceVersion: areTaintsRight ? undefined : resourceVersion,
  });
  if (areTaintsRight) return Object.keys(metadata).length === 0 ? undefined : { metadata };
  return { metadata, spec: { taints: kept } };
}

/**
 * The fields of a host's spec that its Node bears otherwise than is wanted, as it bears them; undefined exactly where `marksPatch` has
 * nothing to set or undo but our own annotation. What others have put there does not count: a name counts that is wanted, or
 * that the Node had from its Machine before. Pure.
 */
export function otherMarksOf(node: MarkedNode, wanted: NodeMarks): JsonObject | undefined {
  const { labels = {}, annotations = {} } = node.metadata ?? {};
  const own = ownMarksIn(annotations[marksAnnotation]);
  const other = omitUndefined({
    nodeLabels: bornOtherwise(labels, wanted.labels, own.labels),
    nodeAnnotations: withoutValues(bornOtherwise(annotations, wanted.annotations, own.annotations)),
    ...otherTaints(node.spec?.taints ?? [], wanted, own),
  });
  return Object.keys(other).length === 0 ? undefined : other;
}

/** Of some names those that are there, with their values; undefined where that is what is wanted. */
function bornOtherwise(
  there: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
  own: readonly string[],
): JsonObject | undefined {
  if (changes(there, wanted, own) === undefined) return undefined;
  const names = new Set([...Object.keys(wanted), ...own]);
  return Object.fromEntries(
    [...names].flatMap((name) => (there[name] === undefined ? [] : [[name, there[name]]])),
  );
}

/** People keep in annotations what nothing shows: a report names them, and has no value of them. */
function withoutValues(annotations: JsonObject | undefined): JsonObject | undefined {
  if (annotations === undefined) return undefined;
  return Object.fromEntries(Object.keys(annotations).map((name) => [name, secretText]));
}

/** The taint of control-plane members is shown by the field of the spec that takes it off. */
function otherTaints(
  there: readonly NodeTaint[],
  wanted: NodeMarks,
  own: OwnMarks,
): { readonly taints?: Json; readonly schedulable?: boolean } {
  const kept = taintsWith(there, wanted, own);
  if (areSameTaints(there, kept)) return {};
  const role = nameOf(controlPlaneTaint);
  const names = new Set([...wanted.taints.map(nameOf), ...own.taints]);
  const bearsRole = there.some((taint) => nameOf(taint) === role);
  const isOfRole = bearsRole !== kept.some((taint) => nameOf(taint) === role) && !names.has(role);
  const born = [...names].flatMap((name) => there.filter((taint) => nameOf(taint) === name));
  const taints = born.map(({ key, value, effect }): JsonObject =>
    omitUndefined({ key, value: value === "" ? undefined : value, effect }),
  );
  return omitUndefined({
    schedulable: isOfRole ? !bearsRole : undefined,
    taints: isOfRole && sameJson(taints, wanted.taints) ? undefined : taints,
  });
}

/** By identity: what stays is kept as it is. */
function areSameTaints(there: readonly NodeTaint[], kept: readonly NodeTaint[]): boolean {
  return kept.length === there.length && kept.every((taint, place) => taint === there[place]);
}

/** Undefined where nothing is wanted. */
function recordOf({ labels, annotations, taints, takesPods }: NodeMarks): string | undefined {
  const names = {
    labels: Object.keys(labels).toSorted(),
    annotations: Object.keys(annotations).toSorted(),
    taints: taints.map(nameOf).toSorted(),
  };
  const isNothing = Object.values(names).flat().length === 0 && !takesPods;
  return isNothing ? undefined : JSON.stringify(takesPods ? { ...names, takesPods } : names);
}

/** null takes a name off. */
function changes(
  there: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string | undefined>>,
  own: readonly string[],
): Readonly<Record<string, string | null>> | undefined {
  const set = Object.entries(wanted).flatMap(([name, value]) =>
    value === undefined || there[name] === value ? [] : [[name, value] as const],
  );
  const off = own.filter((name) => name in there && wanted[name] === undefined);
  const changed = [...set, ...off.map((name) => [name, null] as const)];
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}

/**
 * Those of others in their places, those that are wanted as they are wanted, new ones at the end. The taint of control-plane
 * members is kubeadm's: it is put back only where Capstan took it off.
 */
function taintsWith(
  there: readonly NodeTaint[],
  { taints, takesPods }: NodeMarks,
  marked: OwnMarks,
): readonly NodeTaint[] {
  const wanted = marked.takesPods && !takesPods ? [controlPlaneTaint, ...taints] : taints;
  const own = takesPods ? [...marked.taints, nameOf(controlPlaneTaint)] : marked.taints;
  const byName = new Map(wanted.map((taint) => [nameOf(taint), taint]));
  const kept = there.flatMap((taint) => {
    const name = nameOf(taint);
    const asked = byName.get(name);
    byName.delete(name);
    if (asked !== undefined) return [(asked.value ?? "") === (taint.value ?? "") ? taint : asked];
    return own.includes(name) ? [] : [taint];
  });
  return [...kept, ...byName.values()];
}

/** "dedicated:NoSchedule": a Node has one taint of a key and an effect. */
function nameOf({ key, effect }: NodeTaint): string {
  return `${key}:${effect}`;
}

/** Nothing of what is no record of ours. */
function ownMarksIn(text = ""): OwnMarks {
  const none = { labels: [], annotations: [], taints: [], takesPods: false };
  try {
    const told = JSON.parse(text) as Json;
    if (!isJsonObject(told)) return none;
    const names = (field: string) => {
      const list = told[field];
      return Array.isArray(list) ? list.map(String) : [];
    };
    return {
      labels: names("labels"),
      annotations: names("annotations"),
      taints: names("taints"),
      takesPods: told["takesPods"] === true,
    };
  } catch {
    return none;
  }
}
