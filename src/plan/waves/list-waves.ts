import { counted } from "../../api/counted.js";
import { keyOf, type NodeKey, nodeName } from "../../graph/graph.js";
import type { EtcdHealth } from "../../workload/etcd/etcd-health.js";
import { machineNameOf } from "../../records/host-name.js";
import type { Plan, RemainingPlan, Wave } from "../plan.js";
import { stepsByKey } from "./host-set.js";
import { withoutDeadMembers } from "./member-care.js";
import { type NextAction, nextAction } from "./next-action.js";
import { mostUnavailable } from "./unavailable.js";

/** What people are told about the waves of a plan: "3 waves, at most 1 machine unavailable". Pure. */
export function wavesText(plan: Plan): string {
  const missing = mostUnavailable(plan);
  const count = Math.max(plan.waves.length, 1);
  const some = missing === 0 ? "" : `, at most ${counted(missing, "machine")} unavailable`;
  return `${counted(count, "wave")}${some}`;
}

/** No resource of the plan is named by it: their count stands in the reason. */
function leftoverReason({
  leftovers,
  reason,
}: Extract<NextAction, { kind: "removeLeftovers" }>): string {
  return `${reason}: ${counted(leftovers.length, "resource")}`;
}

/**
 * The waves that an undisturbed apply will take, by running its own decisions to their end: every host
 * serves as soon as it is made. Pure.
 */
export function wavesOf(given: RemainingPlan): Wave[] {
  return courseOf(given, []).waves;
}

/**
 * What an apply would wait for before it touches the control plane, in its words, while etcd is like this; undefined: nothing. A member
 * that is mended on the way counts as well from then on. Pure.
 */
export function foreseenEtcdHold(plan: RemainingPlan, etcd: EtcdHealth): string | undefined {
  return courseOf(plan, withoutDeadMembers(etcd)).heldBecause;
}

interface Course {
  readonly waves: Wave[];
  /** Why it would wait for etcd; absent: it would not. */
  readonly heldBecause?: string;
}

function courseOf(given: RemainingPlan, etcdBefore: EtcdHealth): Course {
  const waves: Wave[] = [];
  if (given.empty) return { waves };
  let plan = given;
  let etcd = etcdBefore;
  const steps = stepsByKey(plan);
  const applied = new Set<NodeKey>();
  const available = new Set([
    ...plan.target.nodes.map(keyOf),
    ...plan.leaving.filter(({ failed }) => !failed).map(({ host }) => host),
  ]);
  for (;;) {
    const action = nextAction(plan, { applied, available, etcd }, steps);
    if (action.kind === "waitForEtcd") return { waves, heldBecause: action.reason };
    if (action.kind === "wait" || action.kind === "clear") return { waves };
    if (action.kind === "commit") {
      if (action.deletions.length > 0) {
        waves.push({ keys: action.deletions, reason: action.reason });
      }
      if (action.later.length === 0) return { waves };
      for (const key of action.deletions) applied.add(key);
      continue;
    }
    if (action.kind === "removeLeftovers") {
      waves.push({ keys: [], reason: leftoverReason(action) });
      plan = { ...plan, leftovers: [] };
      continue;
    }
    const keys = [...action.keys, ...action.deletions];
    waves.push({ keys, reason: action.reason });
    for (const key of keys) applied.add(key);
    etcd = etcd.filter(({ host }) => host === undefined || !keys.some(mends(host)));
  }
}

/** Tells of what a wave does whether the member on a host is another one afterwards: it is changed, gone, or succeeded. */
function mends(host: NodeKey): (key: NodeKey) => boolean {
  const machine = machineNameOf(nodeName(host));
  return (key) => key === host || machineNameOf(nodeName(key)) === machine;
}
