import { quorumOf } from "../../src/sets/quorum.js";
import { canServe } from "../../src/plan/decisions/verdicts.js";
import { keyOf, type NodeKey, nodeKey, nodeName, resolveRefs } from "../../src/graph/graph.js";
import type { PriorState } from "../../src/records/prior-state.js";
import type { Observed } from "../../src/provider/port.js";
import type { FakeEngine } from "./fake-engine.js";
import { machineOf } from "./host-names.js";

/** What changes of the cloud since the last commit cannot be taken back. */
export interface PassedPoints {
  /** Members that cannot be what they were, by id. */
  readonly crossed: ReadonlySet<string>;
  /** Those that were taken back all the same. */
  readonly takenBack: readonly NodeKey[];
  /** While a destroy is open the control plane has lost its majority. */
  readonly hasLostQuorum: boolean;
}

/**
 * What there was when the open transaction began: the last quiet moment before it. It knows the cloud and its
 * calls, and of the product only what the last revision was to be.
 */
export class WhatWasThere {
  private readonly alive: ReadonlyMap<string, Observed>;
  private readonly revision: PriorState["revision"];
  private readonly calls: number;
  private readonly minor: number;
  /** Of each member, by its machine. */
  private readonly minors: ReadonlyMap<string, number>;
  readonly number: number;

  constructor(private readonly engine: FakeEngine) {
    this.alive = new Map(engine.alive().map((one) => [one.id, one]));
    this.revision = engine.prior.revision;
    this.number = this.revision?.number ?? 0;
    this.calls = engine.calls.length;
    const members = (this.revision?.target.machines ?? []).filter((one) => one.controlPlane);
    this.minors = new Map(
      members.map(({ name, spec }) => [name, minorOf(spec.versions.controlPlane)]),
    );
    this.minor = Math.max(...this.minors.values());
  }

  /** Whether something else was committed since, or everything was destroyed. */
  get isOver(): boolean {
    const { revision, transaction } = this.engine.prior;
    // A destroy that is at its last records is still the one that began.
    if (revision === undefined && transaction?.goal.kind === "destroy") return false;
    return (revision?.number ?? 0) !== this.number;
  }

  /** Whether a minor version is older than what was committed; with a lost state the cloud is all that tells. */
  isOlder(minor: number): boolean {
    const { number, engine } = this;
    const seen = number > 0 ? [] : engine.hosts().map(({ spec }) => minorOf(spec["controlPlane"]));
    return minor < Math.max(this.minor, ...seen);
  }

  crossings(): PassedPoints {
    const crossed = new Set<string>();
    const takenBack: NodeKey[] = [];
    // What the revision has let go already nobody takes back.
    const kept = new Set(this.revision?.target.machines.map(({ host }) => host));
    for (const { call, id, key, spec } of this.engine.calls.slice(this.calls)) {
      const minor = minorOf(spec?.["controlPlane"]);
      const before = this.alive.get(id);
      const isMember = kept.has(key) && before?.spec["controlPlane"] !== undefined;
      const grows = isMember && Number(spec?.["diskGib"]) > Number(before.spec["diskGib"]);
      const rises =
        this.minor > -Infinity && minor > (this.minors.get(machineOf(nodeName(key))) ?? this.minor);
      const isNew = call === "create" && rises && this.neverServed(id);
      if (
        call !== "delete" &&
        !isNew &&
        (rises || (call === "update" && grows && this.number > 0))
      ) {
        crossed.add(id);
      } else if (crossed.has(id) && (call === "delete" || !rises)) takenBack.push(key);
    }
    return { crossed, takenBack, hasLostQuorum: this.hasLostQuorum() };
  }

  /**
   * Of hosts that join a cluster of their own: whether no plan was made since one's API server has served. What serves after a
   * plan was made to take it back, that plan could not know.
   */
  private neverServed(id: string): boolean {
    const { engine } = this;
    return engine.cloud.traits.joins === true && !engine.servedAtPlan.has(id);
  }

  private hasLostQuorum(): boolean {
    const { transaction } = this.engine.prior;
    if (transaction?.goal.kind !== "destroy" || this.number === 0) return false;
    const members = [...this.alive.values()].filter(({ spec }) => "controlPlane" in spec);
    const left = members.filter(({ id }) => this.engine.cloud.get(id)?.phase !== "gone").length;
    return left < quorumOf(members.length);
  }

  /**
   * Law 9: what a rollback has deleted although it was there before, since call `from`: what could have gone
   * on to serve, and what the transaction itself had not changed.
   */
  lost(from: number): string[] {
    const { engine, revision } = this;
    const hosts = new Set(revision?.target.machines.map(({ host }) => host));
    const ours = engine.calls.slice(this.calls, from);
    return engine.calls.slice(from).flatMap(({ call, key, id }) => {
      const before = this.alive.get(id);
      // Without a revision all that there was is what a lost state has left.
      const served = revision === undefined || hosts.has(key);
      if (call !== "delete" || before === undefined || !served) return [];
      // The transaction had begun to delete it: it serves nobody any more.
      if (engine.leftAtRollback.has(id)) return [];
      if (before.spec["controlPlane"] !== undefined) {
        return [`${key} was deleted, a member that was there before`];
      }
      if (!ours.some((one) => one.id === id && one.call === "update")) {
        return [`${key} was deleted, which the transaction had not changed`];
      }
      return this.couldServe(key, id)
        ? [`${key} was deleted, although it could have served on`]
        : [];
    });
  }

  private couldServe(key: NodeKey, id: string): boolean {
    const { provider, cloud } = this.engine;
    const node = this.revision?.target.nodes.find((one) => keyOf(one) === key);
    const ids = new Map(
      [...this.alive.values()].map(({ who, id: known }) => [nodeKey(who.kind, who.name), known]),
    );
    const wanted = resolveRefs(node?.spec ?? {}, ({ $ref }) => ids.get($ref) ?? null);
    return canServe(provider.verdict(provider.hostKind, cloud.get(id)?.spec ?? {}, wanted));
  }
}

/** 34 of "1.34.2". */
export function minorOf(version: unknown): number {
  return typeof version === "string" ? Number(version.split(".")[1]) : -Infinity;
}
