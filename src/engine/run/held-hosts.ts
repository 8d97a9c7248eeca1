import type { CapstanError } from "../../api/error.js";
import { type NodeKey, nodeName } from "../../graph/graph.js";
import type { Plan } from "../../plan/plan.js";
import { fileOwner } from "../../records/hand-over.js";
import { hostsInName } from "../../records/host-name.js";
import { type PriorState, recordAt } from "../../records/prior-state.js";
import { type DeletionWait, stageText, waitsText } from "../../workload/drain/deletion-stage.js";
import { ResourcesFailed } from "./failures.js";

/**
 * What of `going` cannot go while some hosts stay: they themselves, what lives with them, and everything that these are recorded to
 * depend on or to be a part of. What lives with a host bears its name, whether or not a target or a record still tells of it. Pure.
 */
export function keptWith(
  hosts: readonly NodeKey[],
  going: readonly NodeKey[],
  { resources }: Pick<PriorState, "resources">,
): ReadonlySet<NodeKey> {
  const names = new Set(hosts.map(nodeName));
  const living = going.filter((key) => hostsInName(nodeName(key)).some((one) => names.has(one)));
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

/** HELD: nothing but what is held is left to be deleted. Pure. */
export function deletionHeld(
  goal: Pick<Plan, "cluster" | "transaction">,
  held: readonly DeletionWait[],
): CapstanError {
  const { cluster } = goal;
  const hint = hintFor(goal);
  const code = "HELD" as const;
  return new ResourcesFailed(
    {
      code,
      source: "user",
      subject: cluster,
      message: held.map((wait) => `cannot delete ${waitsText([wait])}`).join("\n"),
      hint,
      retryable: true,
    },
    held.map(({ key, stage }) => {
      const message = `${stageText(stage)}; ${hint}`;
      return { key, operation: "delete", code, message, retryable: true };
    }),
  );
}

function hintFor({ transaction: { owner, goal } }: Pick<Plan, "transaction">): string {
  if (owner !== fileOwner) {
    return "whoever has set the annotation takes it off the Machine; then the deletion goes on by itself";
  }
  const verbs: Partial<Record<typeof goal.kind, string>> = {
    destroy: "destroy",
    rollback: "rollback",
    takeBack: "rollback",
  };
  const verb = verbs[goal.kind];
  const goesOn =
    verb === undefined
      ? "the next capstan up goes on"
      : `capstan ${verb} with -f and those manifests goes on`;
  return `once its owner is done, take the annotation off the Machine, or off the template of its set, in the manifests; ${goesOn}`;
}
