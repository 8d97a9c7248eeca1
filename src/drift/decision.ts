import type { ExtraOrigin } from "./classify.js";

/** What is to become of one finding, and why. JSON data. */
export type DriftDecision =
  /** The next transaction makes it as it shall be. */
  | { readonly kind: "correct"; readonly how: Correction }
  /** The next transaction puts a new host in its place, because its policy asks for that. */
  | { readonly kind: "replace" }
  | { readonly kind: "report"; readonly because: ReportCause }
  | { readonly kind: "ignore" }
  /** The cluster is frozen: its freeze says why. */
  | { readonly kind: "frozen" }
  /** A later transaction's turn: this one holds as many corrections as it may. */
  | { readonly kind: "overBudget"; readonly of: BudgetGroup; readonly allowed: number };

/** create: again, or a new host; update: in place; replace: by a new one; remove: what nobody wants. */
type Correction = "create" | "start" | "update" | "replace" | "remove";

export type ReportCause =
  | { readonly kind: "policy" }
  /** It is an extra resource that no apply has left. */
  | { readonly kind: "notOrphaned"; readonly origin: Exclude<ExtraOrigin, "orphaned"> }
  /** There is no way back that provider and update policy allow. */
  | { readonly kind: "unsupported"; readonly reason: string }
  /** It is used and not ours. */
  | { readonly kind: "external" }
  /** It failed, and is no host that another could take the place of. */
  | { readonly kind: "noRemedy" }
  /** A control-plane host would go, with what it stores: that is somebody's to ask for. */
  | { readonly kind: "member" }
  | RestraintCause;

/** Why an unhealthy machine keeps its host. */
export type RestraintCause =
  /** More or fewer machines are unhealthy than its check acts on. */
  | {
      readonly kind: "check";
      readonly check: string;
      readonly unhealthy: number;
      readonly machines: number;
    }
  /** More machines of the cluster are unhealthy than its drift budget allows: that may have another cause than their hosts. */
  | {
      readonly kind: "tooManyUnhealthy";
      readonly unhealthy: number;
      readonly machines: number;
      readonly allowed: number;
    }
  /** Too few other members are healthy for etcd to keep its quorum without it. */
  | { readonly kind: "quorum"; readonly healthy: number; readonly members: number };

/** Whose budget a correction counts against. */
export type BudgetGroup = "members" | "workers";
