import type { JsonObject } from "../api/json.js";
import type { InfrastructureProvider, Observed } from "./port.js";
import { isNodeMark } from "./host-spec.js";
import { eachBound, withMembers } from "./provider-calls.js";

/** The fields of a kind that its cloud cannot show. Pure. */
export function unobservableOf(
  { handlers }: Pick<InfrastructureProvider, "handlers">,
  kind: string,
): readonly string[] {
  return handlers.get(kind)?.unobservable ?? [];
}

/**
 * A resource as the cloud shows it, and as it is known otherwise where the cloud shows nothing: what it shows of such
 * fields does not count. The same where nothing is known. Pure.
 */
export function asKnown<Resource extends Pick<Observed, "spec">>(
  resource: Resource,
  unobservable: readonly string[],
  known: JsonObject | undefined,
): Resource {
  if (unobservable.length === 0 || known === undefined) return resource;
  const isUnseen = ([field]: [string, unknown]) => unobservable.includes(field);
  const seen = Object.entries(resource.spec).filter((entry) => !isUnseen(entry));
  const unseen = Object.entries(known).filter(isUnseen);
  return { ...resource, spec: Object.fromEntries([...seen, ...unseen]) };
}

/** Why what could be changed in place gets a new host all the same. */
const unseenReason = "the cloud does not show it, so only a new one has it for certain";

/**
 * The same provider, whose changes of what its cloud cannot show take a new resource: of a change in place that broke
 * off nobody could ever tell what has become of it, so it could neither be finished nor taken back (law 3). What a Node
 * bears its own API server shows, and every run and look brings it about again. What the provider lacks the result lacks
 * too, and its methods see the provider itself as `this`.
 */
export function replacingUnseen(provider: InfrastructureProvider): InfrastructureProvider {
  const verdict: InfrastructureProvider["verdict"] = (kind, recorded, wanted) => {
    const found = provider.verdict(kind, recorded, wanted);
    const unseen = unobservableOf(provider, kind).filter((field) => !isNodeMark(field));
    const paths =
      found.kind === "inPlace" ? found.paths.filter((path) => unseen.includes(path)) : [];
    if (found.kind !== "inPlace" || paths.length === 0) return found;
    const reasons = Object.fromEntries(paths.map((path) => [path, unseenReason]));
    return { kind: "replace", paths: found.paths, reason: unseenReason, reasons };
  };
  return withMembers(provider, { verdict, forCluster: eachBound(provider, replacingUnseen) });
}
