import { type CapstanError, isCapstanError } from "../../api/error.js";
import { type JsonObject, sameJson } from "../../api/json.js";
import { keyOf, type NodeKey, nodeName } from "../../graph/graph.js";
import { isHostKey } from "../../records/host-name.js";
import type { Observation } from "../../plan/observation.js";
import type { Plan, RemainingPlan } from "../../plan/plan.js";
import { isQuiet } from "../../plan/step.js";
import { mayLeaveDead, withoutDeadMembers } from "../../plan/waves/member-care.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import { isNodeMark } from "../../provider/host-spec.js";
import type { CallContext, InfrastructureProvider } from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { keepsControlPlane, type Target } from "../../records/target.js";
import { isMajority } from "../../sets/quorum.js";
import type { NextAction } from "../../plan/waves/next-action.js";
import { ailmentsText, type EtcdHealth, unknownHealth } from "../../workload/etcd/etcd-health.js";
import { askEtcd, type EtcdAnswered } from "./ask-etcd.js";
import { hostsFailed, replacedOnceFound } from "./failures.js";
import { memberJudge } from "./member-hosts.js";
import type { RunBootstrap } from "./run-bootstrap.js";
import type { RunEvent } from "./run-event.js";
import { isRecording } from "./run-goal.js";
import { membersAmongSeen } from "./seen-members.js";

/** Etcd is asked less and less while it is waited for: one that does not answer takes its time. */
const looksBackoff: Backoff = { firstMs: 500, factor: 1.5, maxMs: 5_000 };

interface RunLimits {
  readonly provider: Pick<InfrastructureProvider, "hostKind">;
  /** How long hosts may take, milliseconds. */
  readonly timeoutMs: number;
  readonly report: (event: RunEvent) => void;
}

interface CareOptions extends Pick<RunLimits, "timeoutMs" | "report"> {
  readonly bootstrap: RunBootstrap;
  readonly hostKind: string;
}

/** What a look at etcd needs. */
interface CareLook {
  /** What is left to do. */
  readonly plan: RemainingPlan;
  readonly observation: Observation;
  /** All that the cloud shows, also what the run leaves alone. */
  readonly shown: Observation;
  readonly records: PriorState;
}

/** How etcd is, asked before a run touches members of the control plane, and how long it is waited for. Source: docs/adr/0047. */
export class MemberCare {
  /** Since when etcd holds this run up, and what was said of it; undefined while it does not. */
  private held: { readonly sinceMs: number; looks: number; told: string } | undefined;
  /** All of etcd, as it was found last. */
  private found: EtcdHealth = [];
  /** Nothing else was done since the last look. */
  private hasWaited = false;

  private constructor(private readonly options: CareOptions) {}

  /** Of a run whose hosts are members of an etcd. What only gets records is left as it is, however that is. */
  static of(
    goal: Plan,
    bootstrap: RunBootstrap | undefined,
    { provider: { hostKind }, timeoutMs, report }: RunLimits,
  ): MemberCare | undefined {
    if (bootstrap === undefined || isRecording(goal)) return undefined;
    return new MemberCare({ bootstrap, hostKind, timeoutMs, report });
  }

  /** Undefined where nobody has to know: nothing is done to members, or their etcd is not Capstan's to ask. Throws nothing but an interruption. */
  async look(look: CareLook, context: CallContext): Promise<EtcdHealth | undefined> {
    const health = await this.health(look, context);
    this.found = health ?? [];
    return health;
  }

  private async health(look: CareLook, context: CallContext): Promise<EtcdHealth | undefined> {
    const { plan, observation, shown, records } = look;
    const { bootstrap, hostKind } = this.options;
    if (!this.hasWaited) this.held = undefined;
    this.hasWaited = false;
    if (!isCareDue(plan, records, hostKind)) return undefined;
    const hosts = membersAmongSeen({ target: plan.target, records, hostKind }, observation);
    const known = hosts.map(({ member }) => member);
    const running = hosts.find(({ member }) => member.phase === "runs")?.observed;
    if (running === undefined) return undefined;
    try {
      const { target } = plan;
      const known = { target, records, hostKind, hosts, running };
      const answered = await askEtcd({ ...known, bootstrap, observation, shown, context });
      const seen = hosts.flatMap(({ observed = [] }) => observed);
      bootstrap.members.noteEtcd(seen, answered?.health ?? [], answered?.forgotten ?? []);
      const health = answered && (await withoutDead(answered, bootstrap, context));
      return health;
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isCapstanError(error)) throw error;
      return unknownHealth(error.message, known);
    }
  }

  /** One pause, after which everything is looked at again. Throws DEADLINE once etcd has held the run up for too long. */
  async wait(
    { ailing, reason }: Extract<NextAction, { kind: "waitForEtcd" }>,
    { clock, signal }: CallContext,
    deadlineAtMs: number,
  ): Promise<void> {
    const { timeoutMs, report } = this.options;
    const nowMs = clock.now();
    const held = (this.held ??= { sinceMs: nowMs, looks: 0, told: "" });
    if (nowMs > patienceEndMs(held.sinceMs, timeoutMs, deadlineAtMs)) {
      throw etcdFailed(ailing, this.found, (nowMs - held.sinceMs) / 1_000);
    }
    if (reason !== held.told) report({ kind: "waiting", keys: [], reason });
    held.told = reason;
    held.looks += 1;
    this.hasWaited = true;
    await clock.sleep(backoffMs(looksBackoff, held.looks), signal);
  }
}

/** Until when a run waits for etcd: as long as hosts may take, and not beyond its own deadline. Pure. */
export function patienceEndMs(sinceMs: number, timeoutMs: number, deadlineAtMs: number): number {
  return Math.min(sinceMs + timeoutMs, deadlineAtMs);
}

/**
 * Whether a run does something to members of a control plane that others stand beside, or has done and has not committed it. Of a
 * cluster without keys nobody can ask; the first member of a new one has nobody beside it. Pure.
 */
function isCareDue(plan: RemainingPlan, records: PriorState, hostKind: string): boolean {
  const isBegun = records.transaction?.number === plan.transaction.number;
  return isBegun && touchesMembers(plan, records, hostKind);
}

/** The same of a plan that is not begun yet. Pure. */
export function touchesMembers(
  { target, steps, transaction }: RemainingPlan,
  records: PriorState,
  hostKind: string,
): boolean {
  const { revision } = records;
  if (!keepsEtcd(target, records)) return false;
  const members = target.machines.filter(({ controlPlane }) => controlPlane);
  if (revision === undefined && members.length === 1) return false;
  const isMember = memberJudge({ target, records, hostKind });
  const isMemberHost = (key: NodeKey) => isHostKey(key, hostKind) && isMember(nodeName(key));
  if (steps.some((step) => isMemberHost(step.key) && !isQuiet(step))) return true;
  if (revision?.number === transaction.number) return false;
  return transaction.direction === "forward"
    ? revision === undefined || membersDiffer(target, revision.target)
    : (records.transaction?.touched ?? []).some(isMemberHost);
}

/** Whether an etcd outlasts the run and can be asked: a destroy takes it away, and without keys no API server answers. Pure. */
export function keepsEtcd(target: Target, { transaction }: PriorState): boolean {
  return keepsControlPlane(target) && transaction?.keys !== undefined;
}

/** Etcd once those that are dead have left it, while records still name them. Throws API_SERVER, and what the provider throws. */
async function withoutDead(
  { health, cluster }: Pick<EtcdAnswered, "health" | "cluster">,
  bootstrap: RunBootstrap,
  context: CallContext,
): Promise<EtcdHealth> {
  const leaving = mayLeaveDead(health);
  if (leaving.length === 0) return health;
  const keys = new Set(leaving.flatMap(({ host }) => host ?? []));
  await bootstrap.members.removeDead(context, cluster, keys);
  return withoutDeadMembers(health);
}

/** What Capstan keeps on Nodes does not count: nothing is disturbed for it. */
function membersDiffer(target: Target, before: Target): boolean {
  const [now, then] = [memberSpecs(target), memberSpecs(before)];
  return now.size !== then.size || [...now].some(([host, spec]) => !sameJson(spec, then.get(host)));
}

function memberSpecs({ machines, nodes }: Target): ReadonlyMap<NodeKey, JsonObject> {
  const hosts = new Set(machines.flatMap((one) => (one.controlPlane ? [one.host] : [])));
  return new Map(
    nodes
      .filter((node) => hosts.has(keyOf(node)))
      .map((node): [NodeKey, JsonObject] => {
        const fields = Object.entries(node.spec).filter(([field]) => !isNodeMark(field));
        return [keyOf(node), Object.fromEntries(fields)];
      }),
  );
}

/** DEADLINE, of each host whose member is not well. `all`: with those that are. */
function etcdFailed(ailing: EtcdHealth, all: EtcdHealth, seconds: number): CapstanError {
  const voters = all.filter(({ votes }) => votes);
  const well = voters.filter(({ state }) => state === "well");
  const wayOut = isMajority(well.length, voters.length)
    ? `a member that never will be ${replacedOnceFound}`
    : "where it never will be, as after a destroy that broke off, capstan destroy asks nothing of it";
  const why = `etcd was not well for ${Math.round(seconds)} s`;
  return hostsFailed(
    ailing.flatMap(({ host }) => host ?? []),
    why,
    {
      code: "DEADLINE",
      source: "cloud",
      message: `${why}: ${ailmentsText(ailing)}`,
      hint: `no member of the control plane is touched while another one is not well; --timeout waits longer for it, and the change goes on once etcd is well; ${wayOut}`,
      retryable: true,
    },
  );
}
