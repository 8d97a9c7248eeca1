import { type GraphNode, keyOf, type NodeKey, refsIn } from "../../graph/graph.js";
import type { RemainingPlan } from "../plan.js";
import { type HostSet, hostOf, type WaveProgress } from "./host-set.js";

/** What may happen to the resources that are no hosts. */
interface SharedRound {
  /** Creations and updates that nothing stands in the way of, satellites of hosts that are there included. */
  readonly shared: readonly NodeKey[];
  /** What machines share, as far as it is as it shall be and not ready. */
  readonly waiting: readonly NodeKey[];
  /** Something that is open needs what a resource tells only once it is ready. */
  readonly held: boolean;
}

/**
 * What machines share comes first. Its id is known as soon as it is made, so that what refers to that may come in the same
 * pass; other outputs, an address say, may be told only once it is ready. Pure.
 */
export function sharedRound(
  { target }: RemainingPlan,
  { available }: WaveProgress,
  { open, hosts }: HostSet,
): SharedRound {
  const hostKeys = new Set(hosts.map(hostOf));
  const changingHosts = new Set(hosts.filter((host) => host.open !== undefined).map(hostOf));
  const changing = new Set(open.filter(({ kind }) => kind !== "delete").map(({ key }) => key));
  const isChanging = (node: GraphNode) => changing.has(keyOf(node));
  const nodes = target.nodes.filter(
    (node) => node.type === "resource" && !hostKeys.has(keyOf(node)),
  );
  const common = nodes.filter(({ host }) => host === undefined);
  const unready = common.filter((node) => isChanging(node) || !available.has(keyOf(node)));
  const needsLate = lateNeeds(new Set(unready.map(keyOf)));
  const held = target.nodes.some((node) => isChanging(node) && needsLate(node));
  const shared = nodes
    // What lives with a host that is to be made or changed comes with it.
    .filter(({ host }) => host === undefined || !changingHosts.has(host))
    .filter((node) => isChanging(node) && !(held && needsLate(node)));
  const waiting = unready.filter((node) => !isChanging(node));
  return { shared: shared.map(keyOf), waiting: waiting.map(keyOf), held };
}

/** Whether a node refers to more than the id of one of these. Of no use to ask once there are none. */
function lateNeeds(unready: ReadonlySet<NodeKey>): (node: GraphNode) => boolean {
  if (unready.size === 0) return () => false;
  return ({ spec }) =>
    refsIn(spec).some(({ $ref, output }) => output !== "id" && unready.has($ref));
}
