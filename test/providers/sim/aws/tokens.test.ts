import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { at } from "../xml-tree.js";
import { SimAccount } from "./account.js";

interface Case {
  readonly action: string;
  readonly asked: (
    account: SimAccount,
    net: Network,
  ) => Promise<Readonly<Record<string, ParamTree>>>;
  /** Where the answer has the id of what was made. */
  readonly id: string;
  readonly table: string;
  /** What to ask otherwise under the same token. */
  readonly other: Readonly<Record<string, ParamTree>>;
}

type Network = Awaited<ReturnType<SimAccount["network"]>>;

const cases: readonly Case[] = [
  {
    action: "RunInstances",
    asked: (account, { subnetId, groupId }) => account.launch(subnetId, groupId),
    id: "instancesSet.0.instanceId",
    table: "instances",
    other: { InstanceType: "t3.large" },
  },
  {
    action: "CreateNatGateway",
    asked: async (account, { subnetId }) => ({
      SubnetId: subnetId,
      AllocationId: await account.text("AllocateAddress", {}, "allocationId"),
    }),
    id: "natGateway.natGatewayId",
    table: "natGateways",
    other: { ConnectivityType: "public" },
  },
  {
    action: "CreateRouteTable",
    asked: async (_, { vpcId }) => ({ VpcId: vpcId }),
    id: "routeTable.routeTableId",
    table: "routeTables",
    other: { TagSpecification: [{ ResourceType: "route-table", Tag: [{ Key: "a", Value: "b" }] }] },
  },
  {
    action: "CreateVolume",
    asked: async () => ({ AvailabilityZone: "eu-north-1a", Size: "8" }),
    id: "volumeId",
    table: "volumes",
    other: { Size: "9" },
  },
  {
    action: "CreateNetworkInterface",
    asked: async (_, { subnetId }) => ({ SubnetId: subnetId }),
    id: "networkInterface.networkInterfaceId",
    table: "interfaces",
    other: { Description: "another" },
  },
];

describe("client tokens of the simulated AWS", () => {
  for (const { action, asked, id, table, other } of cases) {
    it(`${action}: the same once more makes nothing more, and something else is refused`, async () => {
      const account = new SimAccount();
      const net = await account.network();
      const before = account.ids(table).length;
      const parameters = { ...(await asked(account, net)), ClientToken: "token-1" };
      const first = await account.text(action, parameters, id);
      account.advance(10_000);
      assert.equal(await account.text(action, parameters, id), first);
      const mismatch = await account.code("ec2", action, { ...parameters, ...other });
      assert.equal(mismatch, "IdempotentParameterMismatch");
      assert.equal(account.ids(table).length, before + 1);
    });
  }

  it("a refused call leaves its token unused", async () => {
    const account = new SimAccount({ quotas: { vcpus: 1 } });
    const { subnetId, groupId } = await account.network();
    const asked = { ...(await account.launch(subnetId, groupId)), ClientToken: "t" };
    assert.equal(await account.code("ec2", "RunInstances", asked), "VcpuLimitExceeded");
    account.aws.change({ quotas: { vcpus: 64 } });
    assert.equal(
      await account.code("ec2", "RunInstances", { ...asked, InstanceType: "t3.small" }),
      "",
    );
  });

  it("the token of a terminated instance answers with it, and makes no other", async () => {
    const account = new SimAccount();
    const { subnetId, groupId } = await account.network();
    const asked = { ...(await account.launch(subnetId, groupId)), ClientToken: "t" };
    const id = await account.text("RunInstances", asked, "instancesSet.0.instanceId");
    await account.ec2("TerminateInstances", { InstanceId: [id] });
    account.advance(60_000);
    const again = at(await account.ec2("RunInstances", asked), "instancesSet.0");
    assert.equal(at(again, "instanceId"), id);
    assert.equal(at(again, "instanceState.name"), "terminated");
  });

  it("an instance is found by its token", async () => {
    const account = new SimAccount();
    const { subnetId, groupId } = await account.network();
    const id = await account.instance(subnetId, groupId, { ClientToken: "mine" });
    await account.instance(subnetId, groupId, { ClientToken: "other" });
    const Filter = [{ Name: "client-token", Value: ["mine"] }];
    const shown = await account.ec2("DescribeInstances", { Filter });
    assert.equal(at(shown, "reservationSet.0.instancesSet.0.instanceId"), id);
    assert.equal((at(shown, "reservationSet") as unknown[]).length, 1);
  });

  it("a token of a launch is for one zone: in another one it makes another instance", async () => {
    const account = new SimAccount();
    const { vpcId, subnetId, groupId } = await account.network();
    const zone = { VpcId: vpcId, CidrBlock: "10.0.2.0/24", AvailabilityZone: "eu-north-1b" };
    const elsewhere = await account.text("CreateSubnet", zone, "subnet.subnetId");
    const asked = { ...(await account.launch(subnetId, groupId)), ClientToken: "t" };
    await account.ec2("RunInstances", asked);
    await account.ec2("RunInstances", { ...asked, SubnetId: elsewhere });
    await account.ec2("RunInstances", { ...asked, SubnetId: elsewhere });
    assert.equal(account.ids("instances").length, 2);
  });

  it("a token is no longer than 64 characters", async () => {
    const asked = { AvailabilityZone: "eu-north-1a", Size: "8", ClientToken: "x".repeat(65) };
    assert.equal(
      await new SimAccount().code("ec2", "CreateVolume", asked),
      "InvalidParameterValue",
    );
  });

  it("load balancers and target groups have their names for tokens", async () => {
    const account = new SimAccount();
    const { vpcId, subnetId } = await account.network();
    const balancer = { Name: "api", Type: "network", Subnets: [subnetId] };
    const group = { Name: "api", Protocol: "TCP", Port: "6443", VpcId: vpcId };
    for (let time = 0; time < 2; time += 1) {
      await account.elb("CreateLoadBalancer", balancer);
      await account.elb("CreateTargetGroup", group);
    }
    assert.deepEqual(
      [account.ids("loadBalancers").length, account.ids("targetGroups").length],
      [1, 1],
    );
    const code = (action: string, asked: Readonly<Record<string, ParamTree>>) =>
      account.code("elasticloadbalancing", action, asked);
    assert.equal(
      await code("CreateLoadBalancer", { ...balancer, Scheme: "internal" }),
      "DuplicateLoadBalancerName",
    );
    assert.equal(
      await code("CreateTargetGroup", { ...group, Port: "443" }),
      "DuplicateTargetGroupName",
    );
  });
});
