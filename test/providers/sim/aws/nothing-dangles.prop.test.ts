import assert from "node:assert/strict";
import fc from "fast-check";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { assertAsyncLaw } from "../../../support/laws.js";
import { classicElb, region, SimAccount } from "./account.js";

type Parameters = Readonly<Record<string, ParamTree>>;

/** A call, with ids of what there is where its parameters say "@table". */
interface Step {
  readonly service: string;
  readonly action: string;
  readonly asked: Parameters;
  /** Which of the ids, each time. */
  readonly pick: number;
  /** How much later the next call comes. */
  readonly waitMs: number;
}

const forward = [{ Type: "forward", TargetGroupArn: "@targetGroups" }];
const rule = [{ IpProtocol: "-1", Groups: [{ GroupId: "@groups" }] }];

const calls: readonly (readonly [string, string, Parameters])[] = [
  ["ec2", "CreateVpc", { CidrBlock: "10.0.0.0/16" }],
  ["ec2", "CreateSubnet", { VpcId: "@vpcs", CidrBlock: "10.0.1.0/24" }],
  [
    "ec2",
    "CreateSubnet",
    { VpcId: "@vpcs", CidrBlock: "10.0.2.0/24", AvailabilityZone: `${region}b` },
  ],
  ["ec2", "CreateSecurityGroup", { VpcId: "@vpcs", GroupName: "g", GroupDescription: "d" }],
  ["ec2", "AuthorizeSecurityGroupIngress", { GroupId: "@groups", IpPermissions: rule }],
  ["ec2", "CreateInternetGateway", {}],
  ["ec2", "AttachInternetGateway", { VpcId: "@vpcs", InternetGatewayId: "@internetGateways" }],
  ["ec2", "AllocateAddress", {}],
  ["ec2", "CreateNatGateway", { SubnetId: "@subnets", AllocationId: "@addresses" }],
  ["ec2", "CreateRouteTable", { VpcId: "@vpcs" }],
  ["ec2", "AssociateRouteTable", { RouteTableId: "@routeTables", SubnetId: "@subnets" }],
  ["ec2", "AssociateAddress", { AllocationId: "@addresses", NetworkInterfaceId: "@interfaces" }],
  [
    "ec2",
    "RunInstances",
    {
      ImageId: "@images",
      InstanceType: "t3.micro",
      MinCount: "1",
      MaxCount: "1",
      SubnetId: "@subnets",
    },
  ],
  ["ec2", "CreateVolume", { AvailabilityZone: `${region}a`, Size: "8" }],
  ["ec2", "AttachVolume", { VolumeId: "@volumes", InstanceId: "@instances", Device: "/dev/sdf" }],
  [
    "elasticloadbalancing",
    "CreateLoadBalancer",
    { Name: "b", Type: "network", Subnets: ["@subnets"], SecurityGroups: ["@groups"] },
  ],
  [
    classicElb,
    "CreateLoadBalancer",
    {
      LoadBalancerName: "c",
      Listeners: [{ Protocol: "TCP", LoadBalancerPort: "1", InstancePort: "1" }],
      Subnets: ["@subnets"],
      SecurityGroups: ["@groups"],
    },
  ],
  [
    "elasticloadbalancing",
    "CreateTargetGroup",
    { Name: "t", Protocol: "TCP", Port: "1", VpcId: "@vpcs" },
  ],
  [
    "elasticloadbalancing",
    "CreateListener",
    { LoadBalancerArn: "@loadBalancers", Protocol: "TCP", Port: "1", DefaultActions: forward },
  ],
  [
    "elasticloadbalancing",
    "RegisterTargets",
    { TargetGroupArn: "@targetGroups", Targets: [{ Id: "@instances" }] },
  ],
  ["ec2", "DeleteVpc", { VpcId: "@vpcs" }],
  ["ec2", "DeleteSubnet", { SubnetId: "@subnets" }],
  ["ec2", "DeleteSecurityGroup", { GroupId: "@groups" }],
  ["ec2", "DetachInternetGateway", { VpcId: "@vpcs", InternetGatewayId: "@internetGateways" }],
  ["ec2", "DeleteInternetGateway", { InternetGatewayId: "@internetGateways" }],
  ["ec2", "ReleaseAddress", { AllocationId: "@addresses" }],
  ["ec2", "DeleteNatGateway", { NatGatewayId: "@natGateways" }],
  ["ec2", "DeleteRouteTable", { RouteTableId: "@routeTables" }],
  ["ec2", "DeleteNetworkInterface", { NetworkInterfaceId: "@interfaces" }],
  ["ec2", "TerminateInstances", { InstanceId: ["@instances"] }],
  ["ec2", "StopInstances", { InstanceId: ["@instances"] }],
  ["ec2", "StartInstances", { InstanceId: ["@instances"] }],
  ["ec2", "DetachVolume", { VolumeId: "@volumes" }],
  ["ec2", "DeleteVolume", { VolumeId: "@volumes" }],
  ["elasticloadbalancing", "DeleteLoadBalancer", { LoadBalancerArn: "@loadBalancers" }],
  [classicElb, "DeleteLoadBalancer", { LoadBalancerName: "@classicLoadBalancers" }],
  ["elasticloadbalancing", "DeleteTargetGroup", { TargetGroupArn: "@targetGroups" }],
  [
    "elasticloadbalancing",
    "DeregisterTargets",
    { TargetGroupArn: "@targetGroups", Targets: [{ Id: "@instances" }] },
  ],
];

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc
    .record({
      call: fc.constantFrom(...calls),
      pick: fc.nat(20),
      waitMs: fc.constantFrom(0, 0, 1_000, 30_000, 400_000, 4_000_000),
    })
    .map(({ call: [service, action, asked], pick, waitMs }) => ({
      service,
      action,
      asked,
      pick,
      waitMs,
    })),
  { minLength: 60, maxLength: 150 },
);

/** The parameters with ids for what they say; nothing is there: an id of nothing. */
function filled(tree: ParamTree, account: SimAccount, pick: number): ParamTree {
  if (Array.isArray(tree)) return tree.map((one: ParamTree) => filled(one, account, pick));
  if (typeof tree !== "string") {
    const entries = Object.entries(tree).map(([name, one]) => [name, filled(one, account, pick)]);
    return Object.fromEntries(entries) as ParamTree;
  }
  if (!tree.startsWith("@")) return tree;
  const ids = account.ids(tree.slice(1));
  return ids[pick % Math.max(1, ids.length)] ?? "none-00000000";
}

type Row = Readonly<Record<string, unknown>>;

/** What names something that is not there. */
function danglingIn(account: SimAccount): string[] {
  const tables = account.aws.accounts.region("123456789012", region).store.snapshot();
  const rows = (table: string) => (tables[table] ?? []) as readonly unknown[] as readonly Row[];
  const has = new Map(
    Object.entries(tables).map(([table, all]) => [table, new Set(all.map(({ id }) => id))]),
  );
  const found: string[] = [];
  const check = (from: string, table: string, ids: readonly unknown[]) => {
    for (const id of ids) {
      if (id !== undefined && has.get(table)?.has(String(id)) !== true)
        found.push(`${from}: no ${table} ${String(id)}`);
    }
  };
  const list = (value: unknown) => value as readonly Row[];
  for (const one of rows("subnets")) check("subnet", "vpcs", [one["vpcId"]]);
  for (const one of rows("groups")) check("group", "vpcs", [one["vpcId"]]);
  for (const one of rows("internetGateways")) check("internet gateway", "vpcs", [one["vpcId"]]);
  for (const one of rows("interfaces")) {
    check("interface", "subnets", [one["subnetId"]]);
    check("interface", "groups", one["groupIds"] as readonly unknown[]);
    check("interface", "instances", [(one["attachment"] as Row | undefined)?.["instanceId"]]);
  }
  for (const one of rows("rules")) {
    check("rule", "groups", [one["groupId"]]);
    const { kind, value } = one["peer"] as { kind: string; value: string };
    if (kind === "group") check("peer", "groups", [value]);
  }
  for (const one of rows("routeTables")) {
    check("route table", "vpcs", [one["vpcId"]]);
    check(
      "association",
      "subnets",
      list(one["associations"]).map(({ subnetId }) => subnetId),
    );
  }
  for (const one of rows("addresses")) check("address", "interfaces", [one["interfaceId"]]);
  for (const one of rows("natGateways")) {
    if (one["state"] !== "deleted") check("NAT gateway", "interfaces", [one["interfaceId"]]);
  }
  for (const one of rows("volumes"))
    check("volume", "instances", [(one["attachment"] as Row | undefined)?.["instanceId"]]);
  for (const one of [...rows("loadBalancers"), ...rows("classicLoadBalancers")]) {
    check("load balancer", "groups", one["groupIds"] as readonly unknown[]);
    check(
      "load balancer",
      "interfaces",
      list(one["subnets"]).map(({ interfaceId }) => interfaceId),
    );
  }
  for (const one of rows("listeners")) {
    check("listener", "loadBalancers", [one["loadBalancerArn"]]);
    check("listener", "targetGroups", [one["targetGroupArn"]]);
  }
  for (const one of rows("targets")) {
    check("target", "targetGroups", [one["targetGroupArn"]]);
    check("target", "instances", [one["targetId"]]);
  }
  for (const { id, state } of rows("instances")) {
    const has = rows("interfaces").some(
      ({ attachment }) => (attachment as Row | undefined)?.["instanceId"] === id,
    );
    if (!has && state !== "terminated") found.push(`instance ${String(id)}: no interface`);
  }
  return found;
}

describe("whatever is called, in whatever order, on the simulated AWS", () => {
  it("nothing ever names what is not there, and every refusal has a code", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(steps, async (course) => {
        const account = new SimAccount({ quotas: { vpcs: 3 } });
        for (const { service, action, asked, pick, waitMs } of course) {
          const parameters = filled(asked, account, pick) as Parameters;
          const code = await account.code(service, action, parameters);
          account.advance(waitMs);
          assert.deepEqual(danglingIn(account), [], `after ${action} (${code || "done"})`);
        }
      }),
      60,
    );
  });
});
