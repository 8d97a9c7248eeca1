import type { ResourceEvent } from "../../dynamic/resource-event.js";
import type { NodeKey } from "../../graph/graph.js";
import type { MachineAnnotations } from "../../records/host-machine.js";
import { livingWith } from "../../records/target.js";
import { presentAmong } from "../../plan/observation.js";
import type { Plan } from "../../plan/plan.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import { isLost } from "../../provider/failure.js";
import type { CallContext, Clock, InfrastructureProvider } from "../../provider/port.js";
import { looksAt } from "../../provider/timing.js";
import type { StackState } from "../backend/state.js";
import type { AvailabilityTracker } from "./availability.js";
import { callsFailed, failedToStart, withConsoles } from "./failures.js";
import { withPending } from "./joining-hosts.js";
import type { Observation } from "./observe.js";
import { ReadinessDeadline } from "./readiness-deadline.js";
import type { RunBootstrap } from "./run-bootstrap.js";
import type { RunEvent } from "./run-event.js";
import type { Terminations } from "./terminations.js";

/** What a run has at hand while it waits between its passes. */
export interface Waits {
  readonly goal: Plan;
  readonly provider: InfrastructureProvider;
  readonly clock: Clock;
  readonly stop: AbortSignal;
  readonly timeoutMs: number;
  /** A run that waits deletes tokens and secrets of hosts that have joined: it asks before. */
  readonly context: CallContext;
  readonly availability: AvailabilityTracker;
  readonly bootstrap?: RunBootstrap;
  /** What Machines are annotated with now, where an API server holds them; absent: what is recorded counts. */
  readonly liveAnnotations?: MachineAnnotations;
  readonly report: (event: RunEvent) => void;
  /** Hosts that were changed where they are and do not count yet, whatever their cloud says, each with the reason; absent: none. */
  unready?(): ReadonlyMap<NodeKey, string>;
  recorded(): StackState;
  observe(): Promise<Observation>;
}

/** Why a host that runs does not serve. */
const proves = "ready, but not yet for its minReadySeconds";

/** Until they serve, or one of them never will: what to do then is decided from a new look. */
export async function waitUntilAvailable(waiting: readonly NodeKey[], waits: Waits): Promise<void> {
  const keys = [...waiting, ...livingWith(waiting, waits.goal.target)];
  const { goal, clock, stop, timeoutMs, report, context } = waits;
  const readinessDeadline = new ReadinessDeadline(goal.target, {
    timeoutMs,
    sinceMs: clock.now(),
    deadlineAtMs: goal.transaction.deadlineAtMs,
  });
  const pollBackoff = hostLooks(waits);
  const told = new Set<NodeKey>();
  const proving = new Set<NodeKey>();
  for (let looks = 1; ; looks += 1) {
    await clock.sleep(backoffMs(pollBackoff, looks), stop);
    const observation = await waits.observe();
    await waits.bootstrap?.settle(context, observation, keys, waits.recorded());
    const present = presentAmong(keys, observation);
    const phaseOf = (key: NodeKey) => present.get(key)?.phase ?? "gone";
    // One that was changed and does not run either has no Node to be asked for.
    const changed = [...(waits.unready?.() ?? [])].filter(([key]) => phaseOf(key) === "ready");
    const unready = new Map([...changed, ...(waits.bootstrap?.unproven ?? [])]);
    const counted = withPending(observation, unready);
    const available = waits.availability.among(counted, clock.now());
    for (const proof of waits.availability.proving(counted, clock.now())) {
      if (!keys.includes(proof.key) || proving.has(proof.key)) continue;
      proving.add(proof.key);
      report({ kind: "proving", ...proof });
    }
    for (const key of keys.filter((one) => available.has(one) && !told.has(one))) {
      told.add(key);
      readinessDeadline.progressed(key, clock.now());
      if (waiting.includes(key)) report({ kind: "ready", key });
    }
    const failed = [...present.values()].filter(isLost);
    const missing = keys.filter((key) => !available.has(key));
    try {
      if (failed.length > 0) throw failedToStart(failed);
      if (missing.length === 0 || keys.some((key) => phaseOf(key) === "gone")) return;
      const running = missing.filter((key) => phaseOf(key) === "ready" || unready.has(key));
      const why = running.map((key) => [key, unready.get(key) ?? proves] as const);
      readinessDeadline.check(missing, clock.now(), new Map(why));
    } catch (error) {
      throw withConsoles(error, await waits.bootstrap?.printedBy(context, observation, missing));
    }
  }
}

/** No engine runs meanwhile, so that others have their turn. What to do then is decided from a new look. */
export async function waitUntilGone(
  terminations: Terminations,
  failed: readonly ResourceEvent[],
  waits: Waits,
): Promise<void> {
  const { goal, clock, stop, report } = waits;
  report({ kind: "waiting", keys: [], reason: terminations.reason() });
  const pollBackoff = hostLooks(waits);
  const beganAtMs = clock.now();
  for (let looks = 1; ; looks += 1) {
    await clock.sleep(backoffMs(pollBackoff, looks), stop);
    const found = presentAmong(terminations.keys, await waits.observe());
    const overdue = terminations.overdue(clock.now());
    for (const event of overdue) report({ kind: "resource", event });
    if (overdue.length > 0) throw callsFailed(goal.cluster, [...failed, ...overdue]);
    const living = [...found].filter(([, { phase }]) => phase !== "gone").map(([key]) => key);
    if (terminations.isDue(new Set(living), clock.now() - beganAtMs)) return;
    if (await terminations.removals.isAnyRefused(waits.context)) return;
  }
}

function hostLooks({ provider }: Waits): Backoff {
  return looksAt(provider.handlers.get(provider.hostKind));
}
