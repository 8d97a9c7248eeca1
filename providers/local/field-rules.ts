import type { JsonObject } from "../../src/api/json.js";
import type { FieldRule, FieldRules } from "../../src/provider/fields.js";
import { userDataRules } from "../../src/provider/host-spec.js";
import type { LocalKind } from "./cloud.js";
import { runtimeName } from "./file/node.js";
import { hasPower, nodesOf } from "./file/resource.js";

const inPlace = { kind: "inPlace" } as const;

const disruptive = (what: string) => ({ kind: "inPlace", disruptive: what }) as const;

const replace = (reason: string) => ({ kind: "replace", reason }) as const;

/**
 * What a live Cluster cannot change, so that records have it or, when an earlier release made them, do not:
 * then it is added, or taken away by a rollback to them.
 */
const onceKnown =
  (reason: string): FieldRule =>
  (from, to) =>
    from === undefined || to === undefined ? inPlace : replace(reason);

export const rules: Readonly<Record<string, FieldRules>> = {
  LocalNetwork: {
    cidr: replace("a network keeps its address range"),
    services: onceKnown("a network keeps its address ranges of Services"),
    pods: onceKnown("a network keeps its address ranges of Pods"),
    serviceDomain: onceKnown("a network keeps its domain of Services"),
    machineQuota: inPlace,
    bootMs: inPlace,
    joinMs: inPlace,
    faults: inPlace,
  },
  LocalLoadBalancer: {
    networkId: replace("a load balancer stays in its network"),
    port: inPlace,
    nodes: replace("a load balancer stays what it is"),
  },
  LocalHost: {
    networkId: replace("a host stays in its network"),
    loadBalancerId: inPlace,
    role: replace("a host keeps its role"),
    nodes: replace("a host stays what it is"),
    size: replace("this provider cannot resize"),
    resizable: inPlace,
    // What it may be instead, and what it is not.
    otherSizes: inPlace,
    spot: replace("a host that may be taken away stays one"),
    image: replace("a host keeps the image it booted from"),
    zone: replace("a host stays in its zone"),
    diskGib: (from, to) => (Number(to) > Number(from) ? inPlace : replace("a disk only grows")),
    tags: inPlace,
    kubelet: disruptive("the kubelet restarts"),
    controlPlane: disruptive("the programs of the control plane restart"),
    containerRuntime: (from, to) =>
      runtimeName(from) === runtimeName(to)
        ? disruptive("the container runtime restarts")
        : replace("what runs in one container runtime does not go on in another"),
    configSource: inPlace,
    schedulable: inPlace,
    nodeLabels: inPlace,
    nodeAnnotations: inPlace,
    taints: inPlace,
    bootMs: inPlace,
    joinMs: inPlace,
    faults: inPlace,
    // The volume itself says what becomes of it.
    dataVolume: inPlace,
    ...userDataRules,
  },
  LocalTarget: {
    loadBalancerId: replace("a target stays with its load balancer"),
    hostId: replace("a target stands for one host"),
    port: inPlace,
  },
  LocalVolume: {
    hostId: replace("a volume stays with its host"),
    gib: (from, to) => (Number(to) > Number(from) ? inPlace : replace("a volume only grows")),
  },
} satisfies Record<LocalKind, FieldRules>;

const ofItsImage = replace("a host of namespaces keeps the software that it began with");

/** What a change of each field of a resource means, from what is recorded of it to `spec`. Pure. */
export function rulesOf(kind: string, spec: JsonObject, recorded: JsonObject = spec): FieldRules {
  const fields = rules[kind] ?? {};
  if (kind !== "LocalHost") return fields;
  // Either way, so that a change of both fields can be rolled back in place.
  if (isResizable(spec) || isResizable(recorded))
    return { ...fields, size: disruptive("the host is stopped and started") };
  if (nodesOf(spec) !== "kubeadm") return fields;
  return { ...fields, kubelet: ofItsImage, controlPlane: ofItsImage };
}

/** Whether a host of this spec gets another size by a stop, a change and a start. Pure. */
export function isResizable(spec: JsonObject): boolean {
  return spec["resizable"] === true && !hasPower(spec);
}
