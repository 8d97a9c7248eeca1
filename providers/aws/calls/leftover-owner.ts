import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { isUserObject, type Leftover, makerText } from "../../../src/provider/leftovers.js";
import { isMarked, type Tag } from "./marks.js";

// Who has made what bears no marks of ours, by the tags that controllers of Kubernetes put on. Sources: the tags of
// cloud-provider-aws; aws-load-balancer-controller, "Resource tagging"; aws-ebs-csi-driver, "Volume tagging"; amazon-vpc-cni-k8s,
// "ENI tags related to allocation".

/** Where a controller says for whom it has made something. */
export const controllerTags = {
  cluster: (name: string) => `kubernetes.io/cluster/${name}`,
  balancerCluster: "elbv2.k8s.aws/cluster",
  interfaceCluster: "cluster.k8s.amazonaws.com/name",
  interfaceInstance: "node.k8s.amazonaws.com/instance_id",
} as const;

/** What is known of something that may be a controller's. */
export interface OwnerFacts {
  readonly tags: readonly Tag[];
  /** Of a security group, which no controller of the cloud tags with its Service. */
  readonly group?: { readonly name: string; readonly description: string };
}

type Maker = Pick<Leftover, "by" | "about">;

/** Who has made it; undefined: no controller that is known. Pure. */
export function makerOf({ tags, group }: OwnerFacts): Maker | undefined {
  const values = new Map(tags.map(({ Key = "", Value = "" }) => [Key, Value]));
  return (
    balancerController(values) ??
    cloudController(values, group) ??
    volumeController(values) ??
    networkPlugin(values)
  );
}

/** What a controller of some cluster has made and that stands in the way. */
export interface ControllerMade {
  /** "made by aws-load-balancer-controller of cluster demo for Service default/web". */
  readonly text: string;
  /** "cluster demo"; "its cluster" of what does not tell. */
  readonly cluster: string;
  /** What it goes with: "Service default/web"; absent: nothing that a person could delete. */
  readonly object?: string;
}

/** Undefined: no controller that is known has made it. Pure. */
export function controllerMade(facts: OwnerFacts): ControllerMade | undefined {
  const maker = makerOf(facts);
  if (maker === undefined) return undefined;
  const names = [...new Set(clustersIn(facts.tags))].join(" and ");
  const { about = "" } = maker;
  return omitUndefined({
    text: makerText({ ...maker, by: names === "" ? maker.by : `${maker.by} of cluster ${names}` }),
    cluster: names === "" ? "its cluster" : `cluster ${names}`,
    object: isUserObject(about) ? about : undefined,
  });
}

/**
 * What people can do about it, a sentence for each cluster: whoever made it takes it away best, as long as it runs.
 * Undefined where nothing is known to be a controller's. Pure.
 */
export function controllerAdvice(known: readonly ControllerMade[]): string | undefined {
  const sentences = [...new Set(known.map(({ cluster }) => cluster))].map((cluster) => {
    const objects = known.flatMap((one) => (one.cluster === cluster ? (one.object ?? []) : []));
    const named = [...new Set(objects)].sort().join(", ");
    const itself = named === "" ? "" : `delete ${named} in ${cluster}, or `;
    return `${itself}destroy ${cluster} with --leftovers remove`;
  });
  return sentences.length === 0 ? undefined : sentences.join("; ");
}

type Values = ReadonlyMap<string, string>;

function balancerController(values: Values): Maker | undefined {
  if (!values.has(controllerTags.balancerCluster)) return undefined;
  const by = "aws-load-balancer-controller";
  const service = values.get("service.k8s.aws/stack");
  const ingress = values.get("ingress.k8s.aws/stack");
  if (service !== undefined) return { by, about: `Service ${service}` };
  // Without a namespace it is the name of a group of several.
  if (ingress !== undefined) {
    return { by, about: `Ingress ${ingress.includes("/") ? ingress : `group ${ingress}`}` };
  }
  const isShared = values.get("elbv2.k8s.aws/resource") === "backend-sg";
  return isShared ? { by, about: "all its load balancers" } : { by };
}

function cloudController(values: Values, group: OwnerFacts["group"]): Maker | undefined {
  const by = "cloud-controller-manager";
  const service = values.get("kubernetes.io/service-name");
  if (service !== undefined) return { by, about: `Service ${service}` };
  if (group?.name.startsWith("k8s-elb-") !== true) return undefined;
  const [, named] = /\(([^()\s/]+\/[^()\s]+)\)$/.exec(group.description) ?? [];
  return named === undefined ? { by } : { by, about: `Service ${named}` };
}

function volumeController(values: Values): Maker | undefined {
  const claim = values.get("kubernetes.io/created-for/pvc/name");
  const isDriver = values.has("ebs.csi.aws.com/cluster") || values.has("CSIVolumeName");
  if (claim === undefined && !isDriver) return undefined;
  const by = isDriver ? "aws-ebs-csi-driver" : "kube-controller-manager";
  const namespace = values.get("kubernetes.io/created-for/pvc/namespace");
  const volume = values.get("CSIVolumeName") ?? values.get("kubernetes.io/created-for/pv/name");
  if (claim !== undefined && namespace !== undefined) {
    return { by, about: `PersistentVolumeClaim ${namespace}/${claim}` };
  }
  return volume === undefined ? { by } : { by, about: `PersistentVolume ${volume}` };
}

function networkPlugin(values: Values): Maker | undefined {
  const instance = values.get(controllerTags.interfaceInstance);
  return instance === undefined
    ? undefined
    : { by: "amazon-vpc-cni", about: `pods of instance ${instance}` };
}

const clusterPrefix = controllerTags.cluster("");

/** Names of the clusters that it says it is of. */
function clustersIn(tags: readonly Tag[]): string[] {
  const named: readonly (string | undefined)[] = [
    controllerTags.balancerCluster,
    controllerTags.interfaceCluster,
    "ebs.csi.aws.com/cluster-name",
    "KubernetesCluster",
  ];
  return tags.flatMap(({ Key = "", Value = "" }) => {
    if (named.includes(Key)) return [Value];
    return Key.startsWith(clusterPrefix) && Value === "owned"
      ? [Key.slice(clusterPrefix.length)]
      : [];
  });
}

/**
 * Whether tags say that a controller of this cluster has made it, and nothing else: what names another cluster too is
 * nobody's to remove, and what bears marks is ours and no leftover. Pure.
 */
export function isOfCluster(tags: readonly Tag[], name: string): boolean {
  const clusters = clustersIn(tags);
  return !isMarked(tags) && clusters.length > 0 && clusters.every((one) => one === name);
}
