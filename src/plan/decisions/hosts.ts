import type { JsonObject } from "../../api/json.js";
import type { KeyStage } from "../../api/key-stage.js";
import type { UpdatePolicy } from "../../api/update-policy.js";
import { generationHash } from "../../compile/compile.js";
import { applyPolicy, underPolicy } from "../../compile/update-policy.js";
import { type NodeKey, nodeKey, nodeName } from "../../graph/graph.js";
import { nearestChoice } from "../../provider/alternatives.js";
import type { InfrastructureProvider, Verdict } from "../../provider/port.js";
import {
  canServe,
  isAlive,
  judge,
  type Judged,
  keep,
  serve,
  succeed,
  supersede,
} from "./verdicts.js";
import { type ChangedField, reasonsByPath } from "../step.js";
import type { ObservedResources } from "../observation.js";
import { splitHostName } from "../../records/host-name.js";
import type { RecordedResource } from "../../records/prior-state.js";
import type { Spent } from "../../records/transaction.js";

/** What becomes of the host of one machine. */
export interface HostDecision {
  readonly kind: "same" | "create" | "adopt" | "import" | "update" | "replace" | "unsupported";
  /** The host that serves the machine in the end. */
  readonly name: string;
  readonly changes: readonly ChangedField[];
  /** All of them: that the host is dead, and that fields of it differ. */
  readonly reasons: readonly string[];
  /** The record differs from the cloud and has to be read again first. */
  readonly stale: boolean;
  /** What the decision was made under. */
  readonly policy: UpdatePolicy;
  /** It is not as it is wanted, and stays as it is recorded. */
  readonly isLeft?: true;
  /** It stands still, and is started. */
  readonly starts?: true;
}

/** A host that may exist although no record has it. */
export interface PlannedHost {
  readonly name: string;
  /** As it was asked for, with Refs. */
  readonly spec?: JsonObject;
  /** As the cloud shows it. */
  readonly seen?: JsonObject;
}

export interface HostQuestion {
  readonly machine: string;
  /** Wanted spec with Refs resolved as far as they are known. */
  readonly wanted: JsonObject;
  /** Wanted spec with its Refs: names the generation, so that it does not depend on ids. */
  readonly referenced: JsonObject;
  /** Recorded hosts of the machine, in state order: nothing can be told from it. */
  readonly recorded: readonly RecordedResource[];
  /** The host that serves on if it can: of the recorded graph that is wanted, or of the revision. */
  readonly preferred?: NodeKey;
  /**
   * A host that is to be found rather than made: what an unfinished transaction planned, or what the
   * cloud holds of a cluster without state (then its spec counts only by its generation).
   */
  readonly planned?: PlannedHost;
  readonly observedResources: ObservedResources;
  readonly spent: Spent;
  /** What decides whether a change may be made in place, or by a new host. */
  readonly policy: UpdatePolicy;
  /** Whether a recorded host that failed is replaced. A way back leaves what was so before. */
  readonly replacesFailed: (host: NodeKey) => boolean;
  /**
   * Whether `preferred` is of a recorded graph that is wanted: then it serves although the cloud is to take it away. A
   * notice in the middle of a run is for the next plan.
   */
  readonly isDecided: boolean;
  /** With which keys the host has to be made. */
  readonly keyStage: KeyStage;
  /** With which keys a recorded host was made. */
  readonly stageOfHost: (host: NodeKey) => KeyStage;
  /** Whether a recorded host that is alive may be replaced at all: one that may not stays as it is. */
  readonly mayReplace: (judged: Judged) => boolean;
}

/**
 * Architecture section 3: a recorded host that can follow is kept, under its recorded name;
 * otherwise a new generation is made beside it. Of several that can follow, the one that served before
 * does: it holds the machine's data, and every look comes to the same answer. A host that the cloud
 * positively shows as gone, as on its way out, or as failed, is followed by its next incarnation, whose
 * token was never used. Pure.
 */
export function decideHost(provider: InfrastructureProvider, question: HostQuestion): HostDecision {
  const { recorded, wanted, observedResources, replacesFailed, preferred, policy } = question;
  const judged = judge(underPolicy(provider, policy), recorded, wanted, observedResources).map(
    (one) => asLeaving(heldAgainstKeys(one, question), question),
  );
  const alive = judged.filter(isAlive);
  const kept = alive.find((one) => !question.mayReplace(one));
  if (kept !== undefined) return { policy, name: kept.resource.name, ...keep(kept) };
  const able = alive.filter(
    ({ verdict, unfit, resource }) =>
      canServe(verdict) && !(unfit !== undefined && replacesFailed(resource.key)),
  );
  const serving = able.find(({ resource }) => resource.key === preferred) ?? able.at(-1);
  if (serving !== undefined) return { policy, name: serving.resource.name, ...serve(serving) };
  const made = { policy, name: nextName(provider, question) };
  const newest = alive.at(-1);
  if (newest !== undefined) return { ...made, ...supersede(newest) };
  const last = judged.at(-1);
  if (last !== undefined) return { ...made, ...succeed(last) };
  return { ...made, kind: "create", changes: [], reasons: [], stale: false };
}

/** A host that the cloud is to take away cannot serve on, unless that was decided before. */
function asLeaving(judged: Judged, { isDecided, preferred }: HostQuestion): Judged {
  const { unfit, leaving, resource } = judged;
  if (unfit !== undefined || leaving === undefined) return judged;
  return isDecided && resource.key === preferred ? judged : { ...judged, unfit: leaving };
}

/** Why a host goes that was made with other keys than hosts are to have. */
const otherKeysReason = "a host trusts the keys that it was made with";

/** Whatever else is asked for, a host has the keys that it was made with for as long as it lives. */
function heldAgainstKeys(
  judged: Judged,
  { keyStage, stageOfHost, policy }: Pick<HostQuestion, "keyStage" | "stageOfHost" | "policy">,
): Judged {
  const madeWith = stageOfHost(judged.resource.key);
  if (madeWith === keyStage || judged.verdict.kind === "unsupported") return judged;
  const { changes, verdict } = judged;
  const paths = [...changes.map(({ path }) => path), keysPath];
  const reasons = reasonsByPath(verdict);
  const reason = verdict.kind === "replace" ? verdict.reason : otherKeysReason;
  return {
    ...judged,
    verdict: applyPolicy(policy, {
      kind: "replace",
      paths,
      reason,
      reasons: { ...reasons, [keysPath]: otherKeysReason },
    }),
    changes: [
      ...changes,
      { path: keysPath, from: madeWith, to: keyStage, reason: otherKeysReason },
    ],
  };
}

/** What plans call the keys of a host among its inputs. */
const keysPath = "keys";

/**
 * The name of the machine's next host: resumed from an unfinished transaction, or a fresh one. The
 * incarnation tells it from one with the same hash, which a policy or a rule that looks at values
 * can let it have.
 */
function nextName(provider: InfrastructureProvider, question: HostQuestion): string {
  const { machine, referenced, wanted, planned, recorded, spent, policy } = question;
  const generation = `${machine}-${generationHash(provider, provider.hostKind, referenced)}`;
  const decided = freshlyDecided(question);
  if (decided?.generation === generation) return decided.name;
  const judging = underPolicy(provider, policy);
  const { hostKind } = provider;
  // What is found may have run for long, and the pass that records it would change it without moving its pods.
  const canBecome = (from: JsonObject, to: JsonObject) => {
    const { verdict } = nearestChoice(judging, hostKind, from, to);
    return followsUndisturbed(verdict);
  };
  if (planned !== undefined && !recorded.some(({ name }) => name === planned.name)) {
    const { spec, seen } = planned;
    // Somebody may have changed it since it was asked for.
    const isOfStage =
      question.stageOfHost(nodeKey(provider.hostKind, planned.name)) === question.keyStage;
    const serves =
      isOfStage &&
      (spec === undefined
        ? splitHostName(planned.name).generation === generation
        : canBecome(spec, referenced) && (seen === undefined || canBecome(seen, wanted)));
    if (serves) return planned.name;
  }
  return `${generation}-${(spent[generation] ?? 0) + 1}`;
}

/** Whether a host follows where it is without its pods moving away first. Pure. */
export function followsUndisturbed(verdict: Verdict): boolean {
  return canServe(verdict) && !("disruptions" in verdict);
}

/**
 * A name that the plan under way has given and nothing recorded yet: what it was given for may be read away before the
 * transaction begins, and it stands all the same.
 */
function freshlyDecided({ isDecided, preferred, spent }: HostQuestion) {
  if (!isDecided || preferred === undefined) return undefined;
  const name = nodeName(preferred);
  const { generation, incarnation } = splitHostName(name);
  return incarnation > (spent[generation] ?? 0) ? { name, generation } : undefined;
}

/** Whether a host of this name has been made for this cluster, or was to be: names are used once. Pure. */
export function wasSpent(spent: Spent, host: string): boolean {
  const { generation, incarnation } = splitHostName(host);
  const last = spent[generation];
  return last !== undefined && incarnation >= 1 && incarnation <= last;
}

/** Spent incarnations with the given hosts counted in. Pure; never lowers a number. */
export function spendIncarnations(spent: Spent, hosts: readonly string[]): Spent {
  const result: Record<string, number> = { ...spent };
  for (const host of hosts) {
    const { generation, incarnation } = splitHostName(host);
    if (incarnation > (result[generation] ?? 0)) result[generation] = incarnation;
  }
  return result;
}
