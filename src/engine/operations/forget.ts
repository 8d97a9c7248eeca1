import { CapstanError } from "../../api/error.js";
import { stackNameOf } from "../../api/types.js";
import { keyOf } from "../../graph/graph.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { cloudResources } from "../../records/prior-state.js";
import { clusterIn, livingWith, machineKey, type Target } from "../../records/target.js";
import type { RemovalConsent } from "../../plan/plan-input.js";
import type { StackState } from "../backend/state.js";
import { refuseUnderWay } from "./under-way.js";
import { observeToward, type PlanningOptions, type RecordedPlan } from "./apply.js";
import { planOpenRequest, planRecordsOnly } from "./records-only.js";

interface Forgetting extends PlanningOptions {
  readonly removal: RemovalConsent;
}

/**
 * The plan that lets a Machine go: its host loses our marks and stays, its records go, everything else is as it is
 * recorded, whatever it looks like now. Throws UNSUPPORTED_CHANGE where the provider cannot take marks off,
 * TRANSACTION_OPEN while something else is under way, and PROTECTED.
 */
export async function planForget(
  machine: string,
  state: StackState,
  options: Forgetting,
): Promise<RecordedPlan> {
  const { transaction } = state;
  if (transaction === undefined) throw new Error("nothing is recorded, nothing to forget");
  const { target, goal } = transaction;
  refuseLasting(machine, state, options.provider);
  // The same words go on with it, also where it is committed and owes a release.
  if (goal.kind === "forget" && goal.machine === machine) {
    return planOpenRequest(state, await observeToward(target, state, options), options);
  }
  refuseUnderWay(`forget Machine ${machine}`, stackNameOf(clusterIn(target)), state);
  const { removal } = options;
  const observation = await observeToward(target, state, options);
  const request = { target: targetWithout(machine, target), observation, removal };
  return planRecordsOnly({ ...request, goal: { kind: "forget", machine } }, state, options);
}

function refuseLasting(machine: string, state: StackState, provider: InfrastructureProvider): void {
  const hosts = cloudResources(state).filter(({ parent }) => parent === machineKey(machine));
  const lasting = hosts.find(({ kind }) => provider.handlers.get(kind)?.disown === undefined);
  if (lasting === undefined) return;
  throw new CapstanError({
    code: "UNSUPPORTED_CHANGE",
    source: "user",
    subject: machine,
    message: `cannot forget Machine ${machine}: provider ${provider.name} cannot take our marks off ${lasting.kind} ${lasting.name}, and as long as it carries them it is ours`,
    hint: "nothing was changed",
  });
}

/** What is wanted but for a Machine; its set wants as many as before. Pure. */
function targetWithout(machine: string, target: Target): Target {
  const key = machineKey(machine);
  const hosts = target.nodes.filter(({ parent }) => parent === key).map(keyOf);
  const gone = new Set([key, ...hosts, ...livingWith(hosts, target)]);
  return {
    ...target,
    objects: target.objects.filter(
      ({ kind, metadata }) => kind !== "Machine" || metadata.name !== machine,
    ),
    machines: target.machines.filter(({ name }) => name !== machine),
    nodes: target.nodes
      .filter((node) => !gone.has(keyOf(node)))
      .map((node) => ({ ...node, dependsOn: node.dependsOn.filter((need) => !gone.has(need)) })),
  };
}
