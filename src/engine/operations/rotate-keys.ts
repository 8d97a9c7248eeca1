import { CapstanError } from "../../api/error.js";
import { askedStage, type KeyStage, keysAnnotation, nextStage } from "../../api/key-stage.js";
import { stackNameOf } from "../../api/types.js";
import { holdOf, withHold } from "../../drift/hold.js";
import { rulesOfRequest } from "../../drift/plan-with-drift.js";
import type { PriorState } from "../../records/prior-state.js";
import { stageOf } from "../../records/recorded-keys.js";
import { clusterIn, type Target } from "../../records/target.js";
import type { RevisionRecord, TransactionRecord } from "../../records/transaction.js";
import { standingOf } from "../../transaction/lifecycle.js";
import type { StackState } from "../backend/state.js";
import { callContext } from "../run/handler-session.js";
import { NodeReports } from "../run/node-reports.js";
import type { OpenWorkload } from "../run/workload-cluster.js";
import { observeToward, type PlanningOptions, planToward, type RecordedPlan } from "./apply.js";
import { withFindings } from "./findings.js";
import { refuseUnderWay } from "./under-way.js";

/** What a request to rotate a cluster's keys means now. */
export type Rotation =
  | {
      readonly kind: "step";
      readonly from: KeyStage;
      readonly to: KeyStage;
      readonly target: Target;
    }
  /** All hosts are made with the keys that are asked for. */
  | { readonly kind: "reached"; readonly at: KeyStage };

/**
 * What is to be done: a step that was begun, the one that is named, or the next one. The same words lead to the same
 * stage, and stay there (law 10). Pure. Throws NOT_FOUND for a cluster without a revision or keys, TRANSACTION_OPEN while
 * something else is under way, and INVALID_INPUT for a stage that is not the next one, or that manifests say.
 */
export function rotationOf(state: PriorState, asked?: KeyStage): Rotation {
  const { transaction, revision } = state;
  if (transaction === undefined || revision === undefined) throw noRevision(state);
  const { goal, target } = transaction;
  const isBegun = goal.kind === "rotateKeys" && standingOf({ ...state, pending: [] }) !== "idle";
  if (isBegun && (asked ?? goal.to) === goal.to) {
    return { kind: "step", from: stageOf(revision.target), to: goal.to, target };
  }
  return nextStep({ transaction, revision }, asked, state);
}

function nextStep(
  { transaction, revision }: { transaction: TransactionRecord; revision: RevisionRecord },
  asked: KeyStage | undefined,
  state: PriorState,
): Rotation {
  const { target } = revision;
  const cluster = clusterIn(target);
  refuseUnderWay("rotate its keys", stackNameOf(cluster), state);
  const from = stageOf(target);
  if (asked === from) return { kind: "reached", at: from };
  const refused = (cause: string, hint: string) =>
    new CapstanError({
      code: "INVALID_INPUT",
      source: "user",
      subject: target.cluster,
      message: `cannot rotate the keys of ${target.cluster}: ${cause}`,
      hint: `${hint}; nothing was changed`,
    });
  if (transaction.keys === undefined) {
    throw refused(
      "its state holds none",
      "they are made with a cluster whose hosts take user data, or given back by capstan up --adopt --certificates",
    );
  }
  if (askedStage(cluster) !== undefined) {
    throw refused(
      `annotation ${keysAnnotation} of the Cluster says ${from}`,
      `write ${nextStage(from)} there, and capstan up goes there`,
    );
  }
  const to = nextStage(from);
  if (asked !== undefined && asked !== to) {
    throw refused(
      `it has keys ${from}, and no step leads from there to ${asked}`,
      `the next one is ${to}`,
    );
  }
  return { kind: "step", from, to, target: { ...target, keyStage: to } };
}

interface Rotating extends PlanningOptions {
  /** The fingerprint of an implausible answer of the cloud that is true. */
  readonly thaw?: string | undefined;
  /** Etcd is asked how it is. */
  readonly openWorkload: OpenWorkload;
}

/**
 * The plan for a step: every host is replaced by one that is made with other keys, and nothing else is changed. It says
 * what its provider finds to stand against it, and why its look at the cloud is not believed.
 */
export async function planRotation(
  { target, to }: Extract<Rotation, { kind: "step" }>,
  state: StackState,
  options: Rotating,
): Promise<RecordedPlan> {
  const { provider, thaw, clock, stop, openWorkload } = options;
  const { objects } = target;
  const observation = await observeToward(target, state, options);
  const held = holdOf(state, observation, { provider, objects, thaw });
  const { plan, driftFilter } = planToward(target, state, observation, {
    ...options,
    drift: rulesOfRequest(objects),
    goal: { kind: "rotateKeys", to },
    removal: {},
  });
  const looked = await withFindings(withHold(plan, held), {
    provider,
    records: state,
    context: callContext(clock, stop),
    observation,
    reports: new NodeReports(openWorkload),
  });
  return { plan: looked, observation, driftFilter };
}

function noRevision({ transaction }: PriorState): CapstanError {
  const cluster = transaction?.target.cluster ?? "a cluster";
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: cluster,
    message: `cannot rotate the keys of ${cluster}: it has no revision yet`,
    hint: "capstan up finishes it first; nothing was changed",
  });
}
