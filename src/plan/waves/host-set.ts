import { keyOf, type NodeKey, nodeName } from "../../graph/graph.js";
import type { MachineOwner } from "../../sets/expanded.js";
import type { EtcdHealth } from "../../workload/etcd/etcd-health.js";
import { isHostOf } from "../../records/host-name.js";
import type { LeavingHost, Plan, RemainingPlan } from "../plan.js";
import { isDraining, isQuiet, type Step } from "../step.js";
import { isIll } from "./member-care.js";

/** How far a transaction has come. */
export interface WaveProgress {
  /** Steps whose pass has ended well. */
  readonly applied: ReadonlySet<NodeKey>;
  /** Hosts that serve: ready, and for as long as their set asks for. */
  readonly available: ReadonlySet<NodeKey>;
  /** How the members of etcd are; absent: nobody has asked, or nobody has to. */
  readonly etcd?: EtcdHealth;
}

/** What one part of the hosts wants next. */
export type Round =
  /** Creations and updates in one pass, then deletions, and nothing else. */
  | {
      readonly kind: "change";
      readonly keys: readonly NodeKey[];
      readonly deletions: readonly NodeKey[];
      readonly reason: string;
    }
  /** No pass before these are available: hosts, unless it says otherwise. */
  | {
      readonly kind: "wait";
      readonly keys: readonly NodeKey[];
      readonly reason: string;
      readonly of?: "infrastructure";
    }
  /** No pass that touches the control plane before these members of etcd are well. */
  | { readonly kind: "waitForEtcd"; readonly ailing: EtcdHealth; readonly reason: string }
  | { readonly kind: "settled" };

export const settled: Round = { kind: "settled" };

/** A machine of the target with its host as it is now. */
export interface WantedHost {
  readonly name: string;
  readonly host: NodeKey;
  readonly controlPlane: boolean;
  readonly owner: MachineOwner | undefined;
  /** It is to be made, or changed in place; else it is as it shall be. */
  readonly open: "create" | "update" | undefined;
  /** It serves while it is changed. */
  readonly isQuiet: boolean;
  /** Its pods move away before it is changed. */
  readonly drains: boolean;
  /** It stands still, and its change makes it run. */
  readonly starts: boolean;
  /** Something that lives with it was made and is not ready: a volume, its place behind a load balancer. */
  readonly incomplete: boolean;
  readonly available: boolean;
  /** A host that its machine has or had is a member of etcd that is known not to serve. */
  readonly isIll: boolean;
}

/** A host that there is and that the target has no more. */
export interface OldHost extends LeavingHost {
  readonly available: boolean;
}

/** All hosts of a plan at one moment of its apply. */
export interface HostSet {
  readonly open: readonly Step[];
  readonly hosts: readonly WantedHost[];
  readonly leaving: readonly OldHost[];
  /** Nothing was ever committed: there is no service to keep up. */
  readonly isFirst: boolean;
  /** One member begins the cluster, and every other host joins it. */
  readonly oneBegins: boolean;
  /** Empty: nobody has asked, or nobody has to. */
  readonly etcd: EtcdHealth;
  /** What the transaction has made or changed, or will. */
  readonly own: readonly NodeKey[];
}

/** Each step, by the resource that it is about. */
type StepsByKey = ReadonlyMap<NodeKey, Step>;

/** Pure. */
export function stepsByKey({ steps }: Pick<Plan, "steps">): StepsByKey {
  return new Map(steps.map((step) => [step.key, step]));
}

/** Pure. `steps` are the plan's: for the waves of a great plan this is asked thousands of times. */
export function hostSetOf(
  plan: RemainingPlan,
  { applied, available, etcd = [] }: WaveProgress,
  steps: StepsByKey,
): HostSet {
  const stepOf = (key: NodeKey) => (applied.has(key) ? undefined : steps.get(key));
  const kindOf = (key: NodeKey) => stepOf(key)?.kind;
  const isOpen = (key: NodeKey) => kindOf(key) !== undefined;
  const ill = etcd.filter(isIll).flatMap(({ host }) => host ?? []);
  const incomplete = incompleteHosts(plan, (key) => isOpen(key) || available.has(key));
  return {
    open: plan.steps.filter(({ key }) => !applied.has(key)),
    hosts: plan.target.machines.map(({ name, host, controlPlane, owner }) => {
      const step = stepOf(host);
      const kind = step?.kind;
      const open = kind === "create" || kind === "update" ? kind : undefined;
      const isSick = open === "update" && ill.includes(host);
      const serves = available.has(host) && !incomplete.has(host) && !isSick;
      // One that is still to be made does not serve, whatever is expected of it.
      return {
        name,
        host,
        controlPlane,
        owner,
        open,
        isQuiet: step !== undefined && isQuiet(step),
        drains: step !== undefined && isDraining(step),
        starts: step?.kind === "update" && step.starts === true,
        incomplete: incomplete.has(host),
        available: open !== "create" && serves,
        isIll: controlPlane && ill.some((one) => isHostOf(name, nodeName(one))),
      };
    }),
    leaving: plan.leaving
      .filter(({ host }) => kindOf(host) === "delete")
      .map((one) => ({
        ...one,
        available: !one.failed && available.has(one.host) && !ill.includes(one.host),
      })),
    isFirst: plan.fromRevision === 0,
    oneBegins: plan.oneBegins,
    etcd,
    own: plan.transaction.touched ?? [],
  };
}

/** Hosts of which something that lives with them was made and is not ready. What is still open they have done without. */
function incompleteHosts(
  { target }: RemainingPlan,
  isSettled: (key: NodeKey) => boolean,
): ReadonlySet<NodeKey> {
  return new Set(
    target.nodes.flatMap((node) =>
      node.host === undefined || isSettled(keyOf(node)) ? [] : [node.host],
    ),
  );
}

/** Hosts of the target that exist, are as they shall be, and are not available yet. Pure. */
export function unavailable(hosts: readonly WantedHost[]): NodeKey[] {
  return hosts.filter(({ open, available }) => open === undefined && !available).map(hostOf);
}

export function hostOf({ host }: { readonly host: NodeKey }): NodeKey {
  return host;
}
