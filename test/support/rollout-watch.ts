import { type NodeKey, nodeKey } from "../../src/graph/graph.js";
import { leadsToNothing } from "../../src/plan/waves/next-action.js";
import type { Plan } from "../../src/plan/plan.js";
import type { Observed } from "../../src/provider/port.js";
import { machineOf } from "./host-names.js";
import type { WatchedCall } from "./law-watch.js";

/** A change of the cloud, and what was alive before and after it. */
export interface CloudChange {
  readonly call: WatchedCall;
  readonly before: readonly Observed[];
  readonly after: readonly Observed[];
}

/** What one group of hosts has promised while the present plan is carried out. */
interface Bounds {
  /** Hosts at most, and serving ones at least. */
  readonly most: number;
  readonly least: number;
  /** The same for changes in place, which need one that does not serve. */
  readonly leastInPlace: number;
}

const hostKind = "LocalHost";

/**
 * Sees how many hosts there are and serve at every change of the cloud, and says where a change of ours
 * breaks what a rollout promises. It knows hosts by their names and counts for itself.
 */
export class RolloutWatch {
  readonly violations: string[] = [];
  private bounds = new Map<string, Bounds>();
  /** Names of all machines that ever were control-plane members: a machine keeps its role. */
  private readonly members = new Set<string>();
  /** The deployments of hosts that plans have told of: moved machines keep the names of their former ones. */
  private readonly owners = new Map<NodeKey, string>();
  private isFirst = true;
  private created: ReadonlySet<NodeKey> = new Set();
  /** Hosts that did not serve before, and that nobody waits for as long as they are left alone. */
  private excused = new Set<string>();
  /** Members that were made or changed since the plan was shown. */
  private changedMembers = new Set<string>();
  /** The first one that the present pass changed. */
  private memberOfPass: Pick<WatchedCall, "id" | "pass"> = { id: "", pass: 0 };

  /** From now on this plan is carried out. */
  begin(plan: Plan, alive: readonly Observed[]): void {
    const { target, transaction, fromRevision, steps, leaving } = plan;
    const hosts = hostsAmong(alive);
    for (const { host, owner } of [...target.machines, ...leaving]) {
      this.owners.set(host, owner?.machineDeployment ?? "");
    }
    this.created = new Set(steps.flatMap(({ kind, key }) => (kind === "create" ? [key] : [])));
    // Where nothing is to be left nobody is promised anything.
    this.isFirst = fromRevision === 0 || leadsToNothing(plan);
    this.changedMembers = new Set();
    const down = alive.filter(({ phase }) => phase !== "ready").map(({ id }) => id);
    this.excused = new Set(transaction.direction === "back" ? down : []);
    for (const { name, controlPlane } of target.machines) if (controlPlane) this.members.add(name);
    this.bounds = new Map(
      target.objects.flatMap((object) => {
        if (object.kind !== "MachineDeployment") return [];
        const { replicas, strategy, template } = object.spec;
        // Members follow etcd's arithmetic, whoever wants them.
        if (template.spec.versions?.controlPlane !== undefined) return [];
        const before = this.ofDeployment(hosts, object.metadata.name).length;
        const bounds = boundsOf(replicas, strategy?.rollingUpdate ?? {}, before);
        const isBack = transaction.direction === "back";
        return [[object.metadata.name, isBack ? onTheWayBack(bounds, replicas) : bounds]];
      }),
    );
  }

  /** On what recovery takes away, or a creation finds and changes, nobody relied: it was in no record. */
  happened(given: CloudChange): void {
    const change = {
      ...given,
      before: hostsAmong(given.before),
      after: hostsAmong(given.after),
    };
    const { call, key, during } = change.call;
    const isFound = call === "update" && this.created.has(key);
    if (!key.startsWith(`${hostKind}/`) || during === "recovery" || isFound) return;
    // Whoever lets a machine go wants to be without it; what is imported ran before.
    if (call === "forget" || call === "import") return;
    for (const [name, bounds] of this.bounds) this.holdTo(name, bounds, change);
    this.holdMembers(change);
    this.excused.delete(change.call.id);
  }

  /** Of what no plan has told, names do. */
  private ofDeployment(hosts: readonly Observed[], name: string): Observed[] {
    const pattern = new RegExp(`^${name}-[0-9a-f]{8}-`);
    return hosts.filter(({ who }) => {
      const owner = this.owners.get(nodeKey(hostKind, who.name));
      return owner === undefined ? pattern.test(who.name) : owner === name;
    });
  }

  private holdTo(name: string, bounds: Bounds, { call, before, after }: CloudChange): void {
    const [had, has] = [this.ofDeployment(before, name), this.ofDeployment(after, name)];
    if (has.length > had.length && has.length > bounds.most) {
      this.blame(`${has.length} hosts of ${name} after ${told(call)}, at most ${bounds.most}`);
    }
    const [served, serve] = [this.serving(had, call), this.serving(has, call)];
    const least = call.call === "update" ? bounds.leastInPlace : bounds.least;
    if (serve < served && serve < least) {
      this.blame(`${serve} of ${name} serve after ${told(call)}, at least ${least} have to`);
    }
  }

  /** Etcd's majority, and one change after the other. Two members or one cannot keep any. */
  private holdMembers({ call, before, after }: CloudChange): void {
    const isMember = ({ who }: Observed) => this.members.has(machineOf(who.name));
    const [had, has] = [before.filter(isMember), after.filter(isMember)];
    const about = [...had, ...has].find(({ id }) => id === call.id);
    if (about === undefined || this.isFirst) return;
    const [served, serve] = [this.serving(had, call), this.serving(has, call)];
    const quorum = Math.floor(has.length / 2) + 1;
    if (had.length >= 3 && serve < served && serve < quorum) {
      this.blame(`${serve} of ${has.length} members serve after ${told(call)}, ${quorum} have to`);
    }
    const unready = had.filter(
      ({ id, phase }) => id !== call.id && phase !== "ready" && this.changedMembers.has(id),
    );
    if (unready.length > 0 && call.call !== "delete") {
      const names = unready.map(({ who }) => who.name).join();
      this.blame(`${told(call)}, while the member ${names} does not serve yet`);
    }
    if (call.pass !== this.memberOfPass.pass) this.memberOfPass = call;
    if (call.id !== this.memberOfPass.id) {
      this.blame(`${told(call)}, after another member in the same pass`);
    }
    if (call.call !== "delete") this.changedMembers.add(call.id);
  }

  private serving(hosts: readonly Observed[], { id: changed }: WatchedCall): number {
    return hosts.filter(
      ({ id, phase }) => phase === "ready" || (id !== changed && this.excused.has(id)),
    ).length;
  }

  private blame(what: string): void {
    this.violations.push(`rollout: ${what}`);
  }
}

function boundsOf(
  replicas: number,
  {
    maxSurge = 1,
    maxUnavailable = 0,
  }: { maxSurge?: number | string; maxUnavailable?: number | string },
  before: number,
): Bounds {
  const surge = scaled(maxSurge, replicas, Math.ceil);
  const unavailable = scaled(maxUnavailable, replicas, Math.floor);
  const missing = surge + unavailable === 0 ? 1 : unavailable;
  return {
    most: Math.max(before, replicas + surge),
    least: Math.max(replicas - missing, 0),
    leastInPlace: Math.max(replicas - Math.max(missing, 1), 0),
  };
}

/** There a host that serves goes only after its successor, if need be with one host more than the user allows. */
function onTheWayBack({ most, leastInPlace }: Bounds, replicas: number): Bounds {
  return { most: Math.max(most, replicas + 1), least: replicas, leastInPlace };
}

function scaled(bound: number | string, of: number, round: (exact: number) => number): number {
  return typeof bound === "number" ? bound : round((Number.parseInt(bound, 10) * of) / 100);
}

function told({ call, key, pass }: WatchedCall): string {
  return `${call} ${key.slice(hostKind.length + 1)} in pass ${pass}`;
}

function hostsAmong(alive: readonly Observed[]): Observed[] {
  return alive.filter(({ who }) => who.kind === hostKind);
}
