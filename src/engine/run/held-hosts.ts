import { CapstanError } from "../../api/error.js";
import type { NodeKey } from "../../graph/graph.js";
import { type PriorState, recordAt } from "../../records/prior-state.js";
import { livingWith } from "../../records/target.js";
import type { DeletionHook } from "../../workload/drain/deletion-terms.js";
import { sinceText } from "./host-deletion.js";

/** A host that does not go while somebody else holds it. */
export interface HeldHost {
  readonly key: NodeKey;
  readonly machine: string;
  /** At least one. */
  readonly hooks: readonly DeletionHook[];
}

/**
 * What cannot go while some hosts stay: they themselves, what lives with them, and everything that these are recorded to depend on or
 * to be a part of. Pure.
 */
export function keptWith(hosts: readonly NodeKey[], records: PriorState): ReadonlySet<NodeKey> {
  const { resources, revision, transaction } = records;
  const living = [revision, transaction].flatMap((one) =>
    one === undefined ? [] : livingWith(hosts, one.target),
  );
  const kept = new Set([...hosts, ...living]);
  // What is added while it goes through them is gone through, too.
  for (const key of kept) {
    const record = recordAt(resources, key);
    if (record === undefined) continue;
    for (const needed of record.dependsOn) kept.add(needed);
    if (record.parent !== undefined) kept.add(record.parent);
  }
  return kept;
}

/** "LocalHost/web-1: Machine web is held by pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate (owner backup) since ...". Pure. */
export function heldText({ key, machine, hooks }: HeldHost, sinceMs: number): string {
  const named = hooks.map(({ name, owner }) => (owner === "" ? name : `${name} (owner ${owner})`));
  return `${key}: Machine ${machine} is held by ${named.join(", ")} ${sinceText(sinceMs)}`;
}

/** HELD: nothing but what is held is left to be deleted. `isLive`: an API server holds the Machines. Pure. */
export function deletionHeld(
  cluster: string,
  held: readonly HeldHost[],
  { sinceMs, isLive }: { readonly sinceMs: number; readonly isLive: boolean },
): CapstanError {
  const lines = held.map((host) => heldText(host, sinceMs));
  return new CapstanError({
    code: "HELD",
    source: "user",
    subject: cluster,
    message: `cannot delete ${lines.join("\n")}`,
    hint: isLive
      ? "whoever has set the annotation takes it off the Machine; then the deletion goes on by itself"
      : "once its owner is done, take the annotation off the Machine, or off the template of its set, in the manifests; the next capstan up goes on",
    retryable: true,
  });
}
