// What a region of an account holds. Times are milliseconds since the epoch, in the cloud's own time.

import type { InstanceFate } from "../../core/faults.js";

/** Keys and values, in the order in which they were set. */
export type Tags = Readonly<Record<string, string>>;

interface Tagged {
  readonly id: string;
  readonly tags: Tags;
}

export interface VpcRow extends Tagged {
  readonly cidr: string;
  readonly isDefault: boolean;
  readonly state: "pending" | "available";
  readonly tenancy: string;
  readonly dnsSupport: boolean;
  readonly dnsHostnames: boolean;
  readonly cidrAssociationId: string;
}

export interface SubnetRow extends Tagged {
  readonly vpcId: string;
  readonly cidr: string;
  readonly zone: string;
  readonly isDefault: boolean;
  readonly mapPublicIp: boolean;
}

export interface InternetGatewayRow extends Tagged {
  readonly vpcId?: string;
}

export interface AddressRow extends Tagged {
  readonly publicIp: string;
  readonly associationId?: string;
  /** Network interface that it is mapped to. */
  readonly interfaceId?: string;
}

export interface NatGatewayRow extends Tagged {
  readonly vpcId: string;
  readonly subnetId: string;
  readonly state: "pending" | "available" | "deleting" | "deleted" | "failed";
  readonly isPublic: boolean;
  /** One that has failed never had one. */
  readonly interfaceId?: string;
  readonly privateIp?: string;
  readonly allocationId?: string;
  readonly publicIp?: string;
  readonly createdAtMs: number;
  readonly deletedAtMs?: number;
  readonly failure?: { readonly code: string; readonly message: string };
  readonly clientToken?: string;
}

/** Where a route leads to. */
export interface RouteTarget {
  readonly kind: "local" | "gateway" | "natGateway" | "instance" | "networkInterface";
  readonly id: string;
}

export interface RouteRow {
  readonly destination: string;
  readonly target: RouteTarget;
}

export interface RouteTableRow extends Tagged {
  readonly vpcId: string;
  readonly routes: readonly RouteRow[];
  /** Without a subnet: the VPC's main one. */
  readonly associations: readonly { readonly id: string; readonly subnetId?: string }[];
  readonly clientToken?: string;
}

/** Who is let in or out by a rule. */
export interface RulePeer {
  readonly kind: "cidr" | "cidr6" | "group" | "prefixList";
  readonly value: string;
}

export interface GroupRow extends Tagged {
  readonly vpcId: string;
  readonly name: string;
  readonly description: string;
}

export interface RuleRow extends Tagged {
  readonly groupId: string;
  readonly isEgress: boolean;
  /** Name or number; "-1" is all. */
  readonly protocol: string;
  readonly fromPort: number;
  readonly toPort: number;
  readonly peer: RulePeer;
  readonly description?: string;
}

export interface InterfaceRow extends Tagged {
  readonly vpcId: string;
  readonly subnetId: string;
  readonly zone: string;
  readonly privateIp: string;
  readonly groupIds: readonly string[];
  readonly description: string;
  readonly type: "interface" | "nat_gateway" | "network_load_balancer";
  /** Service that made it, and alone may delete it. */
  readonly requester?: string;
  /** Its own, that goes with it; an address that is mapped counts before it. */
  readonly publicIp?: string;
  readonly sourceDestCheck: boolean;
  readonly attachment?: {
    readonly id: string;
    readonly instanceId?: string;
    readonly deviceIndex: number;
    readonly deleteOnTermination: boolean;
    readonly attachedAtMs: number;
  };
  readonly clientToken?: string;
}

export type InstanceState =
  "pending" | "running" | "shutting-down" | "terminated" | "stopping" | "stopped";

export interface MetadataOptions {
  readonly httpTokens: string;
  readonly httpPutResponseHopLimit: number;
  readonly httpEndpoint: string;
  readonly httpProtocolIpv6: string;
  readonly instanceMetadataTags: string;
}

export interface InstanceRow extends Tagged {
  readonly reservationId: string;
  readonly launchIndex: number;
  readonly clientToken?: string;
  readonly state: InstanceState;
  readonly launchedAtMs: number;
  readonly stateReason?: { readonly code: string; readonly message: string };
  /** "User initiated (2026-11-23 08:00:00 GMT)". */
  readonly transitionReason: string;
  readonly imageId: string;
  readonly instanceType: string;
  readonly architecture: string;
  readonly keyName?: string;
  readonly zone: string;
  readonly placementGroup?: string;
  readonly tenancy: string;
  readonly vpcId: string;
  readonly subnetId: string;
  readonly profileArn?: string;
  readonly rootDevice: string;
  /** Base64. */
  readonly userData?: string;
  readonly ebsOptimized: boolean;
  readonly monitoring: boolean;
  readonly sourceDestCheck: boolean;
  readonly disableApiTermination: boolean;
  readonly disableApiStop: boolean;
  readonly shutdownBehavior: string;
  readonly metadata: MetadataOptions;
  readonly cpuCredits?: string;
  readonly spot?: {
    readonly requestId: string;
    readonly maxPrice?: string;
    /** When it was told that the instance is taken back. */
    readonly noticedAtMs?: number;
  };
  readonly fate?: InstanceFate;
  /** How load balancers find it, once somebody has said so. */
  readonly health?: "healthy" | "unhealthy";
  readonly console: string;
  /** What EC2 is going to do with it, as it has said beforehand. */
  readonly events?: readonly ScheduledEvent[];
}

/** What EC2 announces. Source: EC2 user guide, "Scheduled events for your instances". */
export type ScheduledEventCode = (typeof scheduledEventCodes)[number];

export const scheduledEventCodes = [
  "instance-retirement",
  "instance-stop",
  "system-reboot",
  "system-maintenance",
] as const;

interface ScheduledEvent {
  readonly id: string;
  readonly code: ScheduledEventCode;
  readonly notBeforeMs: number;
}

export interface VolumeRow extends Tagged {
  readonly zone: string;
  readonly sizeGib: number;
  readonly type: string;
  readonly iops?: number;
  readonly throughput?: number;
  readonly encrypted: boolean;
  readonly kmsKeyId?: string;
  readonly snapshotId: string;
  readonly createdAtMs: number;
  readonly state: "creating" | "available" | "in-use";
  readonly attachment?: VolumeAttachment;
  readonly modification?: {
    readonly atMs: number;
    readonly from: Pick<VolumeRow, "sizeGib" | "type" | "iops" | "throughput">;
    readonly state: "modifying" | "completed";
  };
  readonly clientToken?: string;
}

export interface VolumeAttachment {
  readonly instanceId: string;
  readonly device: string;
  readonly state: "attaching" | "attached" | "detaching";
  readonly deleteOnTermination: boolean;
  readonly attachedAtMs: number;
}

export interface ImageRow extends Tagged {
  readonly name: string;
  readonly description: string;
  readonly ownerId: string;
  readonly architecture: string;
  readonly createdAtMs: number;
  readonly rootDevice: string;
  readonly rootGib: number;
}

export interface KeyPairRow extends Tagged {
  readonly name: string;
  readonly fingerprint: string;
  readonly createdAtMs: number;
}

/** Things of ELB have their ARN for an id. */
export interface LoadBalancerRow extends Tagged {
  readonly name: string;
  readonly scheme: string;
  readonly vpcId: string;
  readonly state: "provisioning" | "active";
  readonly createdAtMs: number;
  readonly dnsName: string;
  readonly subnets: readonly LoadBalancerSubnet[];
  readonly groupIds: readonly string[];
  readonly attributes: Tags;
}

export interface LoadBalancerSubnet {
  readonly subnetId: string;
  readonly interfaceId: string;
  readonly allocationId?: string;
}

/** A load balancer of the older API; its id is its name. */
export interface ClassicLoadBalancerRow extends Tagged {
  readonly scheme: string;
  readonly vpcId: string;
  readonly createdAtMs: number;
  readonly dnsName: string;
  readonly listeners: readonly ClassicListener[];
  readonly subnets: readonly LoadBalancerSubnet[];
  readonly groupIds: readonly string[];
}

export interface ClassicListener {
  readonly protocol: string;
  readonly port: number;
  readonly instanceProtocol: string;
  readonly instancePort: number;
}

export interface HealthCheck {
  readonly protocol: string;
  readonly port: string;
  readonly enabled: boolean;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  readonly healthyCount: number;
  readonly unhealthyCount: number;
  readonly path?: string;
  readonly httpCode?: string;
}

export interface TargetGroupRow extends Tagged {
  readonly name: string;
  readonly protocol: string;
  readonly port: number;
  readonly vpcId: string;
  readonly targetType: string;
  readonly health: HealthCheck;
  readonly attributes: Tags;
}

export interface ListenerRow extends Tagged {
  readonly loadBalancerArn: string;
  readonly protocol: string;
  readonly port: number;
  readonly targetGroupArn: string;
}

export interface TargetRow {
  readonly id: string;
  readonly targetGroupArn: string;
  /** Instance or address. */
  readonly targetId: string;
  readonly port: number;
  readonly state: "initial" | "healthy" | "unhealthy" | "draining";
}

/** Its id is its ARN. */
export interface SecretRow extends Tagged {
  readonly name: string;
  readonly content: { readonly kind: "text" | "binary"; readonly value: string };
  readonly versionId: string;
  readonly description: string;
  readonly createdAtMs: number;
  /** When it goes; until then its name is taken, and its content out of reach. */
  readonly goesAtMs?: number;
  /** It goes without a delay: only its name is still taken for a moment. */
  readonly isForced?: true;
}

/** Its id is its name. */
export interface ParameterRow extends Tagged {
  readonly type: string;
  readonly value: string;
  readonly version: number;
  readonly modifiedAtMs: number;
  readonly tier: string;
  readonly description?: string;
}

/** A client token that was used: with which parameters, and what it has made. */
interface TokenRow {
  readonly id: string;
  readonly parameters: string;
  readonly made: string;
}

/** Something that happens by itself. */
export interface TimerRow {
  readonly id: string;
  readonly atMs: number;
  readonly kind: TimerKind;
  readonly subject: string;
}

export type TimerKind =
  | "vpcIsAvailable"
  | "instanceRuns"
  | "instanceFails"
  | "instanceStops"
  | "instanceTerminates"
  | "instanceIsForgotten"
  | "spotIsNoticed"
  | "instanceRetires"
  | "spotEnds"
  | "natIsAvailable"
  | "natIsDeleted"
  | "natIsForgotten"
  | "volumeIsReady"
  | "volumeIsDetached"
  | "volumeIsModified"
  | "loadBalancerIsActive"
  | "interfaceGoes"
  | "targetIsHealthy"
  | "targetIsDrained"
  | "secretGoes";

/** All tables of a region. */
export interface RegionTables {
  readonly vpcs: VpcRow;
  readonly subnets: SubnetRow;
  readonly internetGateways: InternetGatewayRow;
  readonly addresses: AddressRow;
  readonly natGateways: NatGatewayRow;
  readonly routeTables: RouteTableRow;
  readonly groups: GroupRow;
  readonly rules: RuleRow;
  readonly interfaces: InterfaceRow;
  readonly instances: InstanceRow;
  readonly volumes: VolumeRow;
  readonly images: ImageRow;
  readonly keyPairs: KeyPairRow;
  readonly loadBalancers: LoadBalancerRow;
  readonly classicLoadBalancers: ClassicLoadBalancerRow;
  readonly targetGroups: TargetGroupRow;
  readonly listeners: ListenerRow;
  readonly targets: TargetRow;
  readonly parameters: ParameterRow;
  readonly secrets: SecretRow;
  readonly tokens: TokenRow;
  readonly timers: TimerRow;
}
