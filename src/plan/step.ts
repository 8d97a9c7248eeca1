import type { Json, JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { NodeKey } from "../graph/graph.js";
import { isNodeMark } from "../provider/host-spec.js";
import type { Verdict } from "../provider/port.js";

/** One field that a step changes. Unknown values are shown as "(known after apply)" elsewhere. */
export interface ChangedField {
  readonly path: string;
  readonly from?: Json;
  readonly to?: Json;
  /** Why this field makes a new resource necessary, or cannot change; absent of those that do not. */
  readonly reason?: string;
  /** What its change in place disturbs; absent: nothing. */
  readonly disruptive?: string;
}

/**
 * What a transaction does to one resource. `delete` steps are carried out with the commit, all
 * others before it.
 */
export type Step = Deed & {
  /** Of what lives with one host: that host. */
  readonly host?: NodeKey;
};

type Deed =
  | { readonly kind: "create"; readonly key: NodeKey; readonly reason: string }
  /** Gives a resource that the cloud holds a record; nothing is made or changed. */
  | { readonly kind: "adopt"; readonly key: NodeKey; readonly reason: string }
  /** Gives a host that was there before our marks and a record; nothing else of it is changed. */
  | { readonly kind: "import"; readonly key: NodeKey; readonly reason: string }
  | {
      readonly kind: "update";
      readonly key: NodeKey;
      readonly changes: readonly ChangedField[];
      readonly reason: string;
      /** Of a host: its pods move away first, as the change disturbs what runs there. */
      readonly drains?: true;
      /** It stands still, so it is started as well. */
      readonly starts?: true;
    }
  | {
      readonly kind: "delete";
      readonly key: NodeKey;
      readonly reason: string;
      /** It stays in the cloud, without our marks: only its record goes. */
      readonly letGo?: true;
    };

/** Whether a step lets something go instead of deleting it. Pure. */
export function isLettingGo(step: Step): boolean {
  return step.kind === "delete" && step.letGo === true;
}

/** Whether a step changes nothing but what Capstan keeps on a Node: whatever runs there goes on. Pure. */
export function isQuiet(step: Step): boolean {
  if (step.kind !== "update" || step.changes.length === 0) return false;
  return step.changes.every(({ path }) => isNodeMark(path));
}

/** The hosts from which pods move away before they are changed where they are. Pure. */
export function drainingAmong(steps: readonly Step[]): ReadonlySet<NodeKey> {
  return new Set(steps.filter(isDraining).map(({ key }) => key));
}

/** Whether pods move away from a host before it is changed where it is. Pure. */
export function isDraining(step: Step): boolean {
  return step.kind === "update" && step.drains === true;
}

/** The paths of a diff result with their values on both sides, and what it says about each of them. Pure. */
export function changesOf(verdict: Verdict, from: JsonObject, to: JsonObject): ChangedField[] {
  if (verdict.kind === "same") return [];
  const disruptions = "disruptions" in verdict ? verdict.disruptions : undefined;
  const reasons = reasonsByPath(verdict);
  return verdict.paths.map((path) =>
    omitUndefined({
      path,
      reason: reasons[path],
      disruptive: disruptions?.[path],
      from: from[path],
      to: to[path],
    }),
  );
}

/** Why paths of a diff result keep a resource from following: a reason without paths of its own is about all of them. Pure. */
export function reasonsByPath(verdict: Verdict): Readonly<Record<string, string>> {
  if (verdict.kind === "same" || verdict.kind === "inPlace") return {};
  return verdict.reasons ?? Object.fromEntries(verdict.paths.map((path) => [path, verdict.reason]));
}
