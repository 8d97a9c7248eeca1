import { type GraphNode, isShared, keyOf, type NodeKey, refsIn } from "../../graph/graph.js";
import type { RemainingPlan } from "../plan.js";
import type { HostSet, WaveProgress } from "./host-set.js";

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
  { open }: Pick<HostSet, "open">,
): SharedRound {
  const changing = new Set(open.filter(({ kind }) => kind !== "delete").map(({ key }) => key));
  const common = new Set(target.nodes.filter(isShared).map(keyOf));
  const unready = [...common].filter((key) => changing.has(key) || !available.has(key));
  const late = new Set(lateAmong(target.nodes, changing, new Set(unready)));
  const shared = open.filter(({ kind, key, host }) => {
    if (kind === "delete" || late.has(key)) return false;
    // What lives with a host that is to be made or changed comes with it.
    return host === undefined ? common.has(key) : !changing.has(host);
  });
  return {
    shared: shared.map(({ key }) => key),
    waiting: unready.filter((key) => !changing.has(key)),
    held: late.size > 0,
  };
}

/** Which of the changing nodes refer to more than the id of something that is not ready. */
function lateAmong(
  nodes: readonly GraphNode[],
  changing: ReadonlySet<NodeKey>,
  unready: ReadonlySet<NodeKey>,
): NodeKey[] {
  if (unready.size === 0) return [];
  const isLate = ({ spec }: GraphNode) =>
    refsIn(spec).some(({ $ref, output }) => output !== "id" && unready.has($ref));
  return nodes.filter((node) => changing.has(keyOf(node)) && isLate(node)).map(keyOf);
}
