import { omitUndefined } from "../../src/api/omit-undefined.js";
import { isJsonObject, type Json, type JsonObject } from "../../src/api/json.js";
import type { ClusterObject } from "../../src/api/types.js";
import { type GraphNode, keyOf, type Ref, refTo } from "../../src/graph/graph.js";
import { immutableFields, verdictByField } from "../../src/provider/fields.js";
import { hostSpecOf, present } from "../../src/provider/host-spec.js";
import type {
  CallContext,
  CloudIdentity,
  CompiledParts,
  InfrastructureProvider,
  InventoryScope,
  LookupQuestion,
  MachineToCompile,
  Observed,
  PlannedStep,
  PreflightFinding,
  ResourceHandler,
  Satellite,
  UserDataTerms,
} from "../../src/provider/port.js";
import type { LocalCloud, LocalKind } from "./cloud.js";
import { isMarked, LocalHandler, observe } from "./handlers.js";
import { HostPower } from "./power/host-power.js";
import { hasPower, nodesOf } from "./file/resource.js";
import {
  localApiVersion,
  localClusterSpec,
  localFailureDomains,
  localMachineSpec,
  localOffers,
  localProviderName,
  localZones,
} from "./specs.js";
import { rules, rulesOf } from "./field-rules.js";
import { runtimeOfImages } from "./file/node.js";
import { runtimeOfMachine } from "./kubeadm/containerd-version.js";
import { machineFindings } from "./kubeadm/machine-findings.js";
import { programFindings } from "./nodes/programs.js";
import { quotaFindings } from "./preflight.js";

/** The provider on the simulated cloud: no account, no daemon, the embedded default. */
export class LocalProvider implements InfrastructureProvider {
  readonly name = localProviderName;
  readonly apiVersion = localApiVersion;
  readonly clusterSpec = {
    kind: "LocalClusterProviderSpec",
    schema: localClusterSpec,
    networks: ["networkCidr"],
  };
  readonly machineSpec = {
    kind: "LocalMachineProviderSpec",
    schema: localMachineSpec,
    spread: { zone: localZones },
    offers: localOffers,
  };
  readonly failureDomains = localFailureDomains;
  readonly hostKind = "LocalHost";
  readonly keyInputs = {
    LocalNetwork: ["cidr"],
    LocalHost: ["size", "zone", "image", "taints"],
  };
  // A call is one SQLite transaction of the caller's own process: it dies with it.
  readonly timing = { listingLagMs: 300, longestCallMs: 0 };
  // What hosts get that something runs on: simulated ones boot without.
  readonly userData: UserDataTerms = {
    simulated: (clusterSpec) => !hasPower(clusterSpec),
    format: "cloud-config",
    // Packages have to come from somewhere, and nothing leads out of a network of namespaces.
    software: (_machine, clusterSpec) => (nodesOf(clusterSpec) === "kubeadm" ? "image" : "apt"),
    containerRuntime: (clusterSpec) =>
      (nodesOf(clusterSpec) === "kubeadm" ? runtimeOfMachine() : undefined) ?? runtimeOfImages,
    commands: {
      name: "hostname",
      address: "hostname -I | cut -d' ' -f1",
      providerId:
        'echo "local:///$(cloud-init query availability_zone)/$(cloud-init query instance_id)"',
    },
    console: async (_ctx, { id }) => this.power.console(id),
  };
  readonly handlers: ReadonlyMap<string, ResourceHandler>;

  private readonly power: HostPower;

  constructor(readonly cloud: LocalCloud) {
    this.power = new HostPower(cloud.path);
    this.handlers = new Map(
      (Object.keys(rules) as LocalKind[]).map((kind) => [
        kind,
        new LocalHandler(cloud, kind, this.power),
      ]),
    );
  }

  /** A network, unless there is one, a load balancer for the API servers, and a host for each machine. Pure. */
  compile(
    { spec: { clusterNetwork } }: ClusterObject,
    providerSpec: JsonObject,
    machines: readonly MachineToCompile[],
  ): CompiledParts {
    const {
      networkCidr: cidr,
      machineQuota,
      bootMs,
      joinMs,
      faults,
      network: existing,
    } = providerSpec;
    const nodes = hasPower(providerSpec) ? nodesOf(providerSpec) : undefined;
    const { services, pods, serviceDomain } = clusterNetwork;
    const settings = {
      cidr,
      services: services.cidrBlocks,
      pods: pods.cidrBlocks,
      serviceDomain,
      machineQuota,
      bootMs,
      joinMs,
      faults,
    };
    const network =
      typeof existing === "string"
        ? externalNetwork(existing)
        : resource("LocalNetwork", "network", settings);
    const networkId = idOf(network);
    const api = resource("LocalLoadBalancer", "api", { networkId, port: 6443, nodes });
    const register = providerSpec["registersHosts"] === true ? api : undefined;
    const hosts = machines.map((machine) => [
      machine.name,
      { ...hostSpec(machine, networkId, idOf(api)), ...present({ nodes }) },
    ]) satisfies [string, JsonObject][];
    return {
      infrastructure: [network, api],
      hosts: new Map(hosts),
      satellites: new Map(
        machines.map((machine) => [machine.name, satellitesOf(machine, this.hostKind, register)]),
      ),
    };
  }

  verdict(kind: string, recorded: JsonObject, wanted: JsonObject) {
    return verdictByField(rulesOf(kind, wanted, recorded), recorded, wanted);
  }

  /** The same in each of its other sizes. */
  alternatives(host: JsonObject): JsonObject[] {
    const { otherSizes = [], size } = host;
    const others = Array.isArray(otherSizes) ? otherSizes : [];
    return others.filter((one) => one !== size).map((one: Json) => ({ ...host, size: one }));
  }

  generationInputs(kind: string, spec: JsonObject): JsonObject {
    return immutableFields(rulesOf(kind, spec), spec);
  }

  apiEndpoints(infrastructure: readonly Observed[]): { host: string; port: number }[] {
    return infrastructure.flatMap(({ who, spec, status }) => {
      const { address } = status;
      if (who.kind !== "LocalLoadBalancer" || typeof address !== "string") return [];
      return [
        {
          host: address,
          port: Number(nodesOf(spec) === "processes" ? status["port"] : spec["port"]),
        },
      ];
    });
  }

  /**
   * What the machine quota leaves, whether the programs are there that hosts run, and whether this machine can make those of
   * namespaces. No call to the cloud: it meets no fault, and the ledger does not tell of it.
   */
  async preflight(
    _ctx: CallContext,
    steps: readonly PlannedStep[],
  ): Promise<readonly PreflightFinding[]> {
    const hosts = steps.filter(({ kind }) => kind === "LocalHost");
    const quota = hosts.some(({ does }) => does === "create")
      ? quotaFindings(steps, await this.cloud.everything())
      : [];
    return [...quota, ...programFindings(hosts), ...(await machineFindings(steps, lackOfHosts))];
  }

  readonly lookupInputs = { machine: ["imageFamily"] };

  /** The newest image of a family. No call to the cloud: it meets no fault, and the ledger does not tell of it. */
  async resolve(_ctx: CallContext, question: LookupQuestion): Promise<JsonObject> {
    const family = question.kind === "machine" ? question.providerSpec["imageFamily"] : undefined;
    if (typeof family !== "string") return {};
    return { image: await this.cloud.newestImage(family) };
  }

  /**
   * The id of the cloud's file; nothing of a cloud that is not made yet. No call to the cloud: it meets no fault, and the
   * ledger does not tell of it.
   */
  async identity(): Promise<CloudIdentity> {
    const id = await this.cloud.id();
    return id === undefined ? {} : { cloud: id };
  }

  async inventory(ctx: CallContext, scope: InventoryScope): Promise<readonly Observed[]> {
    const listed = await this.cloud.list(scope, ctx.signal);
    return (await this.power.follow(listed)).map(observe);
  }

  async owned(ctx: CallContext): Promise<readonly Observed[]> {
    const listed = await this.cloud.list({}, ctx.signal);
    return listed.filter(isMarked).map(observe);
  }
}

/** Its place behind the load balancer, and its volume, as far as they are asked for. */
function satellitesOf(
  { name, controlPlane, providerSpec: { dataVolume } }: MachineToCompile,
  hostKind: string,
  loadBalancer: GraphNode | undefined,
): Satellite[] {
  const hostId = refTo(hostKind, name);
  const satellites: Satellite[] = [];
  if (controlPlane && loadBalancer !== undefined) {
    const spec = { hostId, loadBalancerId: idOf(loadBalancer), port: 6443 };
    satellites.push({ kind: "LocalTarget", name: "api", spec });
  }
  if (isJsonObject(dataVolume)) {
    const { gib = 1, whenHostGoes } = dataVolume;
    const policy = whenHostGoes === "keep" ? "keep" : "delete";
    const volume = { kind: "LocalVolume", name: "data", spec: { hostId, gib } };
    satellites.push({ ...volume, whenHostGoes: policy });
  }
  return satellites;
}

function hostSpec(machine: MachineToCompile, networkId: Ref, loadBalancerId: Ref): JsonObject {
  const { imageFamily, ...spec } = hostSpecOf(machine, localMachineSpec);
  return omitUndefined({
    networkId,
    loadBalancerId: machine.controlPlane ? loadBalancerId : undefined,
    ...spec,
    image: imageFamily === undefined ? spec["image"] : machine.lookedUp["image"],
  });
}

function externalNetwork(id: string): GraphNode {
  return { kind: "LocalNetwork", name: "network", type: "external", spec: { id }, dependsOn: [] };
}

function resource(
  kind: LocalKind,
  name: string,
  spec: Readonly<Record<string, Json | undefined>>,
): GraphNode {
  return { kind, name, type: "resource", spec: present(spec), dependsOn: [] };
}

function idOf(node: GraphNode): Ref {
  return { $ref: keyOf(node), output: "id" };
}

/** Loaded by those alone who make such hosts. */
async function lackOfHosts(): Promise<string | undefined> {
  const parts = await import("#host-parts");
  return parts.lackOfHosts(process.env);
}
