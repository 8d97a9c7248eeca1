import type { Json, JsonObject } from "../../../src/api/json.js";
import { type Ref, refTo } from "../../../src/graph/graph.js";
import { hostSpecOf, present } from "../../../src/provider/host-spec.js";
import type { MachineToCompile, Satellite } from "../../../src/provider/port.js";
import { apiServerPort, type AwsCluster } from "../specs/cluster-spec.js";
import { type AwsMachine, awsMachineSpec } from "../specs/machine-spec.js";
import { apiName } from "./api-server.js";
import { groupsOfHost, hostRule, needsHostRules } from "./groups.js";
import { subnetsOf, zonesOf } from "./network.js";

/** A machine's lookups: what `resolve` answers for it. */
interface MachineLookups {
  readonly imageId?: string;
  /** Of a subnet that is named, with the zone that it is in. */
  readonly subnetId?: string;
  readonly zone?: string;
  /** Of the groups that are named by filters, in their order. */
  readonly groupIds?: readonly string[];
}

/** Inputs of a machine's instance. Pure. */
export function hostInputs(machine: MachineToCompile, cluster: AwsCluster): JsonObject {
  const { image, subnet, zone, ...wanted }: AwsMachine = asMachine(machine);
  const lookedUp: MachineLookups = machine.lookedUp;
  const node = hostSpecOf({ ...machine, providerSpec: {} }, awsMachineSpec);
  const { kubeadm, bootstrap } = machine.providerSpec;
  const own = subnet === undefined ? undefined : (subnet.id ?? lookedUp.subnetId ?? "");
  const { role, ...others } = node;
  return present({
    role,
    imageId: image?.id ?? lookedUp.imageId ?? "",
    software: softwareOf(machine.providerSpec),
    instanceType: wanted.instanceType,
    zone: own === undefined ? (zone ?? zonesOf(cluster)[0]) : lookedUp.zone,
    subnetId: own ?? subnetIn(cluster, zone, wanted.publicIp === true),
    groupIds: [...groupsOfHost(machine.controlPlane), ...furtherGroups(wanted, lookedUp)],
    instanceProfile: wanted.instanceProfile,
    keyName: wanted.keyName,
    publicIp: wanted.publicIp,
    // EC2 checks unless it is told not to.
    sourceDestCheck: wanted.sourceDestCheck === false ? false : undefined,
    rootVolume: rootVolumeOf(wanted),
    metadata: {
      httpTokens: wanted.metadata?.httpTokens ?? "required",
      hopLimit: wanted.metadata?.hopLimit ?? 1,
    },
    spot: wanted.spot === undefined ? undefined : present({ ...wanted.spot }),
    placementGroup: wanted.placement?.group,
    tenancy: wanted.placement?.tenancy ?? "default",
    tags: allTags(cluster, wanted),
    // Members begin and join there, so it has to have its name before.
    loadBalancer: machine.controlPlane ? refTo("AwsLoadBalancer", apiName, "dnsName") : undefined,
    alternatives: alternativesFor(machine, cluster),
    ...others,
    kubeadm,
    bootstrap,
  });
}

/** What a host may be instead: of the type and in the zone that an alternative names, else in its own. */
function alternativesFor(machine: MachineToCompile, cluster: AwsCluster): JsonObject[] | undefined {
  const { alternatives = [], subnet, ...wanted } = asMachine(machine);
  const { subnetId, zone }: MachineLookups = machine.lookedUp;
  const own = subnet === undefined ? undefined : (subnet.id ?? subnetId ?? "");
  const all = alternatives.map((one) => {
    const there = one.zone ?? wanted.zone;
    return present({
      instanceType: one.instanceType ?? wanted.instanceType,
      zone: own === undefined ? (there ?? zonesOf(cluster)[0]) : zone,
      subnetId: own ?? subnetIn(cluster, there, wanted.publicIp === true),
    });
  });
  return all.length === 0 ? undefined : all;
}

/** Of a resource of one machine: its own count. */
function allTags(cluster: AwsCluster, { tags }: Pick<AwsMachine, "tags">): JsonObject | undefined {
  const all = { ...cluster.tags, ...tags };
  return Object.keys(all).length === 0 ? undefined : all;
}

/** Where a host has its software from: an image that somebody names is taken to hold it. Pure. */
export function softwareOf({ software, image }: JsonObject): "apt" | "image" {
  if (software === "apt" || software === "image") return software;
  return image === undefined ? "apt" : "image";
}

/** Validation has seen that it is one. */
function asMachine({ providerSpec }: MachineToCompile): AwsMachine {
  return providerSpec as unknown as AwsMachine;
}

/** EC2 makes a volume of gp3 and encrypts it, where nobody says otherwise. */
function rootVolumeOf({ rootVolume }: AwsMachine): JsonObject {
  const { gib = 20, type = "gp3", encrypted = true, ...others } = rootVolume ?? {};
  return present({ gib, type, encrypted, ...others });
}

function subnetIn(cluster: AwsCluster, zone: string | undefined, isPublic: boolean): Json {
  const all = subnetsOf(cluster);
  const here = all.filter((one) => one.zone === (zone ?? zonesOf(cluster)[0]));
  const fitting = here.find((one) => one.public === isPublic) ?? here[0] ?? all[0];
  return refTo("AwsSubnet", fitting?.name ?? "private");
}

function furtherGroups({ securityGroups = [] }: AwsMachine, lookedUp: MachineLookups): string[] {
  const found = [...(lookedUp.groupIds ?? [])];
  return securityGroups.map(({ id }) => id ?? found.shift() ?? "");
}

/** What lives with a machine's instance: its volumes, a member's place behind the load balancer, and a public host's way to the API. Pure. */
export function hostSatellites(
  machine: MachineToCompile,
  host: (output?: string) => Ref,
  cluster: AwsCluster,
): Satellite[] {
  const { dataVolumes = [], ...wanted } = asMachine(machine);
  const volumes = dataVolumes.map(({ name, whenHostGoes, ...volume }): Satellite => {
    const { type = "gp3", encrypted = true, iops, throughput, ...others } = volume;
    const place = { instanceId: host(), zone: host("zone") };
    const tags = allTags(cluster, wanted);
    const spec = present({
      ...place,
      type,
      encrypted,
      ...others,
      iops: iops ?? (type === "gp3" ? 3_000 : undefined),
      throughput: throughput ?? (type === "gp3" ? 125 : undefined),
      tags,
    });
    return { kind: "AwsVolume", name, spec, whenHostGoes: whenHostGoes ?? "delete" };
  });
  const rules = wanted.publicIp === true && needsHostRules(cluster) ? [hostRule(host)] : [];
  if (!machine.controlPlane) return [...rules, ...volumes];
  const targetGroupArn = refTo("AwsTargetGroup", apiName);
  const spec = { targetGroupArn, instanceId: host(), port: apiServerPort };
  return [{ kind: "AwsTarget", name: apiName, spec }, ...rules, ...volumes];
}
