import { copyEdited, type Edit } from "../support/mutant.js";

/** The handlers of a request for records do whatever its passes ask for. */
const handlersChangeAll = {
  find: "recordsOnly: changesRecordsOnly(this.goal.transaction.goal),",
  replace: "",
} as const;

/** A request for records plans like an `up`, and no pass is held against law 20. */
const unguardedRequest = [
  handlersChangeAll,
  {
    find: "changesRecordsOnly(given.goal) && planGoal",
    replace: 'given.goal.kind === "adopt" && planGoal',
  },
  { find: "assertStepsAsPlanned(plan, allowed);", replace: "" },
] as const;

/**
 * Protections that can be taken out. Where one stands behind the other, both go: what chaos has to
 * notice is that nothing protects any more.
 */
export const mutants = {
  /** A resource's token is another one in each attempt. */
  tokenPerAttempt: [
    {
      find: "token: digestOf([clusterUid, kind, name], 32)",
      replace: "token: digestOf([clusterUid, kind, name, process.pid], 32)",
    },
  ],
  /** Nobody looks for what a killed engine began, in its records or in the cloud. */
  noSearchAfterCrash: [
    {
      find: "if (handler === undefined || who === undefined)",
      replace: "if (true) return true;\n    $&",
    },
    {
      find: "orphaned: unknown\n            .filter(ours)",
      replace: "orphaned: unknown.filter(() => false)",
    },
    {
      find: 'const unknown = unrecorded.filter(({ phase }) => phase !== "gone");',
      replace: "const unknown = [];",
    },
  ],
  /** Nobody looks once more whether a rollback has left anything. */
  noVerification: [
    {
      find: "const found = compare(state, observedResources, unrecorded);",
      replace:
        "const found = { ...compare(state, observedResources, unrecorded), differences: [] };",
    },
  ],
  /** What a rollback has left is told, and nobody removes it. */
  toldOnly: [
    {
      find: "orphaned: unknown\n            .filter(ours)",
      replace: "orphaned: unknown.filter(() => false)",
    },
  ],
  /** The engine of a dead command is left alone when its stack is taken over. */
  noEndOfEngine: [
    {
      find: "const { engine } = holder;\n    if (engine === undefined",
      replace: "const { engine } = holder;\n    if (true) return;\n    if (engine === undefined",
    },
  ],
  /** What a plan does is not told. */
  silentPlan: [{ find: "steps: [...plan.steps],", replace: "steps: []," }],
  /** What is taken back is taken back to nothing, whatever was there before. */
  backToNothing: [
    {
      find: "return revision?.target ?? emptied(transaction.target);",
      replace: "return emptied(transaction.target);",
    },
  ],
  /** An adoption that is taken back is taken for a creation. */
  adoptionTakenForCreation: [
    {
      find: 'return openRecordsRequest(state)?.kind === "adopt";',
      replace: "return false;",
    },
  ],
  /** A rollback does not know any more that it is one. */
  forgottenRollback: [
    {
      find: 'const isOurs = goal?.kind === "rollback" && !goal.named;',
      replace: "const isOurs = false;",
    },
  ],
  /** Nobody asks whether a rollback comes too late. */
  noUndoLine: [
    {
      find: "refusePassed(passedPoints({ provider, prior: state, ...observation }), state);",
      replace: "",
    },
  ],
  /** What is destroyed with a cluster is not asked whose it is. */
  everybodysDestroy: [
    {
      find: "const { cluster, transaction } = this.goal;\n        const scope = { cluster, clusterUid: transaction.clusterUid };",
      replace: `const { cluster, transaction } = this.goal;
        const scope = transaction.goal.kind === "destroy" ? {} : { cluster, clusterUid: transaction.clusterUid };`,
    },
    { find: "orphaned: unknown\n            .filter(ours)", replace: "orphaned: unknown" },
  ],
  /** Whatever carries the cluster's name is taken for its own. */
  everybodysName: [
    {
      find: "const ours = ({ who }) => who.clusterUid === prior.transaction?.clusterUid;",
      replace: "const ours = () => true;",
    },
    {
      find: "known === undefined ? { cluster } : { cluster, clusterUid: known }",
      replace: "{ cluster }",
    },
    {
      find: "const { cluster, transaction } = this.goal;\n        const scope = { cluster, clusterUid: transaction.clusterUid };",
      replace: "const { cluster, transaction } = this.goal;\n        const scope = { cluster };",
    },
  ],
  /** A rollout makes one host more than maxSurge. */
  greedySurge: [{ find: "fencepostsOf(bounds).maxSurge", replace: "($&) + 1" }],
  /** All members of the control plane are exchanged at once. */
  allMembersAtOnce: [{ find: "return change([next], [], ", replace: "return change(open, [], " }],
  /** A rollout may let every machine go, and its plan says so. */
  noneHasToServe: [
    {
      find: "return Math.max(bounds.replicas - maxUnavailableOf(bounds), 0);",
      replace: "return 0;",
    },
  ],
  /** A run takes every host for one that serves: its plan was right, and it does not keep it. */
  nobodyWaits: [
    {
      find: "ready: one.available,\n        available: one.available,",
      replace: "ready: true, available: true,",
    },
    { find: "const waiting = unavailable(workers);", replace: "const waiting = [];" },
  ],
  /** The lock of a dead Pulumi engine is left where it is. */
  noLockRelease: [
    {
      find: "async removeDead(stack, locks) {",
      replace:
        "$& throw lockedByPulumi('cannot change it', locks[0].lock, { stack, lives: true });",
    },
  ],
  /** What is recorded twice is deleted with the record that Pulumi has replaced. */
  recordedOnce: [{ find: "recordedTwice: recordedTwice(this.state, deletions),", replace: "" }],
  /** A request for records plans like an `up`, and its commit deletes what the other steps are about. */
  forgetCarriesAllOut: [
    ...unguardedRequest,
    {
      find: 'const going = open.filter(({ kind }) => kind === "delete");\n    const reason = done',
      replace: "const going = open;\n    const reason = done",
    },
  ],
  /** A request for records plans like an `up`, and commits while creations of its plan are open. */
  forgetCommitsTooSoon: [...unguardedRequest],
  /** A host that is to be released is deleted. */
  releaseDeletes: [
    handlersChangeAll,
    { find: "letGo: new Set(this.goal.transaction.letGo)", replace: "letGo: new Set()" },
  ],
  /** Nobody asks whether others have written since the records were read. */
  staleReader: [{ find: "if (!sameRecords(read, now))", replace: "if (false)" }],
} as const satisfies Record<string, readonly Edit[]>;

export type MutantName = keyof typeof mutants;

/** A copy of the built command line in a folder of its own, without one protection. */
export function makeMutant(name: MutantName): string {
  return copyEdited(["dist/src", "dist/providers"], mutants[name]);
}
