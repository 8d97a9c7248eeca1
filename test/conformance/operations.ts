import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../src/api/json.js";
import {
  maxUnavailableOf,
  resolveFenceposts,
  type IntOrPercent,
  type RolloutBounds,
} from "../../src/sets/fenceposts.js";
import type { Profile } from "../../src/api/set-profile.js";
import { grownReplicas, machinesCounted } from "../../src/sets/rolling-update.js";
import { isComplete } from "../../src/sets/status.js";
import {
  type ComparableTemplate,
  findNewSet,
  findOldSets,
  sameTemplate,
} from "../../src/sets/template.js";
import {
  isNodeAvailable,
  type NodeObject,
  nodeReadiness,
  type NodeStatus,
  readyConditionOf,
} from "../../src/workload/node-readiness.js";
import { parseProviderId, sameProviderId } from "../../src/workload/provider-id.js";
import type { Deviation } from "./deviations.js";
import { installerDeviations, splitDeviations } from "./installer/installer-deviations.js";
import { chooseForDeletion, machineHealthy } from "./deletion.js";
import { drainOperations } from "./drain.js";
import { installerOperations } from "./installer/operations.js";
import { instantOf, timeOf } from "./machine-sets.js";
import { Replay, type ReplayGiven } from "./replay.js";
import {
  breakDeadlockStep,
  reconcileNewMachineSet,
  reconcileOldMachineSets,
} from "./rollout-steps.js";

/** Answers a case in the vectors' words, by the functions that the engine uses. */
type Operation = (given: never, profile: Profile, want: never) => object | Promise<object>;

interface StrategyGiven {
  readonly strategyType?: "RollingUpdate" | "OnDelete" | null;
  readonly replicas: number;
  readonly maxSurge: IntOrPercent;
  readonly maxUnavailable: IntOrPercent;
}

type Strategy = NonNullable<RolloutBounds["strategy"]>;

interface TemplatesGiven {
  readonly machineDeployment: { readonly template: ComparableTemplate };
  readonly machineSets: readonly {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp?: string | null;
    readonly replicas: number;
    readonly template: ComparableTemplate;
  }[];
}

/** Every operation that is covered, by the name that a case gives or, without one, by its fields. */
export const operations: Readonly<Record<string, Operation>> = {
  resolveFenceposts: fenceposts,
  maxUnavailable: (given: StrategyGiven) => ({ maxUnavailable: maxUnavailableOf(boundsOf(given)) }),
  newMachineSetReplicas,
  reconcileNewMachineSet,
  reconcileOldMachineSets,
  breakDeadlock: breakDeadlockStep,
  replay: (given: ReplayGiven, profile, want) => new Replay(given, profile).answer(want),
  selectForDeletion: chooseForDeletion,
  isMachineHealthy: machineHealthy,
  deploymentComplete,
  equalIgnoreHash,
  findNewMachineSet: (given: TemplatesGiven, profile) => {
    const { template, sets } = templatesOf(given);
    return { newMachineSet: findNewSet(template, sets, profile)?.name ?? null };
  },
  findOldMachineSets: (given: TemplatesGiven, profile) => {
    const { template, sets } = templatesOf(given);
    const old = findOldSets(template, sets, profile);
    return {
      oldMachineSets: old.map(({ name }) => name),
      oldMachineSetsWithReplicas: old.filter((set) => set.replicas !== 0).map(({ name }) => name),
    };
  },
  parse: ({ providerID }: { readonly providerID: string }) => providerIdShown(providerID),
  equals: providerIdsEqual,
  isNodeReady: ({ node }: { readonly node: NodeObject | null }) => ({
    ready: nodeReadiness(node).ready,
  }),
  isNodeAvailable: nodeAvailable,
  getReadyCondition,
  ...drainOperations,
  ...installerOperations,
};

/** What the product does otherwise than cases of an operation want. */
export const deviationsOf: Readonly<Record<string, readonly Deviation[]>> = {
  create: installerDeviations,
  delete: installerDeviations,
  splitControlPlane: splitDeviations,
};

/** Fields by which a case without a name is known. */
const shapes: readonly (readonly [name: string, field: string])[] = [
  ["replay", "schedule"],
  ["newMachineSetReplicas", "countedMachineSets"],
  ["selectForDeletion", "deletePolicy"],
  ["deploymentComplete", "status"],
];

/** The operation that a case is about, or undefined where nothing tells. */
export function operationOf(given: JsonObject): string | undefined {
  const { operation } = given;
  if (typeof operation === "string") return operation;
  return shapes.find(([, field]) => field in given)?.[0];
}

function boundsOf(given: StrategyGiven): RolloutBounds {
  const { strategyType, replicas, maxSurge, maxUnavailable } = given;
  return {
    replicas,
    strategy: { ...strategyOf(strategyType), rollingUpdate: { maxSurge, maxUnavailable } },
  };
}

/** A case that says that there is no strategy does not mean the default. */
function strategyOf(type: StrategyGiven["strategyType"]): Pick<Strategy, "type"> {
  if (type === undefined) return {};
  return { type: type ?? "OnDelete" };
}

function fenceposts({ replicas, maxSurge, maxUnavailable }: StrategyGiven) {
  const posts = resolveFenceposts(maxSurge, maxUnavailable, replicas);
  if (posts.kind === "invalid") return { error: true };
  return { error: false, maxSurge: posts.maxSurge, maxUnavailable: posts.maxUnavailable };
}

function newMachineSetReplicas(
  given: StrategyGiven & {
    readonly newMachineSet: { readonly replicas: number };
    readonly countedMachineSets: readonly { readonly name: string; readonly replicas: number }[];
  },
  profile: Profile,
) {
  const sets = given.countedMachineSets.map((set) => ({ existing: 0, available: 0, ...set }));
  const counted = machinesCounted(sets, profile);
  const replicas = grownReplicas(boundsOf(given), given.newMachineSet.replicas, counted);
  return { newMachineSetReplicas: replicas };
}

function deploymentComplete(given: {
  readonly generation?: number;
  readonly spec: { readonly replicas: number };
  readonly status: Readonly<Record<string, number | null>>;
}) {
  const { generation = 0, spec } = given;
  const count = (name: string) => given.status[name] ?? 0;
  const status = {
    replicas: count("replicas"),
    updatedReplicas: count("updatedReplicas"),
    availableReplicas: count("availableReplicas"),
  };
  const observedGeneration = count("observedGeneration");
  return {
    complete: isComplete({ desired: spec.replicas, status, generation, observedGeneration }),
  };
}

function equalIgnoreHash(given: {
  readonly former: ComparableTemplate;
  readonly latter: ComparableTemplate;
}) {
  const { former, latter } = given;
  const before = structuredClone(given);
  const equal = sameTemplate(former, latter);
  if (equal !== sameTemplate(latter, former)) throw new Error("is not symmetric");
  if (!isDeepStrictEqual(given, before)) throw new Error("changes its inputs");
  return { equal };
}

function templatesOf({ machineDeployment, machineSets }: TemplatesGiven) {
  const sets = machineSets.map(({ creationTimestamp, ...set }) => ({
    ...set,
    ...timeOf(creationTimestamp),
  }));
  return { template: machineDeployment.template, sets };
}

function providerIdShown(text: string) {
  const parsed = parseProviderId(text);
  if (parsed.kind === "malformed") return { valid: false, reason: parsed.reason };
  const { cloudProvider, id } = parsed.providerId;
  return { valid: true, cloudProvider, id, string: parsed.providerId.text };
}

function providerIdsEqual({
  former,
  latter,
}: {
  readonly former: string;
  readonly latter: string;
}) {
  const [left, right] = [parseProviderId(former), parseProviderId(latter)];
  if (left.kind === "malformed" || right.kind === "malformed") {
    throw new Error("compares a malformed provider id");
  }
  return {
    equal: sameProviderId(left.providerId, right.providerId),
    formerString: left.providerId.text,
    latterString: right.providerId.text,
  };
}

function nodeAvailable(given: {
  readonly now: string;
  readonly minReadySeconds: number;
  readonly node: NodeObject | null;
}) {
  const { node, minReadySeconds, now } = given;
  return { available: isNodeAvailable(node, minReadySeconds, instantOf(now)) };
}

function getReadyCondition(
  { nodeStatus }: { readonly nodeStatus: NodeStatus | null },
  _profile: Profile,
  want: { readonly condition?: object | null },
) {
  const condition = readyConditionOf(nodeStatus);
  if (condition === undefined) return { condition: null };
  const fields = new Set(Object.keys(want.condition ?? condition));
  return {
    condition: Object.fromEntries(Object.entries(condition).filter(([name]) => fields.has(name))),
  };
}
