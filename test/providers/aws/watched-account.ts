import { EC2 } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import { type AwsKind, awsKinds } from "../../../providers/aws/kinds/kinds.js";
import { createProtocols } from "../../../providers/aws/kinds/protocols.js";
import { SimServer } from "../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../providers/sim/aws/simulated-aws.js";
import { systemClock } from "../../../src/provider/clock.js";
import { type AccountTables, livingIn, marksOf } from "../../chaos/aws/account.js";
import { AccountHosts } from "./hosts/account-hosts.js";
import { RunningHosts } from "./hosts/running-hosts.js";

const region = "eu-north-1";

/** The call that takes one away, of each kind. */
const removing: Readonly<Record<AwsKind, string>> = {
  AwsVpc: "ec2:DeleteVpc",
  AwsInternetGateway: "ec2:DeleteInternetGateway",
  AwsSubnet: "ec2:DeleteSubnet",
  AwsElasticIp: "ec2:ReleaseAddress",
  AwsNatGateway: "ec2:DeleteNatGateway",
  AwsRouteTable: "ec2:DeleteRouteTable",
  AwsSecurityGroup: "ec2:DeleteSecurityGroup",
  AwsSecurityGroupRule: "ec2:RevokeSecurityGroupIngress",
  AwsLoadBalancer: "elasticloadbalancing:DeleteLoadBalancer",
  AwsTargetGroup: "elasticloadbalancing:DeleteTargetGroup",
  AwsListener: "elasticloadbalancing:DeleteListener",
  AwsInstance: "ec2:TerminateInstances",
  AwsTarget: "elasticloadbalancing:DeregisterTargets",
  AwsVolume: "ec2:DeleteVolume",
};

/** A call of the ledger. */
export type LedgerCall = ReturnType<SimulatedAws["ledger"]["after"]>[number];

/** An instance that lives and bears our marks. */
export interface AccountInstance {
  readonly id: string;
  /** The name of its host. */
  readonly host: string;
  readonly zone: string;
  readonly type: string;
}

/** The access key of commands: nothing else has it in its words. */
const commandsKey = "AKIDOFTHECOMMANDS";

/** How many of each kind; kinds of which there are none are left out. */
export type KindCounts = Readonly<Record<string, number>>;

/** A simulated AWS that listens in this process, what runs on its instances, and a person's clients. */
export class WatchedAccount {
  readonly ec2: EC2;
  readonly elb: ElasticLoadBalancingV2;

  private constructor(
    readonly server: SimServer,
    /** What runs on its instances. */
    readonly hosts: RunningHosts,
  ) {
    const credentials = { accessKeyId: "person", secretAccessKey: "person" };
    const settings = { region, endpoint: server.endpoint, credentials };
    this.ec2 = new EC2(settings);
    this.elb = new ElasticLoadBalancingV2(settings);
  }

  /** `startMs`: how long hosts take until they serve, in the account's time. */
  static async start(startMs?: number): Promise<WatchedAccount> {
    const settings = { describeLagMs: 5_000 };
    const aws = new SimulatedAws({ clock: systemClock, speed: 200, settings });
    const server = await SimServer.start(aws, { region });
    const hosts = await RunningHosts.start(new AccountHosts(server.endpoint, startMs));
    await hosts.begin();
    return new WatchedAccount(server, hosts);
  }

  async stop(): Promise<void> {
    this.ec2.destroy();
    this.elb.destroy();
    await this.hosts.stop();
    await this.server.stop();
  }

  /** What commands need in their environment. */
  get env(): Readonly<Record<string, string>> {
    return {
      AWS_ENDPOINT_URL: this.server.endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: commandsKey,
      AWS_SECRET_ACCESS_KEY: "secret-of-the-process",
      ...this.hosts.env,
    };
  }

  /** Number of the last call. */
  get lastCall(): number {
    return this.server.aws.ledger.after(0).at(-1)?.seq ?? 0;
  }

  /** What calls after one have made, by kind. */
  madeAfter(seq: number): KindCounts {
    return this.countedAfter(seq, (kind) => createProtocols[kind].create);
  }

  removedAfter(seq: number): KindCounts {
    return this.countedAfter(seq, (kind) => removing[kind]);
  }

  /** What calls after one have changed, once each: "volumes vol-1". */
  changedAfter(seq: number): string[] {
    const changes = this.changingAfter(seq).flatMap(({ outcome }) => outcome?.changes ?? []);
    return [...new Set(changes.filter((one) => one.startsWith("~")).map((one) => one.slice(2)))];
  }

  /** Instances that live, by id. */
  instances(): AccountInstance[] {
    return livingIn(this.tables())
      .filter(({ table, row }) => table === "instances" && marksOf(row).cluster !== "")
      .map(({ row }) => ({
        id: row.id,
        host: marksOf(row).name,
        zone: String(row["zone"]),
        type: String(row["instanceType"]),
      }))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  /** All that there is now. */
  tables(): AccountTables {
    const { aws } = this.server;
    aws.settle();
    const { store } = aws.accounts.region(aws.settings.account, region);
    return store.snapshot() as unknown as AccountTables;
  }

  /** Calls of capstan after one that have changed something. */
  changesAfter(seq: number): readonly LedgerCall[] {
    return this.changingAfter(seq);
  }

  /** How many rows there are of each kind; not of what keeps time and tokens alone. */
  rows(): KindCounts {
    const counts = Object.entries(this.tables()).map(
      ([table, all]) => [table, all.length] as const,
    );
    const told = counts.filter(([table, count]) => count > 0 && !/^(tokens|timers)$/.test(table));
    return Object.fromEntries(told);
  }

  private countedAfter(seq: number, actionOf: (kind: AwsKind) => string): KindCounts {
    const calls = this.changingAfter(seq).map(({ action }) => action);
    const counts = awsKinds.map((kind) => {
      return [kind, calls.filter((action) => action === actionOf(kind)).length] as const;
    });
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  /** Calls of capstan that have changed something. */
  private changingAfter(seq: number) {
    return this.server.aws.ledger
      .after(seq)
      .filter(
        ({ accessKey, outcome }) => accessKey === commandsKey && (outcome?.changes.length ?? 0) > 0,
      );
  }
}

/** How many resources of each kind a plan does something to, from its JSON. */
export function plannedCounts(
  steps: readonly { readonly kind: string; readonly key: string }[],
  does: string,
): KindCounts {
  const counts: Record<string, number> = {};
  for (const { kind, key } of steps) {
    const [resource = ""] = key.split("/");
    if (kind === does && resource in createProtocols)
      counts[resource] = (counts[resource] ?? 0) + 1;
  }
  return counts;
}
