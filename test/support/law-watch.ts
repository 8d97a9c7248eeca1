import type { JsonObject } from "../../src/api/json.js";
import { keyOf, type NodeKey } from "../../src/graph/graph.js";
import { leadsToNothing } from "../../src/plan/waves/next-action.js";
import type { Plan } from "../../src/plan/plan.js";
import { isLettingGo } from "../../src/plan/step.js";
import type { PriorState } from "../../src/records/prior-state.js";
import type { Identity, Observed, Presence } from "../../src/provider/port.js";

export type Law =
  | "law 3: one host"
  | "law 5: ours only"
  | "law 6: unknown"
  | "law 7: shown"
  | "law 8: admitted"
  | "law 11: undo"
  | "law 16: one cluster"
  | "law 17: trust"
  | "law 18: etcd"
  | "law 19: drain"
  | "law 21: versions"
  | "law 22: half-changed"
  | "order"
  | "fake";

/** One thing that was done to the cloud, in order. */
export interface WatchedCall {
  readonly call: "create" | "import" | "update" | "delete" | "forget";
  readonly key: NodeKey;
  readonly id: string;
  /** What the engine was doing; `recovery` is everything outside its runs. */
  readonly during: Activity;
  /** Counts passes over the engine's life. */
  readonly pass: number;
  /** What was asked for; nothing for a deletion. */
  readonly spec?: JsonObject;
  /** It took effect after its command had died. */
  readonly isLate?: true;
}

export type Activity = "change" | "commit" | "refresh" | "clear" | "recovery";

/**
 * Sees everything that is asked of cloud and engine, and writes down what a law forbids. It does not
 * throw where it sees it: what is asked there would take it for the cloud's failure.
 */
export class LawWatch {
  readonly violations: string[] = [];
  readonly uids = new Set<string>();
  private readonly shown = new Set<string>();
  private readonly named = new Set<NodeKey>();
  private readonly orphaned = new Set<string>();
  private readonly unknown = new Set<string>();
  /** Hosts that may go before the commit: of what comes and goes in waves. */
  private readonly early = new Set<NodeKey>();
  /** What the plan that was shown last leads to. */
  private readonly wanted = new Set<NodeKey>();

  blame(law: Law, what: string): void {
    this.violations.push(`${law}: ${what}`);
  }

  /** A new command begins: only what it shows itself may be done from now on. */
  beginCommand({ pending, transaction }: PriorState): void {
    for (const set of [this.shown, this.named, this.orphaned, this.unknown, this.early])
      set.clear();
    for (const { key } of pending) this.named.add(key);
    if (transaction !== undefined) this.name(transaction.target.nodes);
  }

  /** Whoever asked for the command has seen this plan. */
  show(plan: Plan): void {
    const { steps, orphaned, target, transaction, leaving } = plan;
    if (leadsToNothing(plan)) for (const { key } of steps) this.early.add(key);
    const created = new Set(steps.flatMap(({ kind, key }) => (kind === "create" ? [key] : [])));
    const made = new Set(target.machines.flatMap((one) => (created.has(one.host) ? one.name : [])));
    for (const { host, machine, controlPlane, owner, serves } of leaving) {
      const isFailed = !serves && made.has(machine);
      if (controlPlane || owner?.machineDeployment !== undefined || isFailed) this.early.add(host);
    }
    for (const step of steps)
      this.shown.add(`${isLettingGo(step) ? "forget" : step.kind} ${step.key}`);
    for (const { id, who, letGo } of orphaned) {
      this.orphaned.add(id);
      // What no record tells of goes before anything else, or gets a record and then goes as a recorded host does.
      this.early.add(keyOf(who));
      // It may get a record before, so that it waits for its host.
      this.shown.add(`${letGo === true ? "forget" : "delete"} ${keyOf(who)}`);
    }
    this.name(target.nodes);
    this.wanted.clear();
    for (const node of target.nodes) this.wanted.add(keyOf(node));
    this.uids.add(transaction.clusterUid);
  }

  isShown(call: WatchedCall["call"], key: NodeKey): boolean {
    return this.shown.has(`${call} ${key}`);
  }

  /** Whether its record may go, with the resource or without. */
  isLeaving(key: NodeKey): boolean {
    return this.isShown("delete", key) || this.isShown("forget", key);
  }

  /** Whether some plan of this command takes it away, or lets it go, and has not yet: it bears our marks, and no later plan keeps it. */
  isGoing({ id, who }: Observed): boolean {
    const key = keyOf(who);
    const isWanted = this.wanted.has(key);
    return who.token !== "" && !isWanted && (this.isLeaving(key) || this.orphaned.has(id));
  }

  /**
   * Members make room for one another, and so do the machines of a deployment, and what was made since the revision for whoever is
   * made in its place, each with what lives with it; nothing else does.
   */
  mayGoEarly(key: NodeKey): boolean {
    const name = key.slice(key.indexOf("/") + 1);
    const hosts = [...this.early].map((host) => host.slice(host.indexOf("/") + 1));
    return this.early.has(key) || hosts.some((host) => name.startsWith(`${host}-`));
  }

  answered(who: Identity, presence: Presence): void {
    if (presence.found === "unknown") this.unknown.add(who.token);
    else this.unknown.delete(who.token);
  }

  listed(seen: readonly Observed[]): void {
    for (const { who } of seen) this.unknown.delete(who.token);
  }

  /** Called before a change takes effect, with whoever the resource belongs to. */
  changes({ call, key, id, during }: WatchedCall, asked: Identity, marked: Identity): void {
    const isNobodys = call === "import" && marked.clusterUid === "";
    if (!isNobodys && !this.uids.has(marked.clusterUid)) {
      this.blame("law 5: ours only", `${call} of ${key} (${id}), marked as ${marked.clusterUid}`);
    }
    if (this.unknown.has(asked.token)) {
      this.blame(
        "law 6: unknown",
        `${call} of ${key} (${id}) while nobody knows whether it exists`,
      );
    }
    if (!this.mayDo(call, key, id, during)) {
      this.blame("law 7: shown", `${call} of ${key} (${id}) in ${during} was in no plan`);
    }
  }

  /** An adopted resource is updated by the step that would have made it. */
  private mayDo(call: WatchedCall["call"], key: NodeKey, id: string, during: Activity): boolean {
    if (this.isShown(call, key)) return true;
    if (call === "update") return this.isShown("create", key);
    const takesAway = call === "delete" || call === "forget";
    return takesAway && during === "recovery" && (this.orphaned.has(id) || this.named.has(key));
  }

  private name(nodes: Plan["target"]["nodes"]): void {
    for (const { kind, name } of nodes) this.named.add(`${kind}/${name}` as NodeKey);
  }
}
