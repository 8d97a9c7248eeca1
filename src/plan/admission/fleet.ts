import type { NodeKey } from "../../graph/graph.js";
import type { LeavingHost } from "../leaving.js";
import type { Plan } from "../plan.js";
import type { Step } from "../step.js";
import type { TargetMachine } from "../target.js";

/** How far a transaction has come. */
export interface Progress {
  /** Steps whose pass has ended well. */
  readonly applied: ReadonlySet<NodeKey>;
  /** Hosts that serve: ready, and for as long as their set asks for. */
  readonly available: ReadonlySet<NodeKey>;
}

/** What one part of the fleet wants next. */
export type Round =
  | {
      readonly kind: "change";
      readonly changes: readonly NodeKey[];
      readonly deletions: readonly NodeKey[];
      readonly reason: string;
    }
  | { readonly kind: "wait"; readonly keys: readonly NodeKey[]; readonly reason: string }
  | { readonly kind: "settled" };

export const settled: Round = { kind: "settled" };

/** A machine of the target with its host as it is now. */
export interface WantedHost extends TargetMachine {
  /** It is to be made, or changed in place; else it is as it shall be. */
  readonly open?: "create" | "update";
  readonly available: boolean;
}

/** A host that there is and that the target has no more. */
export interface OldHost extends LeavingHost {
  readonly available: boolean;
}

/** All hosts of a plan at one moment of its apply. */
export interface Fleet {
  readonly open: readonly Step[];
  readonly hosts: readonly WantedHost[];
  readonly leaving: readonly OldHost[];
  /** Nothing was ever committed: there is no service to keep up. */
  readonly isFirst: boolean;
}

/** Pure. */
export function fleetOf(plan: Plan, { applied, available }: Progress): Fleet {
  const open = plan.steps.filter(({ key }) => !applied.has(key));
  const kinds = new Map(open.map(({ kind, key }) => [key, kind]));
  return {
    open,
    hosts: plan.target.machines.map((machine): WantedHost => {
      const kind = kinds.get(machine.host);
      return {
        ...machine,
        ...((kind === "create" || kind === "update") && { open: kind }),
        available: available.has(machine.host),
      };
    }),
    leaving: plan.leaving
      .filter(({ host }) => kinds.get(host) === "delete")
      .map((one) => ({ ...one, available: !one.failed && available.has(one.host) })),
    isFirst: plan.fromRevision === 0,
  };
}

/** Hosts of the target that exist, are as they shall be, and are not available yet. Pure. */
export function unavailable(hosts: readonly WantedHost[]): NodeKey[] {
  return hosts.filter(({ open, available }) => open === undefined && !available).map(hostOf);
}

export function hostOf({ host }: { readonly host: NodeKey }): NodeKey {
  return host;
}
