import { machineSpecOf, type ManifestObject, providerValue } from "../targets.js";

type Fields = Readonly<Record<string, unknown>>;

interface Rule {
  readonly protocol: string;
  readonly fromPort: number;
  readonly toPort: number;
}

/**
 * What manifests of a cluster with one zone or more, one NAT gateway or none, members of the control plane and MachineDeployments ask for, as `linesOf` tells it.
 * It is read from docs/aws.md and imports nothing of the product. Pure.
 */
export function wantedLines(objects: readonly ManifestObject[]): string[] {
  const cluster = objects.find(({ kind }) => kind === "Cluster");
  if (cluster === undefined) return [];
  const spec = providerValue(cluster.spec);
  const tags = (spec["tags"] ?? {}) as Record<string, string>;
  const shared = [...networkLines(spec), ...apiLines(spec)].map((line) => line + tagged(tags));
  return [
    ...shared,
    ...ruleLines(spec),
    ...objects.flatMap((one) => hostLines(one, spec, tags)),
  ].sort();
}

function networkLines(spec: Fields): string[] {
  const zones = spec["zones"] as readonly string[];
  const [first = ""] = zones;
  const hasNat = hasGateway(spec);
  const outBy = hasNat ? `0.0.0.0/0 by nat-${first} ` : "";
  const gateway = [
    `addresses nat-${first}: mapped true`,
    `natGateways nat-${first}: in public-${first} with nat-${first}, available`,
  ];
  const privates = zones.flatMap((zone) => [
    `subnets private-${zone}: vpc ${zone}, public false`,
    `subnets public-${zone}: vpc ${zone}, public true`,
    `routeTables private-${zone}: vpc, to ${outBy}local, of private-${zone}`,
  ]);
  return [
    "vpcs vpc: 10.0.0.0/16, dns true true",
    "internetGateways internet: attached to vpc",
    ...(hasNat ? gateway : []),
    `routeTables public: vpc, to 0.0.0.0/0 by internet local, of ${publics(zones)}`,
    ...privates,
    "groups controlplane: vpc, Kubernetes control plane",
    "groups node: vpc, Kubernetes nodes",
    "groups lb: vpc, Load balancers of Kubernetes Services",
    "groups apiserver-lb: vpc, Load balancer of the Kubernetes API",
  ];
}

function hasGateway({ natGateways }: Fields): boolean {
  return natGateways !== "none";
}

function publics(zones: readonly string[]): string {
  return zones.map((zone) => `public-${zone}`).join(" ");
}

function apiLines(spec: Fields): string[] {
  const zones = spec["zones"] as readonly string[];
  return [
    `loadBalancers api: internet-facing vpc, in ${publics(zones)}, apiserver-lb, cross zone true`,
    "targetGroups api: vpc port 6443, delay 30, client address false",
    "listeners api: api port 6443 to api",
  ];
}

const hostGroups = ["controlplane", "node"];

/** Those of every cluster, those that `ingressRules` ask for between hosts, and who may reach the API. */
function ruleLines(spec: Fields): string[] {
  const { allowedCidrs } = (spec["apiServer"] ?? {}) as {
    readonly allowedCidrs?: readonly string[];
  };
  // Private hosts reach a load balancer with public addresses from the address of their gateway.
  const [zone = ""] = spec["zones"] as readonly string[];
  const insiders = [...hostGroups, ...(hasGateway(spec) ? [`the address of nat-${zone}`] : [])];
  const between = (spec["ingressRules"] as readonly Rule[]).flatMap((rule) =>
    hostGroups.flatMap((into) => hostGroups.map((from) => ({ ...rule, into, from }))),
  );
  const tcp = (into: string, fromPort: number, toPort: number, from: string) => ({
    protocol: "tcp",
    into,
    fromPort,
    toPort,
    from,
  });
  const rules = [
    ...between,
    ...hostGroups.map((from) => tcp("controlplane", 6443, 6443, from)),
    ...hostGroups.flatMap((into) => hostGroups.map((from) => tcp(into, 10250, 10250, from))),
    tcp("controlplane", 6443, 6443, "apiserver-lb"),
    tcp("controlplane", 2379, 2380, "controlplane"),
    ...hostGroups.map((from) => tcp("node", 30000, 32767, from)),
    ...(allowedCidrs === undefined ? ["0.0.0.0/0"] : [...allowedCidrs, ...insiders]).map((from) =>
      tcp("apiserver-lb", 6443, 6443, from),
    ),
  ];
  return rules.map(({ into, protocol, fromPort, toPort, from }) => {
    return `into ${into}, ${protocol} ${fromPort}-${toPort} from ${from}`;
  });
}

interface Volume {
  readonly name: string;
  readonly device: string;
  readonly gib: number;
  readonly encrypted?: boolean;
}

/** Of a Machine, or of all that a MachineDeployment has: they bear its name here. */
function hostLines(
  object: ManifestObject,
  cluster: Fields,
  clusterTags: Record<string, string>,
): string[] {
  const spec = machineSpecOf(object);
  if (spec === undefined) return [];
  const { replicas = 1 } = object.spec as { readonly replicas?: number };
  const lines = machineLines(object.metadata.name, spec, { cluster, clusterTags });
  return Array.from({ length: replicas }, () => lines).flat();
}

interface AroundMachine {
  readonly cluster: Fields;
  readonly clusterTags: Record<string, string>;
}

function machineLines(
  name: string,
  spec: Fields,
  { cluster, clusterTags }: AroundMachine,
): string[] {
  const { instanceType, dataVolumes = [], metadata, tags, publicIp } = providerValue(spec);
  const isMember = "controlPlane" in ((spec["versions"] ?? {}) as Fields);
  const side = publicIp === true ? "public" : "private";
  const [zone = ""] = cluster["zones"] as readonly string[];
  const { hopLimit = 1 } = (metadata ?? {}) as { readonly hopLimit?: number };
  const worn = tagged({ ...clusterTags, ...(tags as Record<string, string> | undefined) });
  const volumes = dataVolumes as readonly Volume[];
  return [
    `instances ${name}: ${String(instanceType)} in ${side}-${zone} ${zone}, running, tokens required, hops ${hopLimit}${worn}`,
    ...(isMember ? [`target ${name}:6443 in api, healthy`] : []),
    ...volumes.map(({ name: volume, device, gib, encrypted = true }) => {
      return `volumes ${name}-${volume}: ${gib} GiB gp3, encrypted ${encrypted}, attached to ${name} as ${device}${worn}`;
    }),
  ];
}

function tagged(tags: Record<string, string>): string {
  const told = Object.entries(tags).map(([key, value]) => `${key}=${value}`);
  return told.length === 0 ? "" : `, tags ${told.sort().join(" ")}`;
}
