import { digestOf } from "../api/digest.js";
import { fingerprintDigits } from "../api/drift-policy.js";
import { type JsonObject, sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { holdsUnknown } from "../api/unknown.js";
import { externalSpecOf, keyOf, nodeKey, type NodeKey, resolveRefs } from "../graph/graph.js";
import { inNameOrder } from "../sets/name-order.js";
import { generationHash } from "../compile/compile.js";
import { isHostOf, splitHostName } from "../records/host-name.js";
import { machineKey, type TargetMachine } from "../records/target.js";
import {
  knownMachines,
  isOpen,
  cloudResources,
  type PriorState,
  type RecordedResource,
  recordedSpec,
} from "../records/prior-state.js";
import { recordedOutputs } from "../records/recorded-outputs.js";
import type { Observation, ObservedResource } from "../plan/observation.js";
import { newerThanRecords } from "../plan/decisions/unrecorded.js";
import { type VerdictGiver, nearestChoice } from "../provider/alternatives.js";
import { isDown, lossOf } from "../provider/failure.js";
import type {
  Failure,
  InfrastructureProvider,
  NodeReport,
  Observed,
  Verdict,
} from "../provider/port.js";
import { unobservableOf } from "../provider/unobservable.js";
import { type DriftedField, driftedFields } from "./fields.js";
import {
  type Ailment,
  type MachineHealth,
  healthOf,
  type HealthRules,
  standingHosts,
} from "./health.js";
import { heldNode, nodeFields } from "./node-fields.js";
import { expiringHosts, type Expiry } from "./renewal.js";

/** How a resource is not what is recorded. */
export type DriftClass = DriftItem["class"];

export const driftClasses = [
  "missing",
  "failed",
  "stopped",
  "unhealthy",
  "expiring",
  "leaving",
  "changed",
  "extra",
  "unknown",
] as const;

/** What an item is about. */
interface Subject {
  readonly key: NodeKey;
  readonly kind: string;
  readonly name: string;
  /** Whose host it is; absent for what machines share. */
  readonly machine?: Pick<TargetMachine, "name" | "owner" | "controlPlane">;
  /** The cloud's name for it. */
  readonly id?: string;
  /** Of a host: how many others were to take its place, and are not there. Absent: none. */
  readonly replacedInVain?: number;
  /** It is used and not ours: nothing is ever done about it. */
  readonly external?: true;
}

/** One thing that cloud and records do not agree about. JSON data. */
export type DriftItem = Subject &
  (
    | { readonly class: "missing" }
    /** A host that the cloud says never will run. */
    | {
        readonly class: "failed";
        readonly fields: readonly DriftedField[];
        /** Why, where the cloud says so. */
        readonly failure?: Failure;
      }
    /** A host that stands still and can be started. */
    | {
        readonly class: "stopped";
        readonly fields: readonly DriftedField[];
        /** Why, where the cloud says so. */
        readonly failure?: Failure;
      }
    /** A host that runs, and whose Machine a health check does not find healthy. */
    | { readonly class: "unhealthy"; readonly ailment: Ailment }
    /** A host of the control plane that runs, and whose certificates expire sooner than its Cluster wants. */
    | { readonly class: "expiring"; readonly expiry: Expiry }
    /** A host that runs, and that the cloud is to take away. */
    | {
        readonly class: "leaving";
        readonly fields: readonly DriftedField[];
        /** Milliseconds since the epoch. */
        readonly leavesAtMs: number;
      }
    | {
        readonly class: "changed";
        readonly fields: readonly DriftedField[];
        /** What it takes to get back, as the provider judges; never "same". */
        readonly back: Verdict;
        /** The host is as it shall be, and what runs on it is not, by its Node's word. */
        readonly onNode?: true;
      }
    /** It carries our marks and is in no record. */
    | {
        readonly class: "extra";
        readonly origin: ExtraOrigin;
      }
    /** The cloud could not say. */
    | { readonly class: "unknown" }
  );

/** Where something comes from that carries our marks and is in no record. */
export type ExtraOrigin =
  /** An apply of this life of the cluster that broke off; nothing wants it. */
  | "orphaned"
  /** A second one with the identity of a recorded resource. */
  | "duplicate"
  /** A transaction that the records do not tell of: they are an older state. */
  | "newer"
  /** Another life of a cluster of this name. */
  | "otherClusterUid";

/** What a look at the cloud says against the records of one cluster. JSON data. */
interface UncheckedFields {
  readonly kind: string;
  readonly fields: readonly string[];
}

export interface DriftReport {
  /** "<namespace>/<name>"; empty when nothing is recorded. */
  readonly cluster: string;
  /** Recorded resources that the last transaction wants and has done with. */
  readonly recorded: number;
  /** Machines of the control plane, and others, that have one of them; while a transaction is open, all members that have a host. */
  readonly members: number;
  readonly workers: number;
  /** How many of the recorded resources the listing showed. */
  readonly listed: number;
  /** In name order within each class; the classes as in `driftClasses`. */
  readonly items: readonly DriftItem[];
  /** The last transaction was taken back, and was to make something new. */
  readonly wasTakenBack?: true;
  /** Why the cloud could not be read. */
  readonly unreadable?: string;
  /** What health checks say of the cluster's machines; absent: nobody asked, or the cloud could not be read. */
  readonly health?: Omit<MachineHealth, "unhealthy">;
  /** Fields that the cloud cannot show, by kind; absent: it shows all of them. */
  readonly notChecked?: readonly UncheckedFields[];
  /** The same for the same findings about the cloud, whenever and wherever they are made; Nodes say nothing about that. */
  readonly fingerprint: string;
}

/** The provider's part in a report: how it judges, what it cannot show, and how it names hosts. */
export type DriftJudge = VerdictGiver &
  Pick<InfrastructureProvider, "handlers" | "generationInputs">;

/** A look, or why there is none. */
export type ObservationResult = Observation | { readonly failed: string };

/**
 * Holds a look against the records, whatever anybody wants to do about it. Resources that a transaction
 * has left unfinished, or is about to delete, are that transaction's business and never drift. A
 * difference that the provider does not count as one is none. Pure.
 */
export function classifyDrift(
  state: PriorState,
  sight: ObservationResult,
  provider: DriftJudge,
  healthRules?: HealthRules,
): DriftReport {
  const told =
    healthRules === undefined || "failed" in sight
      ? undefined
      : {
          health: healthOf(state, sight, healthRules),
          expiring: expiringHosts(state, sight, healthRules),
        };
  const settled = settledResources(state);
  const subjectOf = subjects(state, provider);
  const wantedOf = wantedSpecs(state);
  const found =
    "failed" in sight
      ? settled.map((resource): DriftItem => ({ ...subjectOf(resource), class: "unknown" }))
      : [
          ...settled.flatMap((resource) =>
            itemOf(resource, sight.observedResources.get(resource.key), {
              subject: subjectOf(resource),
              wanted: wantedOf(resource),
              node: heldNode(state, sight, resource.key),
              ailment: told?.health.unhealthy.get(resource.key),
              expiry: told?.expiring.get(resource.key),
              provider,
            }),
          ),
          ...extras(state, sight, subjectOf, provider.hostKind),
          ...externalItems(state, sight),
        ];
  const items = inReportOrder(found);
  const listed = "failed" in sight ? 0 : sight.listed;
  const machines = settled.flatMap((resource) => subjectOf(resource).machine ?? []);
  const isMember = ({ controlPlane }: { readonly controlPlane: boolean }) => controlPlane;
  const workers = machines.filter((one) => !isMember(one)).length;
  return omitUndefined({
    cluster: state.transaction?.target.cluster ?? "",
    recorded: settled.length,
    // One whose successor is still to be made counts for the majority meanwhile.
    members: (isOpen(state) ? standingHosts(state) : machines).filter(isMember).length,
    workers,
    listed,
    items,
    wasTakenBack: wasHostTakenBack(state) ? true : undefined,
    unreadable: "failed" in sight ? sight.failed : undefined,
    health: told && withoutAilments(told.health),
    notChecked: uncheckedAmong(settled, provider),
    fingerprint: digestOf(
      [items.filter((one) => !isOfTime(one)).map(traitsOf), listed === 0],
      fingerprintDigits,
    ),
  });
}

/** What clusters tell of themselves, and time alone changes: it says nothing about the cloud. Such a host is well, and may be to go. Pure. */
export function isOfTime(
  item: DriftItem,
): item is Extract<DriftItem, { class: "unhealthy" | "expiring" }> {
  return item.class === "unhealthy" || item.class === "expiring";
}

/** They are told as items. */
function withoutAilments({
  unhealthy: _unhealthy,
  ...health
}: MachineHealth): Omit<MachineHealth, "unhealthy"> {
  return health;
}

/** How many items there are of each class. Pure. */
export function driftCounts({ items }: DriftReport): Record<DriftClass, number> {
  const count = (one: DriftClass) => items.filter((item) => item.class === one).length;
  return {
    missing: count("missing"),
    failed: count("failed"),
    stopped: count("stopped"),
    unhealthy: count("unhealthy"),
    expiring: count("expiring"),
    leaving: count("leaving"),
    changed: count("changed"),
    extra: count("extra"),
    unknown: count("unknown"),
  };
}

/** Of the kinds that there are, in the order of the records. */
function uncheckedAmong(
  recorded: readonly RecordedResource[],
  provider: Pick<InfrastructureProvider, "handlers">,
): DriftReport["notChecked"] {
  const kinds = [...new Set(recorded.map(({ kind }) => kind))];
  const notChecked = kinds
    .map((kind): UncheckedFields => ({ kind, fields: unobservableOf(provider, kind) }))
    .filter(({ fields }) => fields.length > 0);
  return notChecked.length === 0 ? undefined : notChecked;
}

/** What is recorded, done, and wanted by the last transaction. */
function settledResources(state: PriorState): RecordedResource[] {
  const wanted = new Set(state.transaction?.target.nodes.map(keyOf));
  const interrupted = new Set(state.pending.map(({ key }) => key));
  return cloudResources(state).filter(
    ({ key, unfinished }) => wanted.has(key) && !unfinished && !interrupted.has(key),
  );
}

/** Of what only changes in place no name tells that it was tried. */
function wasHostTakenBack({ transaction }: PriorState): boolean {
  if (transaction?.goal.kind !== "takeBack") return false;
  return (transaction.attempts.at(-1)?.summary.create ?? 0) > 0;
}

type SubjectOf = (resource: Pick<RecordedResource, "kind" | "name" | "id" | "parent">) => Subject;

function subjects(state: PriorState, provider: DriftJudge): SubjectOf {
  const { hostKind } = provider;
  const machines = knownMachines(state);
  const attemptsAt = attemptsInVain(state, provider);
  const byKey = new Map([...machines.values()].map((one) => [machineKey(one.name), one]));
  return ({ kind, name, id, parent }) => {
    const machine =
      parent === undefined
        ? [...machines.values()].find((one) => kind === hostKind && isHostOf(one.name, name))
        : byKey.get(parent);
    return omitUndefined({
      key: nodeKey(kind, name),
      kind,
      name,
      machine: machine && whose(machine),
      id,
      replacedInVain: machine && attemptsAt(machine.name, nodeKey(kind, name)),
    });
  };
}

/**
 * Names of hosts are never given twice, also by what is taken back: so they tell how many hosts were planned after the one that
 * serves a machine. Undefined: none.
 */
function attemptsInVain(
  { transaction }: PriorState,
  provider: DriftJudge,
): (machine: string, host: NodeKey) => number | undefined {
  const nodes = new Map(transaction?.target.nodes.map((node) => [keyOf(node), node]));
  return (machine, host) => {
    const node = nodes.get(host);
    if (node?.kind !== provider.hostKind) return undefined;
    const next = `${machine}-${generationHash(provider, node.kind, node.spec)}`;
    const { generation, incarnation } = splitHostName(node.name);
    const own = generation === next ? incarnation : 0;
    const attempts = (transaction?.spent[next] ?? 0) - own;
    return attempts > 0 ? attempts : undefined;
  };
}

function whose({ name, owner, controlPlane }: TargetMachine): NonNullable<Subject["machine"]> {
  return omitUndefined({ name, controlPlane, owner });
}

function itemOf(
  record: RecordedResource,
  observed: ObservedResource | undefined,
  about: {
    readonly subject: Subject;
    readonly wanted: JsonObject;
    /** What its Node says of itself, as far as that is held against its spec. */
    readonly node: NodeReport | undefined;
    readonly ailment: Ailment | undefined;
    readonly expiry: Expiry | undefined;
    readonly provider: VerdictGiver;
  },
): DriftItem[] {
  const { subject, provider } = about;
  if (observed === undefined) return [];
  if (observed === "gone") return [{ ...subject, class: "missing" }];
  const drifted = driftedFields(record, observed);
  if (isDown(observed)) {
    const failure = lossOf(observed);
    const found = observed.phase === "stopped" ? ("stopped" as const) : ("failed" as const);
    return [omitUndefined({ ...subject, class: found, fields: drifted, failure })];
  }
  const { leavesAtMs } = observed;
  // Before what clusters tell: whatever holds that back keeps no host that the cloud takes away.
  if (leavesAtMs !== undefined)
    return [{ ...subject, class: "leaving", fields: drifted, leavesAtMs }];
  if (about.ailment !== undefined)
    return [{ ...subject, class: "unhealthy", ailment: about.ailment }];
  if (about.expiry !== undefined) return [{ ...subject, class: "expiring", expiry: about.expiry }];
  const { asked, verdict: back } = nearestChoice(
    provider,
    record.kind,
    observed.spec,
    about.wanted,
  );
  if (back.kind === "same") {
    const fields = nodeFields(about.wanted, about.node);
    return fields.length === 0
      ? []
      : [{ ...subject, class: "changed", fields, back: onNode(fields), onNode: true }];
  }
  // A record that was read again before anything was corrected shows the drift itself.
  const wanted = { ...record, outputs: { ...record.outputs, spec: asked } };
  const fields = drifted.length > 0 ? drifted : driftedFields(wanted, observed);
  return [{ ...subject, class: "changed", fields, back }];
}

/** Another host, which gets the same, may do the same again: whoever replaced it by itself might replace it for ever. */
function onNode(fields: readonly DriftedField[]): Verdict {
  const reason = "its host was told what to run, and its Node runs otherwise";
  return { kind: "unsupported", paths: fields.map(({ path }) => path), reason };
}

/**
 * What a recorded resource is to be like. While nothing is open that is what was committed, with what its
 * Refs stand for; else, and where that cannot be told, what is recorded.
 */
function wantedSpecs(state: PriorState): (record: RecordedResource) => JsonObject {
  if (state.transaction === undefined || isOpen(state)) return recordedSpec;
  const nodes = new Map(state.transaction.target.nodes.map((node) => [keyOf(node), node]));
  const outputOf = recordedOutputs(state);
  return (record) => {
    const node = nodes.get(record.key);
    const wanted = node === undefined ? {} : resolveRefs(node.spec, outputOf);
    return node === undefined || holdsUnknown(wanted) ? recordedSpec(record) : wanted;
  };
}

/**
 * Alive, with the cluster's marks, and in no record; what is being made right now is expected. Without a
 * record nothing can be told from what a lost state has left.
 */
function extras(
  state: PriorState,
  observation: Observation,
  subjectOf: SubjectOf,
  hostKind: string,
): DriftItem[] {
  const { unrecorded, copies = [] } = observation;
  const { transaction, pending } = state;
  if (transaction === undefined) return [];
  const copied = new Set(copies);
  const newer = new Set(
    newerThanRecords(state, observation, hostKind).map(({ who }) => keyOf(who)),
  );
  const known = new Set(transaction.target.nodes.map(keyOf));
  const originOf = (one: Observed): ExtraOrigin => {
    if (one.who.clusterUid !== transaction.clusterUid) return "otherClusterUid";
    const key = keyOf(one.who);
    if (copied.has(one) || known.has(key)) return "duplicate";
    return newer.has(key) ? "newer" : "orphaned";
  };
  const expected = new Set([
    ...pending.map(({ key }) => key),
    ...(isOpen(state) ? transaction.target.nodes.map(keyOf) : []),
  ]);
  const made = unrecorded.filter(({ phase, who }) => phase !== "gone" && !expected.has(keyOf(who)));
  return [...made, ...copies].map((one): DriftItem => ({
    ...subjectOf({ kind: one.who.kind, name: one.who.name, id: one.id }),
    class: "extra",
    origin: originOf(one),
  }));
}

/** What is used and not ours: gone, or not as it is pinned. */
function externalItems({ transaction }: PriorState, { externals: seen }: Observation): DriftItem[] {
  return (transaction?.target.externals ?? []).flatMap((node): DriftItem[] => {
    const { kind, name } = node;
    const { id, outputs = {} } = externalSpecOf(node);
    const subject = { key: keyOf(node), kind, name, id, external: true } as const;
    const sight = seen?.get(keyOf(node));
    if (sight === "missing") return [{ ...subject, class: "missing" }];
    // A plan may look at another one, which the manifests name now.
    if (sight?.id !== id) return [];
    const fields = Object.entries(outputs).flatMap(([path, recorded]): DriftedField[] => {
      const now = sight.status[path];
      return now !== undefined && sameJson(now, recorded)
        ? []
        : [omitUndefined({ path, recorded, seen: now })];
    });
    const paths = fields.map(({ path }) => path);
    const back: Verdict = { kind: "unsupported", paths, reason: "it is not ours" };
    return fields.length === 0 ? [] : [{ ...subject, class: "changed", fields, back }];
  });
}

function inReportOrder(items: readonly DriftItem[]): DriftItem[] {
  return [...items].sort(
    (left, right) =>
      driftClasses.indexOf(left.class) - driftClasses.indexOf(right.class) ||
      inNameOrder(left.key, right.key) ||
      inNameOrder(left.id ?? "", right.id ?? ""),
  );
}

/** What tells one finding from another; nothing that changes by itself, and no secret. */
function traitsOf(item: DriftItem): unknown[] {
  const fields = "fields" in item ? item.fields.map(({ path, seen }) => [path, seen ?? null]) : [];
  return [item.class, item.key, item.id ?? "", fields];
}
