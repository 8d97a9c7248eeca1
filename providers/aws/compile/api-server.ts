import { nodeKey, refTo } from "../../../src/graph/graph.js";
import type { SharedPart } from "../../../src/provider/definition.js";
import { apiServerPort, type AwsCluster } from "../specs/cluster-spec.js";
import { groupId } from "./groups.js";
import { networkParts, resource, subnetsOf } from "./network.js";

/** Name of the load balancer, its target group and its listener in the graph. */
export const apiName = "api";

/** What the API servers are reached through: a network load balancer in each zone of the cluster. Pure. */
export function apiServerParts(cluster: AwsCluster): SharedPart[] {
  const { apiServer, tags } = cluster;
  const scheme = apiServer?.scheme ?? "internet-facing";
  const balancer = resource("AwsLoadBalancer", apiName, {
    vpcId: refTo("AwsVpc", "vpc"),
    scheme,
    subnetIds: balancerSubnets(cluster, scheme),
    groupIds: [groupId("apiServerLb")],
    crossZone: true,
    tags,
  });
  // It is refused before its VPC has a gateway, and hosts come after it: they need a way out at their first start.
  const ways = networkParts(cluster).filter(
    (part) => !("external" in part) && ["AwsInternetGateway", "AwsRouteTable"].includes(part.kind),
  );
  const dependsOn = ways.map(({ kind, name }) => nodeKey(kind, name));
  const targets = resource("AwsTargetGroup", apiName, {
    vpcId: refTo("AwsVpc", "vpc"),
    port: apiServerPort,
    // A member that reaches itself through the load balancer gets no answer while that keeps addresses of clients.
    preserveClientIp: false,
    deregistrationDelaySeconds: 30,
    tags,
  });
  const listener = resource("AwsListener", apiName, {
    loadBalancerArn: refTo("AwsLoadBalancer", apiName),
    targetGroupArn: refTo("AwsTargetGroup", apiName),
    port: apiServerPort,
    tags,
  });
  return [{ ...balancer, dependsOn }, targets, listener];
}

/** One for each zone, as many as a load balancer takes; by zone, as it is shown. */
function balancerSubnets(cluster: AwsCluster, scheme: string) {
  const wanted = subnetsOf(cluster).filter((one) => one.public === (scheme !== "internal"));
  const usable = wanted.length === 0 ? subnetsOf(cluster) : wanted;
  const zones = [...new Set(usable.map(({ zone }) => zone))].sort();
  return zones.flatMap((zone) => {
    const one = usable.find((subnet) => subnet.zone === zone);
    return one === undefined ? [] : [refTo("AwsSubnet", one.name)];
  });
}
