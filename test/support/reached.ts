import { canonicalJson, type Json, type JsonObject } from "../../src/api/json.js";
import { isRef, keyOf, resolveRefs } from "../../src/graph/graph.js";
import { cloudResources } from "../../src/records/prior-state.js";
import type { Target } from "../../src/records/target.js";
import type { FakeEngine } from "./fake-engine.js";

/** What was to be reached, as far as somebody knows. */
export interface Expected {
  /** See `textOf`; undefined: whatever objects they are of. */
  readonly objects?: string;
  /** What machines are to be, whatever their hosts are called. */
  readonly content?: Target;
  /** An `up` got there: every host is there, and none serves on that the cloud is to take away. */
  readonly isUp?: boolean;
  /** Ids of what others have changed, so that it need not be as it is wanted. */
  readonly left?: ReadonlySet<string>;
}

/** Whether cloud, state and revision agree in existence and content, and are what is wanted: what is wrong. */
export function notReached(
  engine: FakeEngine,
  { objects, content, left, isUp = false }: Expected,
): string[] {
  const { prior } = engine;
  const { revision, transaction } = prior;
  if (revision === undefined || transaction?.number !== revision.number) {
    return ["the transaction is not committed"];
  }
  const wrong: string[] = [];
  const { target } = revision;
  if (objects !== undefined && textOf(target.objects) !== objects) {
    wrong.push("the revision is of other objects");
  }
  const recorded = new Map(cloudResources(prior).map((one) => [one.key, one]));
  for (const node of target.nodes.filter(({ type }) => type === "resource")) {
    const key = keyOf(node);
    const record = recorded.get(key);
    const wanted = resolveRefs(node.spec, ({ $ref }) => recorded.get($ref)?.id ?? null);
    const seen = engine.cloud.get(record?.id ?? "");
    const isThere = seen !== undefined && seen.phase !== "gone";
    // A way back leaves what failed on it to the next `up`.
    if (!isThere && !isUp && engine.cloud.hasRejected(record?.id ?? "")) continue;
    if (!isThere) wrong.push(`${key} does not exist`);
    else if (left?.has(seen.id) !== true && !isAs(wanted, seen.spec, engine)) {
      wrong.push(`${key} is not what is wanted`);
    } else if (isUp && seen.leavesAtMs !== undefined) {
      wrong.push(`${key} is to leave, and serves on`);
    } else if (isOther(seen.spec, record?.outputs["spec"] as JsonObject, wanted, engine)) {
      wrong.push(`${key} is not what is recorded`);
    }
  }
  const keys = new Set(target.nodes.map(keyOf));
  for (const key of recorded.keys()) {
    if (!keys.has(key)) wrong.push(`${key} is recorded, and nobody wants it`);
  }
  const ids = new Set(cloudResources(prior).map(({ id }) => id));
  for (const { id } of engine.alive()) if (!ids.has(id)) wrong.push(`${id} is an orphan`);
  if (prior.pending.length > 0) wrong.push("an operation is left pending");
  if (content !== undefined && contentOf(content) !== contentOf(target)) {
    wrong.push("what was rolled back is not what was there before");
  }
  return wrong;
}

/** Not as it is recorded; what somebody has made one alternative of another is no drift. */
function isOther(
  seen: JsonObject,
  recorded: JsonObject,
  wanted: JsonObject,
  engine: FakeEngine,
): boolean {
  if (canonicalJson(recorded) === canonicalJson(seen)) return false;
  return ![recorded, seen].every((one) => isAs(wanted, one, engine));
}

/** As it is wanted, or as one of its alternatives. */
function isAs(wanted: JsonObject, seen: JsonObject, { provider }: FakeEngine): boolean {
  const choices = [wanted, ...(provider.alternatives?.(wanted) ?? [])];
  return choices.some((choice) => canonicalJson(choice) === canonicalJson(seen));
}

/** What each machine is to be, whatever its host is called. */
function contentOf({ machines, nodes }: Target): string {
  const specs = new Map(nodes.map((node) => [keyOf(node), node.spec]));
  const anonymous = (spec: JsonObject) =>
    Object.fromEntries(
      Object.entries(spec).map(([path, value]) => [path, isRef(value) ? value.output : value]),
    );
  return canonicalJson(
    Object.fromEntries(machines.map(({ name, host }) => [name, anonymous(specs.get(host) ?? {})])),
  );
}

/** Objects as one text, in whatever order they are. */
export function textOf(objects: Target["objects"]): string {
  return objects
    .map((one) => canonicalJson(one as unknown as Json))
    .sort()
    .join("\n");
}
