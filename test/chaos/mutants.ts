import { endEngine } from "../../src/engine/locks/lock.js";
import { sameRecords } from "../../src/engine/locks/lock-wait.js";
import { isAdopting } from "../../src/engine/operations/adopt.js";
import { refusePassed, targetBack } from "../../src/engine/operations/apply.js";
import { Engine } from "../../src/engine/pulumi/engine.js";
import { stepwiseSession } from "../../src/engine/run/handler-session.js";
import { compareInventory } from "../../src/engine/run/inventory.js";
import { observe } from "../../src/engine/run/observe.js";
import { removeUnrecorded } from "../../src/engine/run/recover.js";
import { identityOf } from "../../src/compile/compile.js";
import { hasRecordedUid, unknownResources } from "../../src/plan/decisions/unrecorded.js";
import { isUnnumberedRollback } from "../../src/plan/goal/rollback.js";
import { targetOfRecords } from "../../src/plan/planner/make-plan.js";
import { membersRound } from "../../src/plan/waves/members.js";
import { commitOf } from "../../src/plan/waves/next-action.js";
import { clusterDocument } from "../../src/report/formats/plan-json.js";
import { maxSurgeOf } from "../../src/sets/fenceposts.js";
import { assertStepsAsPlanned, recordedTwice } from "../../src/transaction/pass.js";
import { copyReplaced } from "../support/mutant.js";
import { replaced, replacedMethod, type Replacement } from "../support/replacement.js";
import { noneHasToServe, workersAlwaysServe } from "../support/rollout-defects.js";

/** The handlers of a request for records do whatever its passes ask for. */
const handlersChangeAll = replaced(
  stepwiseSession,
  (original) => (options) => original({ ...options, recordsOnly: false }),
);

/** A request for records plans like an `up`, and no pass is held against law 20. */
const unguardedRequest: readonly Replacement[] = [
  handlersChangeAll,
  replaced(
    targetOfRecords,
    (original) => (input) => (input.goal.kind === "adopt" ? original(input) : undefined),
  ),
  replaced(assertStepsAsPlanned, () => () => undefined),
];

/** A plan removes nothing that is in no record. */
const keepsUnrecorded = replaced(unknownResources, (original) => (...args) => ({
  ...original(...args),
  orphaned: [],
}));

/** Whatever is listed in no record is taken for what a dead command has left. */
const takesAllForOurs = replaced(hasRecordedUid, () => () => true);

/**
 * Protections that can be taken out. Where one stands behind the other, both go: what chaos has to
 * notice is that nothing protects any more.
 */
export const mutants = {
  /** A resource's token is another one in each attempt. */
  tokenPerAttempt: [
    replaced(identityOf, (original) => (...args) => {
      const identity = original(...args);
      const attempt = String(process.pid);
      return { ...identity, token: `${attempt}${identity.token.slice(attempt.length)}` };
    }),
  ],
  /** Nobody looks for what a killed engine began, in its records or in the cloud. */
  noSearchAfterCrash: [
    replaced(removeUnrecorded, () => () => Promise.resolve([])),
    keepsUnrecorded,
    replaced(
      compareInventory,
      (original) => (state, observedResources) => original(state, observedResources, []),
    ),
  ],
  /** Nobody looks once more whether a rollback has left anything. */
  noVerification: [
    replaced(compareInventory, (original) => (...args) => ({
      ...original(...args),
      differences: [],
    })),
  ],
  /** What a rollback has left is told, and nobody removes it. */
  toldOnly: [keepsUnrecorded],
  /** The engine of a dead command is left alone when its stack is taken over. */
  noEndOfEngine: [replaced(endEngine, () => () => Promise.resolve())],
  /** What a plan does is not told. */
  silentPlan: [
    replaced(clusterDocument, (original) => (plan) => ({ ...original(plan), steps: [] })),
  ],
  /** What is taken back is taken back to nothing, whatever was there before. */
  backToNothing: [
    replaced(
      targetBack,
      (original) =>
        ({ revision: _, ...prior }) =>
          original(prior),
    ),
  ],
  /** An adoption that is taken back is taken for a creation. */
  adoptionTakenForCreation: [replaced(isAdopting, () => () => false)],
  /** A rollback does not know any more that it is one. */
  forgottenRollback: [replaced(isUnnumberedRollback, () => () => false)],
  /** Nobody asks whether a rollback comes too late. */
  noUndoLine: [replaced(refusePassed, () => () => undefined)],
  /** What is destroyed with a cluster is not asked whose it is. */
  everybodysDestroy: [
    replaced(observe, (original) => (provider, ctx, scope, prior, cloud) => {
      const isDestroy = prior.transaction?.goal.kind === "destroy";
      const all = {} as typeof scope;
      return original(provider, ctx, isDestroy ? all : scope, prior, cloud);
    }),
    takesAllForOurs,
  ],
  /** Whatever carries the cluster's name is taken for its own. */
  everybodysName: [
    takesAllForOurs,
    replaced(
      observe,
      (original) =>
        (provider, ctx, { cluster }, prior, cloud) =>
          original(provider, ctx, { cluster }, prior, cloud),
    ),
  ],
  /** A rollout makes one host more than maxSurge. */
  greedySurge: [replaced(maxSurgeOf, (original) => (bounds) => original(bounds) + 1)],
  /** All members of the control plane are exchanged at once. */
  allMembersAtOnce: [
    replaced(membersRound, (original) => (hostSet) => {
      const round = original(hostSet);
      if (round.kind !== "change" || round.keys.length === 0) return round;
      const open = hostSet.hosts.filter((one) => one.controlPlane && one.open !== undefined);
      return { ...round, keys: open.map(({ host }) => host) };
    }),
  ],
  /** A rollout may let every machine go, and its plan says so. */
  noneHasToServe,
  /** A run takes every host for one that serves: its plan was right, and it does not keep it. */
  nobodyWaits: workersAlwaysServe,
  /** The lock of a dead Pulumi engine is left where it is. */
  noLockRelease: [
    replacedMethod(
      Engine,
      ({ releaseDeadLock }) => releaseDeadLock,
      () => () => Promise.resolve(),
    ),
  ],
  /** What is recorded twice is deleted with the record that Pulumi has replaced. */
  recordedOnce: [replaced(recordedTwice, () => () => new Set())],
  /** A request for records plans like an `up`, and its commit deletes what the other steps are about. */
  forgetCarriesAllOut: [
    ...unguardedRequest,
    replaced(commitOf, (original) => (hostSet, done) => ({
      ...original(hostSet, done),
      deletions: hostSet.open.map(({ key }) => key),
    })),
  ],
  /** A request for records plans like an `up`, and commits while creations of its plan are open. */
  forgetCommitsTooSoon: unguardedRequest,
  /** A host that is to be released is deleted. */
  releaseDeletes: [
    replaced(
      stepwiseSession,
      (original) => (options) => original({ ...options, recordsOnly: false, letGo: new Set() }),
    ),
  ],
  /** Nobody asks whether others have written since the records were read. */
  staleReader: [replaced(sameRecords, () => () => true)],
} as const satisfies Record<string, readonly Replacement[]>;

export type MutantName = keyof typeof mutants;

/** A copy of the built command line in a folder of its own, without one protection. */
export function makeMutant(name: MutantName): string {
  return copyReplaced(["dist/src", "dist/providers"], mutants[name]);
}
