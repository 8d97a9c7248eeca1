import assert from "node:assert/strict";
import { at } from "../xml-tree.js";
import { SimAccount } from "./account.js";

type Network = Awaited<ReturnType<SimAccount["network"]>>;
type Parameters = Readonly<Record<string, string>>;

interface Case {
  readonly name: string;
  /** Makes what is in the way; answers what takes it away again. */
  readonly block: (account: SimAccount, net: Network) => Promise<() => Promise<unknown>>;
  readonly action: string;
  readonly of: (net: Network) => Parameters;
  readonly code?: string;
}

const deleteGroup = {
  action: "DeleteSecurityGroup",
  of: ({ groupId }: Network) => ({ GroupId: groupId }),
};
const deleteSubnet = {
  action: "DeleteSubnet",
  of: ({ subnetId }: Network) => ({ SubnetId: subnetId }),
};
const deleteVpc = { action: "DeleteVpc", of: ({ vpcId }: Network) => ({ VpcId: vpcId }) };
const detach = {
  action: "DetachInternetGateway",
  of: ({ vpcId, gatewayId }: Network) => ({ VpcId: vpcId, InternetGatewayId: gatewayId }),
};

/** An instance, and its end. */
async function instance(account: SimAccount, { subnetId, groupId }: Network) {
  const id = await account.instance(subnetId, groupId);
  return async () => {
    await account.ec2("TerminateInstances", { InstanceId: [id] });
    account.advance(60_000);
  };
}

/** A NAT gateway, and its end with that of its address. */
async function nat(account: SimAccount, { subnetId }: Network) {
  const AllocationId = await account.text("AllocateAddress", {}, "allocationId");
  const asked = { SubnetId: subnetId, AllocationId };
  const NatGatewayId = await account.text("CreateNatGateway", asked, "natGateway.natGatewayId");
  account.advance(120_000);
  return async () => {
    await account.ec2("DeleteNatGateway", { NatGatewayId });
    account.advance(120_000);
    await account.ec2("ReleaseAddress", { AllocationId });
  };
}

/** A load balancer, and its end. */
async function loadBalancer(account: SimAccount, { subnetId, groupId }: Network) {
  const asked = { Name: "api", Type: "network", Subnets: [subnetId], SecurityGroups: [groupId] };
  const made = await account.elb("CreateLoadBalancer", asked);
  const LoadBalancerArn = at(made, "LoadBalancers.0.LoadBalancerArn");
  return async () => {
    await account.elb("DeleteLoadBalancer", { LoadBalancerArn });
    account.advance(120_000);
  };
}

/** A classic load balancer, and its end. */
async function classicBalancer(account: SimAccount, { subnetId, groupId }: Network) {
  const LoadBalancerName = "web";
  await account.classicElb("CreateLoadBalancer", {
    LoadBalancerName,
    Listeners: [{ Protocol: "TCP", LoadBalancerPort: "80", InstancePort: "30080" }],
    Subnets: [subnetId],
    SecurityGroups: [groupId],
  });
  return async () => {
    await account.classicElb("DeleteLoadBalancer", { LoadBalancerName });
    account.advance(120_000);
  };
}

/** A rule of another group that names the group. */
async function reference(account: SimAccount, { vpcId, groupId }: Network) {
  const other = { VpcId: vpcId, GroupName: "other", GroupDescription: "other" };
  const GroupId = await account.text("CreateSecurityGroup", other, "groupId");
  const IpPermissions = [{ IpProtocol: "-1", Groups: [{ GroupId: groupId }] }];
  await account.ec2("AuthorizeSecurityGroupIngress", { GroupId, IpPermissions });
  return () => account.ec2("RevokeSecurityGroupIngress", { GroupId, IpPermissions });
}

const cases: readonly Case[] = [
  { name: "a group that a rule names", block: reference, ...deleteGroup },
  { name: "a group that an instance uses", block: instance, ...deleteGroup },
  { name: "a group that a load balancer uses", block: loadBalancer, ...deleteGroup },
  { name: "a group that a classic load balancer uses", block: classicBalancer, ...deleteGroup },
  { name: "a subnet with an instance", block: instance, ...deleteSubnet },
  { name: "a subnet with a NAT gateway", block: nat, ...deleteSubnet },
  { name: "a subnet with a load balancer", block: loadBalancer, ...deleteSubnet },
  { name: "a subnet with a classic load balancer", block: classicBalancer, ...deleteSubnet },
  {
    name: "a subnet with an interface that nobody uses",
    block: async (account, { subnetId }) => {
      const asked = { SubnetId: subnetId };
      const id = await account.text(
        "CreateNetworkInterface",
        asked,
        "networkInterface.networkInterfaceId",
      );
      return () => account.ec2("DeleteNetworkInterface", { NetworkInterfaceId: id });
    },
    ...deleteSubnet,
  },
  { name: "an internet gateway of a VPC with public addresses", block: nat, ...detach },
  {
    name: "an internet gateway of a VPC with a classic load balancer",
    block: classicBalancer,
    ...detach,
  },
  {
    name: "an internet gateway that is attached",
    block: async (account, net) => () => account.ec2(detach.action, detach.of(net)),
    action: "DeleteInternetGateway",
    of: ({ gatewayId }) => ({ InternetGatewayId: gatewayId }),
  },
  {
    name: "a route table that is associated",
    block: async (account, { vpcId, subnetId }) => {
      const id = await account.text(
        "CreateRouteTable",
        { VpcId: vpcId },
        "routeTable.routeTableId",
      );
      const asked = { RouteTableId: id, SubnetId: subnetId };
      const AssociationId = await account.text("AssociateRouteTable", asked, "associationId");
      return () => account.ec2("DisassociateRouteTable", { AssociationId });
    },
    action: "DeleteRouteTable",
    of: ({ vpcId }) => ({ RouteTableId: `of ${vpcId}` }),
  },
];

describe("what stands in the way of a deletion in the simulated AWS", () => {
  for (const { name, block, action, of, code = "DependencyViolation" } of cases) {
    it(`${name}: ${code}, and gone once it is not`, async () => {
      const account = new SimAccount();
      const net = await account.network();
      const unblock = await block(account, net);
      const asked = of(net);
      const [last = ""] = account.ids("routeTables").slice(-1);
      const parameters = "RouteTableId" in asked ? { RouteTableId: last } : asked;
      assert.equal(await account.code("ec2", action, parameters), code);
      await unblock();
      assert.equal(await account.code("ec2", action, parameters), "");
    });
  }

  it("a VPC with anything in it but what it came with", async () => {
    const account = new SimAccount();
    const net = await account.network();
    const { vpcId, subnetId, groupId, gatewayId } = net;
    const RouteTableId = await account.text(
      "CreateRouteTable",
      { VpcId: vpcId },
      "routeTable.routeTableId",
    );
    const refused = () => account.code("ec2", deleteVpc.action, deleteVpc.of(net));
    const steps: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ["DeleteSubnet", { SubnetId: subnetId }],
      ["DeleteSecurityGroup", { GroupId: groupId }],
      ["DeleteRouteTable", { RouteTableId }],
      ["DetachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId }],
    ];
    for (const [action, parameters] of steps) {
      assert.equal(await refused(), "DependencyViolation", `before ${action}`);
      await account.ec2(action, parameters);
    }
    assert.equal(await refused(), "");
    assert.equal(account.ids("groups").length, 1, "only that of the default VPC is left");
    assert.equal(account.ids("routeTables").length, 1);
    assert.equal(account.ids("rules").length, 2);
  });

  it("the interfaces of a deleted load balancer linger, say whose they are, and cannot be deleted", async () => {
    const account = new SimAccount({ durations: { interfacesLingerMs: 60_000 } });
    const net = await account.network();
    const asked = { Name: "api", Type: "network", Subnets: [net.subnetId] };
    const made = await account.elb("CreateLoadBalancer", asked);
    await account.elb("DeleteLoadBalancer", {
      LoadBalancerArn: at(made, "LoadBalancers.0.LoadBalancerArn"),
    });
    const filter = [{ Name: "subnet-id", Value: [net.subnetId] }];
    const shown = await account.ec2("DescribeNetworkInterfaces", { Filter: filter });
    const first = at(shown, "networkInterfaceSet.0");
    assert.match(String(at(first, "description")), /^ELB net\/api\/[0-9a-f]{16}$/);
    assert.equal(at(first, "requesterId"), "amazon-elb");
    const NetworkInterfaceId = at(first, "networkInterfaceId");
    const code = await account.code("ec2", "DeleteNetworkInterface", { NetworkInterfaceId });
    assert.equal(code, "InvalidNetworkInterface.InUse");
    account.advance(59_999);
    assert.equal(
      await account.code("ec2", "DeleteSubnet", deleteSubnet.of(net)),
      "DependencyViolation",
    );
    account.advance(1);
    assert.equal(await account.code("ec2", "DeleteSubnet", deleteSubnet.of(net)), "");
  });

  it("an address that is mapped is not released, and one of a service is as if it were not one's own", async () => {
    const account = new SimAccount();
    const net = await account.network();
    const end = await nat(account, net);
    const [AllocationId = ""] = account.ids("addresses");
    const release = (id: string) => account.code("ec2", "ReleaseAddress", { AllocationId: id });
    assert.equal(await release(AllocationId), "AuthFailure");
    await end();
    const InstanceId = await account.instance(net.subnetId, net.groupId);
    const own = await account.text("AllocateAddress", {}, "allocationId");
    await account.ec2("AssociateAddress", { AllocationId: own, InstanceId });
    assert.equal(await release(own), "InvalidIPAddress.InUse");
  });

  it("a default group is not deleted by anybody", async () => {
    const account = new SimAccount();
    const [GroupId = ""] = (await account.network(), account.ids("groups"));
    assert.equal(await account.code("ec2", "DeleteSecurityGroup", { GroupId }), "CannotDelete");
  });

  it("a volume that is attached, and a target group that a listener leads to", async () => {
    const account = new SimAccount();
    const { vpcId, subnetId, groupId } = await account.network();
    await account.instance(subnetId, groupId);
    const [VolumeId = ""] = account.ids("volumes");
    assert.equal(await account.code("ec2", "DeleteVolume", { VolumeId }), "VolumeInUse");
    await loadBalancer(account, { vpcId, subnetId, groupId, gatewayId: "" });
    const group = { Name: "api", Protocol: "TCP", Port: "6443", VpcId: vpcId };
    const TargetGroupArn = at(
      await account.elb("CreateTargetGroup", group),
      "TargetGroups.0.TargetGroupArn",
    );
    const [LoadBalancerArn = ""] = account.ids("loadBalancers");
    const DefaultActions = [{ Type: "forward", TargetGroupArn }];
    const listener = { LoadBalancerArn, Protocol: "TCP", Port: "6443", DefaultActions };
    await account.elb("CreateListener", listener);
    const remove = () =>
      account.code("elasticloadbalancing", "DeleteTargetGroup", { TargetGroupArn });
    assert.equal(await remove(), "ResourceInUse");
    await account.elb("DeleteLoadBalancer", { LoadBalancerArn });
    assert.equal(await remove(), "");
  });
});
