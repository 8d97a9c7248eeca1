import { digestOf } from "../../src/api/digest.js";
import type { JsonObject } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { knownKubernetes } from "../../src/api/versions.js";
import { defineProvider } from "../../src/provider/define.js";
import type { KindDefinition, MachineCalls } from "../../src/provider/definition.js";
import type { OlderVersionDefinition } from "../../src/provider/older-versions.js";
import type { InfrastructureProvider, Observed, UserDataTerms } from "../../src/provider/port.js";
import { CloudAccount, type Environment } from "./calls/account.js";
import { asker, type AskerTerms } from "./calls/ask.js";
import { type AwsClients, awsClients } from "./calls/clients.js";
import type { AwsAccess } from "./calls/credentials.js";
import type { AskAws } from "./calls/elb-kind.js";
import { consoleOf } from "./calls/console.js";
import { instanceCalls, leaving } from "./calls/instance.js";
import { internetGatewayCalls } from "./calls/internet-gateway.js";
import { leftoverCalls } from "./calls/leftovers.js";
import { listenerCalls } from "./calls/listener.js";
import { loadBalancerCalls } from "./calls/load-balancer.js";
import { elasticIpCalls, natGatewayCalls } from "./calls/nat.js";
import { type PacedService, RequestPaces } from "./calls/request-pace.js";
import { routeTableCalls } from "./calls/route-table.js";
import { mostSecretBytes, secretCalls } from "./calls/secrets.js";
import { securityGroupCalls, securityGroupRuleCalls } from "./calls/security-group.js";
import { subnetCalls } from "./calls/subnet.js";
import { targetCalls } from "./calls/target.js";
import { targetGroupCalls } from "./calls/target-group.js";
import { volumeCalls } from "./calls/volume.js";
import { vpcCalls } from "./calls/vpc.js";
import { apiServerParts } from "./compile/api-server.js";
import { egressRanges, withFound, zonesWith } from "./compile/found.js";
import { groupParts } from "./compile/groups.js";
import { hostInputs, hostSatellites, softwareOf } from "./compile/host.js";
import { networkParts, zonesOf } from "./compile/network.js";
import { secretTerms } from "./compile/secrets.js";
import { alternativesOf } from "./kinds/choices.js";
import { type AwsKind, awsKinds } from "./kinds/kinds.js";
import { lookUp, lookupInputs } from "./lookups.js";
import { findings } from "./preflight.js";
import { awsRules } from "./kinds/rules.js";
import {
  apiServerPort,
  awsApiVersion,
  type AwsCluster,
  awsClusterSpec,
} from "./specs/cluster-spec.js";
import {
  clusterFromCapa,
  idleInCapaCluster,
  idleInCapaMachine,
  machineFromCapa,
} from "./specs/from-v1alpha1.js";
import { awsIdentities } from "./specs/identities.js";
import { awsMachineSpec } from "./specs/machine-spec.js";
import {
  capaApiVersion,
  capaClusterSpec,
  capaMachineSpec,
  formerCapaApiVersion,
} from "./specs/v1alpha1.js";

const hostKind = "AwsInstance";

const runtime = { name: "containerd", version: "2.1.5" } as const;

/** Inputs that plans show: what costs, and where it is. */
const keyInputs: Partial<Readonly<Record<AwsKind, readonly string[]>>> = {
  AwsVpc: ["cidr"],
  AwsSubnet: ["zone", "cidr"],
  AwsLoadBalancer: ["scheme"],
  AwsInstance: ["instanceType", "zone", "imageId", "spot", "publicIp"],
  AwsVolume: ["gib", "type"],
};

/** Objects of cluster-api-provider-aws 0.3. */
const olderVersions: readonly OlderVersionDefinition[] = [
  {
    apiVersion: capaApiVersion,
    formerly: [formerCapaApiVersion],
    clusterSpec: {
      schema: capaClusterSpec,
      convert: clusterFromCapa,
      idle: idleInCapaCluster,
    },
    machineSpec: {
      schema: capaMachineSpec,
      convert: machineFromCapa,
      idle: idleInCapaMachine,
    },
  },
];

const machineSpec = {
  kind: "AWSMachineProviderSpec",
  schema: awsMachineSpec,
  // The profiles of stacks/aws-foundation.
  initial: {
    controlPlane: { instanceProfile: "capstan-control-plane" },
    worker: { instanceProfile: "capstan-worker" },
  },
  offers: {
    kubernetes: knownKubernetes,
    containerRuntimes: [
      { name: runtime.name, versions: "1.6 - 1.7 || 2", recommended: runtime.version },
    ],
  },
};

/**
 * Clusters on EC2 and Elastic Load Balancing, in the account and region that the credentials lead to. `open` makes clients for
 * those that Clusters name; `paces` are shared with them, since several credentials may lead to one account.
 */
export function awsProvider(
  clients: AwsClients,
  env: Environment = {},
  open: (access: AwsAccess) => AwsClients = awsClients,
  paces = new RequestPaces(),
): InfrastructureProvider {
  const account = new CloudAccount(clients, env);
  const { quotas, secrets, ...aws } = askersOf(clients, account, paces);
  const { ec2 } = aws;
  const calls = callsOf(aws);
  const bound = new BoundProviders((access) => awsProvider(open(access), env, open, paces));
  return defineProvider({
    name: "aws",
    apiVersion: awsApiVersion,
    hostKind,
    clusterSpec: {
      kind: "AWSClusterProviderSpec",
      schema: awsClusterSpec,
      fromEnvironment: regionIn(env),
    },
    machineSpec,
    olderVersions,
    timing: { listingLagMs: 5_000, longestCallMs: 60_000, usableWithinMs: 180_000 },
    failureDomains: {
      field: "zone",
      of: (spec, lookedUp) => {
        const cluster = asCluster(spec);
        return zonesOf(omitUndefined({ ...cluster, zones: zonesWith(cluster, lookedUp) }));
      },
    },
    kinds: sharedKinds(calls),
    keyInputs: keyInputs[hostKind] ?? [],
    rules: awsRules[hostKind],
    alternatives: alternativesOf,
    machine: calls[hostKind],
    infrastructure(spec, _networks, lookedUp) {
      const cluster = withFound(asCluster(spec), lookedUp);
      const groups = groupParts(cluster, egressRanges(lookedUp));
      return [...networkParts(cluster), ...groups, ...apiServerParts(cluster)];
    },
    hostSpec: (machine, spec, _networks, lookedUp) =>
      hostInputs(machine, withFound(asCluster(spec), lookedUp)),
    satellites: (machine, host, spec) => hostSatellites(machine, host, asCluster(spec)),
    apiEndpoint: (spec, shared) => endpointOf(asCluster(spec), shared),
    userData: {
      ...terms,
      secrets: { ...secretTerms, ...secretCalls(secrets), limitBytes: mostSecretBytes },
      ...leaving(ec2),
      console: (ctx, host) => consoleOf(ec2, ctx, host.id),
    },
    identity: (ctx) => account.identity(ctx),
    preflight: (ctx, steps, spec, planned) =>
      findings({ ec2, quotas, secrets }, ctx, { steps, planned, spec }),
    ...leftoverCalls(aws),
    lookupInputs,
    identities: awsIdentities,
    forCluster: (spec) => bound.of(asCluster(spec)),
    async resolve(ctx, question) {
      const { region = "" } = await account.identity(ctx);
      return lookUp(ec2, ctx, question, region);
    },
    close: () => {
      clients.close();
      bound.close();
    },
  });
}

/** What asks the services of AWS: each request waits for its turn, and renews credentials that have expired. */
function askersOf(clients: AwsClients, account: CloudAccount, paces: RequestPaces) {
  const termsOf = (service: PacedService): AskerTerms => ({
    renew: (ctx) => account.renew(ctx),
    pace: async (ctx, call) => paces.of(service, call, await account.identity(ctx)),
  });
  return {
    ec2: asker("ec2", () => clients.ec2(), termsOf("ec2")),
    elb: asker("elasticloadbalancing", () => clients.elb(), termsOf("elasticloadbalancing")),
    classicElb: asker(
      "elasticloadbalancing",
      () => clients.classicElb(),
      termsOf("elasticloadbalancing"),
    ),
    quotas: asker("servicequotas", () => clients.quotas(), termsOf("servicequotas")),
    secrets: asker("secretsmanager", () => clients.secrets(), termsOf("secretsmanager")),
  };
}

/** As the SDK and the command line of AWS read it. Source: AWS SDKs and tools reference guide, "AWS Region". */
function regionIn(env: Environment): Readonly<Record<string, string>> {
  const region = env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"] ?? "";
  return region === "" ? {} : { region };
}

/** One provider for each account and region that Clusters name credentials of: they share its clients. */
class BoundProviders {
  private readonly known = new Map<string, InfrastructureProvider>();

  constructor(private readonly make: (access: AwsAccess) => InfrastructureProvider) {}

  of({ credentials, region }: AwsCluster): InfrastructureProvider | undefined {
    if (credentials === undefined) return undefined;
    const access = { credentials, region };
    const key = digestOf(access);
    const one = this.known.get(key) ?? this.make(access);
    this.known.set(key, one);
    return one;
  }

  close(): void {
    for (const one of this.known.values()) one.close?.();
  }
}

function callsOf(aws: AskAws): Readonly<Record<AwsKind, MachineCalls>> {
  const { ec2, elb } = aws;
  return {
    AwsVpc: vpcCalls(aws),
    AwsInternetGateway: internetGatewayCalls(aws),
    AwsSubnet: subnetCalls(aws),
    AwsElasticIp: elasticIpCalls(ec2),
    AwsNatGateway: natGatewayCalls(ec2),
    AwsRouteTable: routeTableCalls(ec2),
    AwsSecurityGroup: securityGroupCalls(aws),
    AwsSecurityGroupRule: securityGroupRuleCalls(ec2),
    AwsLoadBalancer: loadBalancerCalls(elb),
    AwsTargetGroup: targetGroupCalls(elb),
    AwsListener: listenerCalls(elb),
    AwsInstance: instanceCalls(ec2),
    AwsTarget: targetCalls(elb),
    AwsVolume: volumeCalls(ec2),
  };
}

/** Validation has seen that it is one, and filled in its defaults. */
function asCluster(spec: JsonObject): AwsCluster {
  return spec as unknown as AwsCluster;
}

function sharedKinds(
  calls: Readonly<Record<AwsKind, MachineCalls>>,
): Readonly<Record<string, KindDefinition>> {
  const shared = awsKinds.filter((kind) => kind !== hostKind);
  const entries = shared.map((kind) => {
    const definition: KindDefinition = omitUndefined({
      calls: calls[kind],
      rules: awsRules[kind],
      keyInputs: keyInputs[kind],
    });
    return [kind, definition] as const;
  });
  return Object.fromEntries(entries);
}

function endpointOf({ apiServer }: AwsCluster, shared: readonly Observed[]) {
  if (apiServer?.endpoint !== undefined) return apiServer.endpoint;
  const balancer = shared.find(({ who, status }) => {
    return who.kind === "AwsLoadBalancer" && status["dnsName"] !== undefined;
  });
  if (balancer === undefined) return undefined;
  return { host: String(balancer.status["dnsName"]), port: apiServerPort };
}

/** Source: EC2 user guide, "Run commands when you launch an EC2 instance with user data input". */
const terms: UserDataTerms = {
  format: "cloud-config",
  limit: { bytes: 16_384, counts: "packed" },
  software: ({ providerSpec }) => softwareOf(providerSpec),
  containerRuntime: runtime,
  commands: {
    name: "hostname -f",
    address: "cloud-init query ds.meta_data.local_ipv4",
    providerId:
      'echo "aws:///$(cloud-init query availability_zone)/$(cloud-init query instance_id)"',
  },
};
