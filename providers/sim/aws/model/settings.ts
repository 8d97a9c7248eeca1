// How the simulated cloud behaves where AWS promises nothing exact. Times are milliseconds of the cloud's own clock.

import type { Rate } from "../../core/token-bucket.js";

/** What AWS calls Service Quotas, for each account and region. */
interface Quotas {
  readonly vpcs: number;
  readonly subnetsPerVpc: number;
  readonly internetGateways: number;
  readonly natGatewaysPerZone: number;
  readonly addresses: number;
  readonly routeTablesPerVpc: number;
  readonly routesPerTable: number;
  readonly securityGroups: number;
  readonly rulesPerGroup: number;
  readonly groupsPerInterface: number;
  /** Of running on-demand and spot instances, each for itself. */
  readonly vcpus: number;
  readonly spotVcpus: number;
  readonly loadBalancers: number;
  readonly classicLoadBalancers: number;
  readonly targetGroups: number;
}

/** How long things take. */
interface Durations {
  readonly vpcMs: number;
  readonly bootMs: number;
  readonly stopMs: number;
  readonly terminateMs: number;
  /** How long terminated instances and deleted NAT gateways are still shown. */
  readonly goneIsShownMs: number;
  readonly natCreateMs: number;
  readonly natDeleteMs: number;
  readonly volumeMs: number;
  readonly loadBalancerMs: number;
  /** How long the interfaces of a deleted load balancer stay, and block what they use. */
  readonly interfacesLingerMs: number;
  /** From the registration of a target until it is healthy, if its instance runs. */
  readonly targetMs: number;
  /** From the notice of a spot interruption until the instance ends. */
  readonly spotNoticeMs: number;
  /** How long the name of a secret that was deleted at once is still taken. */
  readonly secretGoesMs: number;
}

/** A shortage: instances of these types cannot be started in these zones. Patterns with `*` and `?`. */
interface Shortage {
  readonly instanceType: string;
  readonly zone?: string;
}

/** Whose an access key is, and what it may do. */
export interface AccessKey {
  /** Of an IAM user or a role's session. */
  readonly principal: string;
  readonly account: string;
  /** Actions with `*` and `?`, e.g. "ec2:Describe*". Absent: all. */
  readonly allow?: readonly string[];
  /** Of a role's session: when it is over, milliseconds of the cloud's own time. */
  readonly expiresAtMs?: number;
}

/** A role, and its trust policy. */
interface Role {
  /** What its sessions may do. Absent: all. */
  readonly allow?: readonly string[];
  /** ARNs with `*` and `?` of those who may assume it. Absent: everybody. */
  readonly trusts?: readonly string[];
  /** What whoever assumes it has to tell. */
  readonly externalId?: string;
  /** How long a session may last. An hour without, as with AWS. */
  readonly maxSessionSeconds?: number;
}

export interface SimSettings {
  /** Of access keys that are not listed. */
  readonly account: string;
  /** Decides ids and addresses. */
  readonly seed: number;
  /** Whether an account has a default VPC in each region. */
  readonly defaultVpc: boolean;
  readonly quotas: Quotas;
  readonly durations: Durations;
  /** How far Describe calls of EC2 and ELB lag behind. */
  readonly describeLagMs: number;
  /** Whether calls are limited as AWS documents it. */
  readonly throttle: boolean;
  /** Limits by action, "ec2:RunInstances", besides those that AWS documents. */
  readonly rates: Readonly<Record<string, Rate>>;
  readonly shortages: readonly Shortage[];
  /** By access key. Keys that are not listed may do everything, unless `refuseUnknownKeys`. */
  readonly accessKeys: Readonly<Record<string, AccessKey>>;
  readonly refuseUnknownKeys: boolean;
  /** By ARN. Roles that are not listed are there, and everybody may assume them and then do everything. */
  readonly roles: Readonly<Record<string, Role>>;
  /** Whether instances answer health checks only once they are told to (`POST /instance`); because they run otherwise. */
  readonly answersWhenTold: boolean;
  /** Names of instance profiles. Absent: every name is one. */
  readonly instanceProfiles?: readonly string[];
}

export const defaultSettings: SimSettings = {
  account: "123456789012",
  seed: 1,
  defaultVpc: true,
  quotas: {
    vpcs: 5,
    subnetsPerVpc: 200,
    internetGateways: 5,
    natGatewaysPerZone: 5,
    addresses: 5,
    routeTablesPerVpc: 200,
    routesPerTable: 500,
    securityGroups: 2500,
    rulesPerGroup: 60,
    groupsPerInterface: 5,
    vcpus: 256,
    spotVcpus: 256,
    loadBalancers: 50,
    classicLoadBalancers: 20,
    targetGroups: 3000,
  },
  durations: {
    vpcMs: 1_000,
    bootMs: 10_000,
    stopMs: 20_000,
    terminateMs: 20_000,
    goneIsShownMs: 3_600_000,
    natCreateMs: 60_000,
    natDeleteMs: 60_000,
    volumeMs: 3_000,
    loadBalancerMs: 90_000,
    interfacesLingerMs: 60_000,
    targetMs: 30_000,
    spotNoticeMs: 120_000,
    secretGoesMs: 2_000,
  },
  describeLagMs: 0,
  throttle: false,
  rates: {},
  shortages: [],
  accessKeys: {},
  refuseUnknownKeys: false,
  answersWhenTold: false,
  roles: {},
};

/** Settings as somebody writes them: what is left out is as it is by default. */
export type SettingsChange = Omit<Partial<SimSettings>, "quotas" | "durations"> & {
  readonly quotas?: Partial<Quotas>;
  readonly durations?: Partial<Durations>;
};

/** The settings after a change. Pure. */
export function changedSettings(before: SimSettings, change: SettingsChange): SimSettings {
  const quotas = { ...before.quotas, ...change.quotas };
  const durations = { ...before.durations, ...change.durations };
  return { ...before, ...change, quotas, durations };
}
