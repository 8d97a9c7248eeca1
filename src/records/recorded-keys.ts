import { firstStage, type KeyStage } from "../api/key-stage.js";
import { type HostKeys, keysAt } from "../bootstrap/certificates/key-ring.js";
import type { NodeKey } from "../graph/graph.js";
import { cloudResources, type PriorState } from "./prior-state.js";
import type { Target } from "./target.js";

/** Where keys are that a state does not hold. */
export const lostKeysHint =
  "it was adopted without them: they are in a backup, and in /etc/kubernetes/pki of a control-plane host, for capstan up --adopt --certificates DIR";

/** With which keys the hosts of a target are made. Pure. */
export function stageOf(target: Pick<Target, "keyStage"> | undefined): KeyStage {
  return target?.keyStage ?? firstStage;
}

/** With which keys a host was made. Pure. */
export function stageOfHost(
  { transaction }: Pick<PriorState, "transaction">,
  host: NodeKey,
): KeyStage {
  return transaction?.hostKeys?.[host] ?? firstStage;
}

/**
 * What everybody trusts who has to do with a cluster: also while its hosts are being replaced, since those of two
 * neighbouring stages trust each other. A secret. Pure.
 */
export function recordedKeys({
  transaction,
}: Pick<PriorState, "transaction">): HostKeys | undefined {
  return keysAt(transaction?.keys, stageOf(transaction?.target));
}

/**
 * What a transaction records of the keys of hosts: of those that it wants, and of those that are still there, recorded or shown
 * without a record: such a one gets a record when a hook holds it. Pure.
 */
export function hostKeysOf(
  target: Target,
  prior: PriorState,
  unrecorded: readonly NodeKey[],
): Readonly<Record<NodeKey, KeyStage>> | undefined {
  const recorded = cloudResources(prior).map(({ key }) => key);
  const there = [...recorded, ...unrecorded].map((key) => [key, stageOfHost(prior, key)] as const);
  const wanted = target.machines.map(({ host }) => [host, stageOf(target)] as const);
  const stages = new Map([...there, ...wanted]);
  const others = [...stages].filter(([, stage]) => stage !== firstStage);
  return others.length === 0 ? undefined : Object.fromEntries(others);
}
