import { keyOf, type NodeKey } from "../graph/graph.js";
import type { Plan } from "../plan/plan.js";

/** How far a transaction has come. */
export interface Progress {
  /** Steps whose pass has ended well. */
  readonly applied: ReadonlySet<NodeKey>;
  /** Hosts of the target that the cloud shows running. */
  readonly ready: ReadonlySet<NodeKey>;
}

/** The next thing to do. Pure data; the reason is for people. */
export type NextAction =
  /** A pass that carries out these creations and updates and nothing else. */
  | { readonly kind: "change"; readonly keys: readonly NodeKey[]; readonly reason: string }
  /** No pass may run until these hosts are ready. */
  | { readonly kind: "wait"; readonly keys: readonly NodeKey[]; readonly reason: string }
  /** The pass that commits the revision and then deletes. */
  | { readonly kind: "commit"; readonly deletions: readonly NodeKey[]; readonly reason: string };

/**
 * What may happen next: infrastructure and control plane first, workers once the control plane
 * runs, and deletions with the commit, once every host of the target runs. Leaving a step out never
 * deletes anything. Pure; architecture section 4.
 */
export function nextAction(plan: Plan, progress: Progress): NextAction {
  const open = plan.steps
    .filter(({ kind, key }) => kind !== "delete" && !progress.applied.has(key))
    .map(({ key }) => key);
  const controlPlane = hostsOf(plan, true);
  const workers = new Set(hostsOf(plan, false));
  const first = open.filter((key) => !workers.has(key));
  if (first.length > 0) {
    return { kind: "change", keys: first, reason: "infrastructure and control plane come first" };
  }
  const waitingFor = controlPlane.filter((key) => !progress.ready.has(key));
  if (waitingFor.length > 0) {
    return { kind: "wait", keys: waitingFor, reason: "the control plane has to run first" };
  }
  if (open.length > 0) {
    return { kind: "change", keys: open, reason: "the control plane runs, workers follow" };
  }
  const unready = [...workers].filter((key) => !progress.ready.has(key));
  if (unready.length > 0) {
    return { kind: "wait", keys: unready, reason: "every new host has to run first" };
  }
  const deletions = plan.steps.filter(({ kind }) => kind === "delete").map(({ key }) => key);
  const reason = deletions.length > 0 ? "what is superseded goes last" : "everything runs";
  return { kind: "commit", deletions, reason };
}

/** One wave of a plan: what one pass changes. */
export interface Wave {
  readonly keys: readonly NodeKey[];
  readonly reason: string;
}

/** The waves that an undisturbed apply will take, by running the decisions above to their end. */
export function wavesOf(plan: Plan): Wave[] {
  if (plan.empty) return [];
  const waves: Wave[] = [];
  const applied = new Set<NodeKey>();
  const ready = new Set(plan.target.machines.map(({ host }) => host));
  for (;;) {
    const action = nextAction(plan, { applied, ready });
    if (action.kind === "wait") return waves;
    if (action.kind === "commit") {
      return action.deletions.length > 0
        ? [...waves, { keys: action.deletions, reason: action.reason }]
        : waves;
    }
    waves.push({ keys: action.keys, reason: action.reason });
    for (const key of action.keys) applied.add(key);
  }
}

function hostsOf(plan: Plan, controlPlane: boolean): NodeKey[] {
  const known = new Set(plan.target.nodes.map(keyOf));
  return plan.target.machines
    .filter((machine) => machine.controlPlane === controlPlane && known.has(machine.host))
    .map(({ host }) => host);
}
