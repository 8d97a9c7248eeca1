import { type LedgerRow, machineOf } from "../scenario/ledger-judge.js";
import { type Announced, hasStep, planLetsGo } from "./announcement.js";
import type { Course, Typed } from "./laws.js";

// How many hosts there are and serve at every instant, counted from the ledger alone and held against what
// plans and manifests promise. Imports nothing of the product.

/** A set of the manifests, and how far its machines may be more or fewer while they change. */
export interface SetBounds {
  readonly kind: "MachineDeployment" | "MachineSet";
  readonly name: string;
  /** Of a MachineDeployment that rolls its machines. */
  readonly rolling?: {
    readonly maxSurge: number | string;
    readonly maxUnavailable: number | string;
  };
}

interface LivingHost {
  readonly id: string;
  readonly name: string;
  readonly machine: string;
  /** Whose machines stand in for one another: the control plane, a set, or the machine alone. */
  readonly group: string;
  serves: boolean;
  /** It is of a revision: it was there before the point began, or has been committed since. */
  isCommitted: boolean;
}

const controlPlane = "the control plane";

/** What breaks a bound, in the order of the ledger; none: nothing does. Pure. */
export function hostCountProblems(course: Course): string[] {
  const roll = new Roll(course);
  const commands = course.typed.map((typed) => ({ typed, watch: undefined as Watch | undefined }));
  const before = { to: course.typed[0]?.from ?? 0, committed: true, madeSince: [] };
  const commits: Pick<Typed, keyof typeof before>[] = [before, ...course.typed];
  const problems: string[] = [];
  for (const entry of course.ledger.filter(({ cluster }) => cluster === course.cluster)) {
    const command = commands.find(({ typed }) => entry.seq > typed.from && entry.seq <= typed.to);
    while (commits[0] !== undefined && entry.seq > commits[0].to) {
      const { committed = false, madeSince = [] } = commits.shift() ?? {};
      if (committed) roll.commit(new Set(madeSince));
    }
    if (command !== undefined) command.watch ??= new Watch(command.typed, roll, course);
    const there = roll.all();
    const changed = roll.apply(entry);
    if (changed === undefined || command?.watch === undefined) continue;
    problems.push(...command.watch.holds(entry, changed, { before: there, after: roll.all() }));
  }
  return problems;
}

/** The hosts that live and which of them serve, from entry to entry. */
class Roll {
  private readonly hosts = new Map<string, LivingHost>();
  private readonly members: ReadonlySet<string>;

  constructor(private readonly course: Course) {
    const plans = course.typed.flatMap((one) => [...one.plans, ...one.plansBack]);
    this.members = new Set(
      plans
        .flatMap(({ machines }) => machines)
        .flatMap((one) => (one.controlPlane ? [one.machine] : [])),
    );
  }

  all(): LivingHost[] {
    return [...this.hosts.values()].map((host) => ({ ...host }));
  }

  /** What there is now is of a revision, but for what was made after it. */
  commit(madeSince: ReadonlySet<string>): void {
    for (const host of this.hosts.values()) host.isCommitted ||= !madeSince.has(host.name);
  }

  /** Answers the host that has changed. */
  apply({ kind, id, name, effect, detail }: LedgerRow): LivingHost | undefined {
    if (kind !== this.course.hostKind || id === null || name === null) return undefined;
    const host = this.hosts.get(id);
    switch (effect) {
      case "created": {
        const machine = machineOf(name);
        const group = this.groupOf(machine);
        const made = { id, name, machine, group, serves: false, isCommitted: false };
        this.hosts.set(id, made);
        return made;
      }
      case "running":
        // One whose node is still to join says when that is due.
        if (host !== undefined) host.serves = detail?.includes("joinsMs") !== true;
        return host;
      case "ready":
        if (host !== undefined) host.serves = true;
        return host;
      case "failed":
      case "not ready":
        if (host !== undefined) host.serves = false;
        return host;
      case "terminated":
      case "rejected":
        this.hosts.delete(id);
        return host;
      case "disowned":
        this.hosts.delete(id);
        return undefined;
      case "marked": {
        const machine = machineOf(name);
        const group = this.groupOf(machine);
        this.hosts.set(id, { id, name, machine, group, serves: true, isCommitted: false });
        return undefined;
      }
      default:
        return undefined;
    }
  }

  groupOf(machine: string): string {
    if (this.members.has(machine)) return controlPlane;
    const set = this.course.sets.find(({ kind, name }) => {
      const numbered = kind === "MachineSet" ? /^-\d+$/ : /^-[0-9a-f]{8}-\d+$/;
      return machine.startsWith(name) && numbered.test(machine.slice(name.length));
    });
    return set?.name ?? machine;
  }
}

/** What one command has promised, held against the hosts as they change. */
class Watch {
  private readonly plans: readonly Announced[];
  private readonly promises: readonly Promised[];

  constructor(
    private readonly by: Typed,
    private readonly roll: Roll,
    private readonly course: Course,
  ) {
    this.plans = [...by.plans, ...by.plansBack];
    const there = roll.all();
    this.promises = this.plans.map((plan) => new Promised(plan, there, roll, course));
  }

  holds(
    entry: LedgerRow,
    changed: LivingHost,
    { before, after }: { readonly before: LivingHost[]; readonly after: LivingHost[] },
  ): string[] {
    if (this.plans.length === 0) return [];
    if (entry.effect === "created") return [...this.tooMany(changed, after)];
    const served = before.some(({ id, serves }) => id === changed.id && serves);
    const isOurs = entry.call === "terminate" || entry.call === "restart";
    return isOurs && served ? this.tooFew(entry, changed, after) : [];
  }

  private tooMany({ id, name, machine, group }: LivingHost, after: LivingHost[]): string[] {
    const others = after.filter((one) => one.machine === machine && one.id !== id);
    const key = (host: string) => `${this.course.hostKind}/${host}`;
    const staying = others.filter(
      (one) => !this.plans.some((plan) => planLetsGo(plan, key(one.name), one.id)),
    );
    const words = `"${this.by.words}" makes ${name}`;
    if (staying.length > 0) {
      const names = staying.map((one) => one.name).join();
      return [`${words} while ${names} serves the same machine and is to stay`];
    }
    if (others.length > 1) {
      return [`${words}: ${others.length + 1} hosts for ${machine}, at most 2`];
    }
    if (this.by.inline === true) return [];
    const most = Math.max(...this.promises.map((one) => one.mostOf(group)));
    const count = after.filter((one) => one.group === group).length;
    return count > most ? [`${words}: ${count} hosts of ${group}, at most ${most}`] : [];
  }

  private tooFew(entry: LedgerRow, { id, name, group }: LivingHost, after: LivingHost[]): string[] {
    if (this.plans.some(({ abandoned }) => abandoned.includes(id))) return [];
    if (this.by.leads === "away" || this.plans.some(({ endsService }) => endsService)) return [];
    const serving = after.filter(({ serves }) => serves);
    const words = `"${this.by.words}" ${entry.call}s ${name}`;
    const missing = Math.min(...this.promises.map((one) => one.missingBeyond(serving)));
    const problems =
      missing > 0
        ? [`${words}: ${missing} fewer machines serve than its plan has promised at least`]
        : [];
    const least = Math.min(...this.promises.map((one) => one.leastOf(group)));
    const count = serving.filter((one) => one.group === group).length;
    if (this.by.inline !== true && count < least) {
      problems.push(`${words}: ${count} of ${group} serve, at least ${least} have to`);
    }
    return problems;
  }
}

/** What one plan comes to for the hosts that were there when its command began. */
class Promised {
  /** Machines that are to be there after it, by group. */
  private readonly wanted: ReadonlyMap<string, number>;
  /** Hosts that were there and of a revision, by group: on what a killed run has left nobody relies. */
  private readonly relied: ReadonlyMap<string, number>;
  private readonly there: ReadonlyMap<string, number>;
  private readonly mostMissing: number;

  constructor(
    plan: Announced,
    there: readonly LivingHost[],
    private readonly roll: Roll,
    private readonly course: Course,
  ) {
    const staying = plan.machines.filter(({ kind }) => kind !== "delete" && kind !== "forget");
    this.wanted = countBy(staying.map(({ machine }) => roll.groupOf(machine)));
    const recorded = there.filter(({ id }) => !plan.abandoned.includes(id));
    const relied = recorded.filter(({ isCommitted }) => isCommitted);
    this.relied = countBy(relied.map(({ group }) => group));
    this.there = countBy(there.map(({ group }) => group));
    this.mostMissing = this.missingInWaves(plan, recorded);
  }

  /** How many hosts of a group there may be. */
  mostOf(group: string): number {
    const wanted = this.wanted.get(group) ?? 0;
    return Math.max(this.there.get(group) ?? 0, wanted + this.surgeOf(group, wanted));
  }

  /** How many of a rolling set have to serve, by what its manifest says. */
  leastOf(group: string): number {
    const rolling = this.course.sets.find(({ name }) => name === group)?.rolling;
    if (rolling === undefined) return 0;
    const wanted = this.wanted.get(group) ?? 0;
    const { maxSurge, maxUnavailable } = rolling;
    const unavailable = share(maxUnavailable, wanted, Math.floor);
    const missing = share(maxSurge, wanted, Math.ceil) + unavailable === 0 ? 1 : unavailable;
    return Math.min(this.neededOf(group), Math.max(wanted - missing, 0));
  }

  /** How many machines more are missing than its waves show at worst. */
  missingBeyond(serving: readonly LivingHost[]): number {
    const counts = countBy(serving.map(({ group }) => group));
    const missing = this.missing((group) => counts.get(group) ?? 0);
    return Math.max(missing - this.mostMissing, 0);
  }

  private neededOf(group: string): number {
    return Math.min(this.wanted.get(group) ?? 0, this.relied.get(group) ?? 0);
  }

  private missing(servingOf: (group: string) => number): number {
    return [...this.wanted.keys()].reduce(
      (sum, group) => sum + Math.max(this.neededOf(group) - servingOf(group), 0),
      0,
    );
  }

  /** A user's MachineSet and machines replace each of theirs beside the old one. */
  private surgeOf(group: string, wanted: number): number {
    if (group === controlPlane) return 1;
    const rolling = this.course.sets.find(({ name }) => name === group)?.rolling;
    if (rolling === undefined) return wanted;
    return share(rolling.maxSurge, wanted, Math.ceil);
  }

  /** What a wave makes serves only after what it deletes is gone, and what it changes does not serve meanwhile. */
  private missingInWaves(plan: Announced, recorded: readonly LivingHost[]): number {
    const present = new Map(countBy(recorded.map(({ group }) => group)));
    const made = new Set(recorded.map(({ name }) => name));
    let most = 0;
    for (const keys of plan.waves) {
      const hosts = keys.filter((key) => key.startsWith(`${this.course.hostKind}/`));
      const count = (kind: string) => {
        const names = hosts
          .filter((key) => hasStep(plan, kind, key))
          .map((key) => key.slice(key.indexOf("/") + 1))
          .filter((name) => kind !== "create" || !made.has(name));
        return countBy(names.map((name) => this.roll.groupOf(machineOf(name))));
      };
      const [gone, changed, come] = [count("delete"), count("update"), count("create")];
      for (const [group, by] of gone) present.set(group, (present.get(group) ?? 0) - by);
      const missing = this.missing(
        (group) => (present.get(group) ?? 0) - (changed.get(group) ?? 0),
      );
      most = Math.max(most, missing);
      for (const [group, by] of come) present.set(group, (present.get(group) ?? 0) + by);
    }
    return most;
  }
}

function countBy(groups: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const group of groups) counts.set(group, (counts.get(group) ?? 0) + 1);
  return counts;
}

/** A number, or a percentage of one. */
function share(bound: number | string, of: number, round: (exact: number) => number): number {
  return typeof bound === "number" ? bound : round((Number.parseInt(bound, 10) * of) / 100);
}
