// An account as the simulator tells of it in GET /_sim/state and /_sim/ledger (docs/sim-aws.md). This imports nothing of the product.

/** A row of any table. Its fields are those of the simulator, which are those of AWS. */
export interface AccountRow {
  readonly id: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** Rows by table. */
export type AccountTables = Readonly<Record<string, readonly AccountRow[]>>;

/** A call in the simulator's ledger. */
export interface AccountCall {
  readonly seq: number;
  /** "ec2:RunInstances". */
  readonly action: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly isMutating: boolean;
  readonly faults: readonly string[];
  /** Absent: it is held, or was cut before it had an effect. */
  readonly outcome?: {
    readonly status: number;
    readonly code?: string;
    /** "+ vpcs vpc-1", "~ ..." and "- ...". */
    readonly changes: readonly string[];
  };
}

/** The kind of the resources that a table's rows are. */
export const kindsOfTables: Readonly<Record<string, string>> = {
  vpcs: "AwsVpc",
  internetGateways: "AwsInternetGateway",
  subnets: "AwsSubnet",
  addresses: "AwsElasticIp",
  natGateways: "AwsNatGateway",
  routeTables: "AwsRouteTable",
  groups: "AwsSecurityGroup",
  rules: "AwsSecurityGroupRule",
  loadBalancers: "AwsLoadBalancer",
  targetGroups: "AwsTargetGroup",
  listeners: "AwsListener",
  instances: "AwsInstance",
  targets: "AwsTarget",
  volumes: "AwsVolume",
};

/** What lives in an account: not what has ended and is shown for a while. */
export interface Living {
  readonly table: string;
  readonly row: AccountRow;
}

const ended: Readonly<Record<string, readonly string[]>> = {
  instances: ["shutting-down", "terminated"],
  natGateways: ["deleting", "deleted", "failed"],
  targets: ["draining"],
};

/** Tables of what is no resource of a cluster: interfaces of AWS, and what hosts fetch at their first start. */
const others = ["interfaces", "secrets"];

export function livingIn(account: AccountTables): Living[] {
  return [...Object.keys(kindsOfTables), ...others].flatMap((table) =>
    (account[table] ?? [])
      .filter(({ state }) => ended[table]?.includes(String(state)) !== true)
      .filter(({ isForced }) => isForced !== true)
      .map((row) => ({ table, row })),
  );
}

/** The marks that a resource bears; empty texts where it bears none. */
export function marksOf({ tags = {} }: Pick<AccountRow, "tags">) {
  return {
    cluster: tags["capstan:cluster"] ?? "",
    clusterUid: tags["capstan:clusterUid"] ?? "",
    name: tags["capstan:name"] ?? "",
    token: tags["capstan:token"] ?? "",
  };
}

/** The machine that a host is for: its name without generation and incarnation. */
export function machineOf(host: string): string {
  return host.replace(/-[0-9a-f]{8}-\d+$/, "");
}

/** A name without what tells one incarnation from another: "cp-0-3b81542a-2-backup" and "cp-0-3b81542a-1-backup" are "cp-0-backup". */
export function plainName(name: string): string {
  return name.replace(/-[0-9a-f]{8}(-\d+)?(?=-|$)/g, "");
}
