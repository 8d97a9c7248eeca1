// What a request changes in an API server, told by its method, its path and its body. The judges of watch chaos
// rest on this, so it imports nothing of the product.

/** A write to an API server, by what it is for. */
export interface ApiWriteRow {
  /**
   * claim: a finalizer of ours is put on. letGo: it is taken away. bind: a Cluster's UID is written on it. edit: another
   * field of metadata or spec.
   */
  readonly what: WatchWriteKind;
  /** "Machine cp-0"; of an Event its reason, because Events get names by chance. */
  readonly name: string;
}

export const watchWriteKinds = [
  "claim",
  "bind",
  "create",
  "edit",
  "status",
  "letGo",
  "delete",
  "event",
  "lease",
  "secret",
  "other",
] as const;
export type WatchWriteKind = (typeof watchWriteKinds)[number];

const kindsByPlural: Readonly<Record<string, string>> = {
  clusters: "Cluster",
  machines: "Machine",
  machinesets: "MachineSet",
  machinedeployments: "MachineDeployment",
  machineclasses: "MachineClass",
};
const finalizers = ["cluster.cluster.k8s.io", "machine.cluster.k8s.io"];
const uidAnnotations = ["capstan.dev/cluster-uid", "capstan.dev/bound-to"];
const writing = ["POST", "PUT", "PATCH", "DELETE"];

interface Written {
  readonly metadata?: {
    readonly name?: string;
    readonly finalizers?: readonly string[] | null;
    readonly annotations?: Readonly<Record<string, unknown>> | null;
  };
  readonly reason?: string;
}

/** What a request changes; undefined for one that changes nothing. Pure. */
export function writeIn(method: string, path: string, body: string): ApiWriteRow | undefined {
  if (!writing.includes(method)) return undefined;
  const parts = new URL(path, "https://server").pathname.split("/").filter((part) => part !== "");
  const rest = parts.slice(parts[0] === "api" ? 2 : 3);
  const [plural = "", named, subresource] = rest[0] === "namespaces" ? rest.slice(2) : rest;
  const written = writtenIn(body);
  const name = named ?? written.metadata?.name ?? "";
  if (plural === "leases") return { what: "lease", name };
  if (plural === "events") return { what: "event", name: written.reason ?? "" };
  if (plural === "secrets") return { what: "secret", name };
  const kind = kindsByPlural[plural];
  if (kind === undefined) return { what: "other", name: `${plural} ${name}` };
  return { what: kindOfWrite(method, subresource, written), name: `${kind} ${name}` };
}

function kindOfWrite(
  method: string,
  subresource: string | undefined,
  { metadata = {} }: Written,
): WatchWriteKind {
  if (subresource === "status") return "status";
  if (method === "POST") return "create";
  if (method === "DELETE") return "delete";
  const { finalizers: left, annotations } = metadata;
  if (left !== undefined) {
    return left?.some((one) => finalizers.includes(one)) === true ? "claim" : "letGo";
  }
  const isBound = uidAnnotations.some((one) => annotations?.[one] !== undefined);
  return isBound ? "bind" : "edit";
}

function writtenIn(body: string): Written {
  try {
    return JSON.parse(body) as Written;
  } catch {
    return {};
  }
}
