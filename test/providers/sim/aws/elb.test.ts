import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { actOnInstance } from "../../../../providers/sim/aws/instance-acts.js";
import { at, type XmlTree } from "../xml-tree.js";
import { SimAccount } from "./account.js";

type Parameters = Readonly<Record<string, ParamTree>>;

describe("load balancers of the simulated AWS", () => {
  let account: SimAccount;
  let net: Awaited<ReturnType<SimAccount["network"]>>;
  const code = (action: string, asked: Parameters) =>
    account.code("elasticloadbalancing", action, asked);
  const arn = (answer: XmlTree, path: string) => String(at(answer, path));

  const balancer = async (more: Parameters = {}) => {
    const asked = { Name: "api", Type: "network", Subnets: [net.subnetId], ...more };
    return arn(await account.elb("CreateLoadBalancer", asked), "LoadBalancers.0.LoadBalancerArn");
  };
  const group = async () => {
    const asked = { Name: "api", Protocol: "TCP", Port: "6443", VpcId: net.vpcId };
    return arn(await account.elb("CreateTargetGroup", asked), "TargetGroups.0.TargetGroupArn");
  };
  const listener = (LoadBalancerArn: string, TargetGroupArn: string): Parameters => ({
    LoadBalancerArn,
    Protocol: "TCP",
    Port: "6443",
    DefaultActions: [{ Type: "forward", TargetGroupArn }],
  });
  const health = async (TargetGroupArn: string) => {
    const shown = await account.elb("DescribeTargetHealth", { TargetGroupArn });
    const list = at(shown, "TargetHealthDescriptions");
    return Array.isArray(list) ? list.map((one) => at(one, "TargetHealth.State")) : [];
  };

  beforeEach(async () => {
    account = new SimAccount();
    net = await account.network();
  });

  it("provision for a while, have names and ARNs of their type, and are active", async () => {
    const id = await balancer();
    assert.match(
      id,
      /^arn:aws:elasticloadbalancing:eu-north-1:123456789012:loadbalancer\/net\/api\/[0-9a-f]{16}$/,
    );
    const shown = () => account.elb("DescribeLoadBalancers", { Names: ["api"] });
    assert.equal(at(await shown(), "LoadBalancers.0.State.Code"), "provisioning");
    account.advance(90_000);
    assert.equal(at(await shown(), "LoadBalancers.0.State.Code"), "active");
    assert.match(
      arn(await shown(), "LoadBalancers.0.DNSName"),
      /^api-[0-9a-f]{16}\.elb\.eu-north-1\.amazonaws\.com$/,
    );
  });

  it("are gone with their listeners, and may be deleted again", async () => {
    const [id, groupArn] = [await balancer(), await group()];
    await account.elb("CreateListener", listener(id, groupArn));
    await account.elb("DeleteLoadBalancer", { LoadBalancerArn: id });
    assert.equal(
      await code("DescribeLoadBalancers", { LoadBalancerArns: [id] }),
      "LoadBalancerNotFound",
    );
    assert.deepEqual(account.ids("listeners"), []);
    assert.equal(await code("DeleteLoadBalancer", { LoadBalancerArn: id }), "");
  });

  it("that are protected are not deleted", async () => {
    const LoadBalancerArn = await balancer();
    const Attributes = [{ Key: "deletion_protection.enabled", Value: "true" }];
    await account.elb("ModifyLoadBalancerAttributes", { LoadBalancerArn, Attributes });
    assert.equal(await code("DeleteLoadBalancer", { LoadBalancerArn }), "OperationNotPermitted");
    const unknown = [{ Key: "colour", Value: "blue" }];
    const refused = await code("ModifyLoadBalancerAttributes", {
      LoadBalancerArn,
      Attributes: unknown,
    });
    assert.equal(refused, "ValidationError");
  });

  it("have groups from their creation on, or never", async () => {
    const [bare, grouped] = [
      await balancer(),
      await balancer({ Name: "other", SecurityGroups: [net.groupId] }),
    ];
    const [defaultGroup = ""] = account.ids("groups").slice(1);
    const set = (LoadBalancerArn: string) =>
      code("SetSecurityGroups", { LoadBalancerArn, SecurityGroups: [defaultGroup] });
    assert.equal(await set(bare), "InvalidConfigurationRequest");
    assert.equal(await set(grouped), "");
    assert.equal(await account.code("ec2", "DeleteSecurityGroup", { GroupId: net.groupId }), "");
  });

  it("leave subnets and take others", async () => {
    const LoadBalancerArn = await balancer();
    const asked = { VpcId: net.vpcId, CidrBlock: "10.0.2.0/24", AvailabilityZone: "eu-north-1b" };
    const other = await account.text("CreateSubnet", asked, "subnet.subnetId");
    await account.elb("SetSubnets", { LoadBalancerArn, Subnets: [other] });
    const shown = await account.elb("DescribeLoadBalancers");
    assert.equal(at(shown, "LoadBalancers.0.AvailabilityZones.0.SubnetId"), other);
    assert.equal(
      await account.code("ec2", "DeleteSubnet", { SubnetId: net.subnetId }),
      "DependencyViolation",
    );
    account.advance(60_000);
    assert.equal(await account.code("ec2", "DeleteSubnet", { SubnetId: net.subnetId }), "");
  });

  it("stay in their VPC", async () => {
    const other = await account.network();
    const LoadBalancerArn = await balancer();
    assert.equal(
      await code("SetSubnets", { LoadBalancerArn, Subnets: [other.subnetId] }),
      "InvalidConfigurationRequest",
    );
    const asked = {
      VpcId: other.vpcId,
      CidrBlock: "10.0.2.0/24",
      AvailabilityZone: "eu-north-1b",
    };
    const elsewhere = await account.text("CreateSubnet", asked, "subnet.subnetId");
    const both = { Name: "both", Type: "network", Subnets: [net.subnetId, elsewhere] };
    assert.equal(await code("CreateLoadBalancer", both), "InvalidConfigurationRequest");
  });

  const refusals: readonly (readonly [string, () => Parameters, string])[] = [
    ["of a type that is not modelled", () => ({ Type: "application" }), "ValidationError"],
    ["with a name that ends with a hyphen", () => ({ Name: "api-" }), "ValidationError"],
    ["in a subnet that is not there", () => ({ Subnets: ["subnet-0"] }), "SubnetNotFound"],
    [
      "twice in one zone",
      () => ({ Subnets: [net.subnetId, net.subnetId] }),
      "InvalidConfigurationRequest",
    ],
    [
      "with a group that is not there",
      () => ({ SecurityGroups: ["sg-0"] }),
      "InvalidSecurityGroup",
    ],
    [
      "with an address that is not there",
      () => ({
        Subnets: [],
        SubnetMappings: [{ SubnetId: net.subnetId, AllocationId: "eipalloc-0" }],
      }),
      "AllocationIdNotFound",
    ],
  ];
  for (const [name, more, want] of refusals) {
    it(`${name}: ${want}`, async () => {
      const asked = { Name: "api", Type: "network", Subnets: [net.subnetId], ...more() };
      assert.equal(await code("CreateLoadBalancer", asked), want);
      assert.deepEqual(account.ids("interfaces"), []);
    });
  }

  it("a VPC without an internet gateway has internal ones only", async () => {
    const { vpcId, gatewayId } = net;
    await account.ec2("DetachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId });
    await assert.rejects(balancer(), { code: "InvalidSubnet" });
    assert.match(await balancer({ Scheme: "internal" }), /net\/api/);
  });

  it("targets are unused, initial, healthy, unhealthy, draining, and gone", async () => {
    const [LoadBalancerArn, TargetGroupArn] = [await balancer(), await group()];
    const Id = await account.instance(net.subnetId, net.groupId);
    const asked = { TargetGroupArn, Targets: [{ Id }] };
    await account.elb("RegisterTargets", asked);
    assert.deepEqual(await health(TargetGroupArn), ["unused"]);
    await account.elb("CreateListener", listener(LoadBalancerArn, TargetGroupArn));
    assert.deepEqual(await health(TargetGroupArn), ["initial"]);
    account.advance(30_000);
    assert.deepEqual(await health(TargetGroupArn), ["healthy"]);
    actOnInstance(account.aws, { id: Id, health: "unhealthy" });
    assert.deepEqual(await health(TargetGroupArn), ["unhealthy"]);
    await account.elb("DeregisterTargets", asked);
    assert.deepEqual(await health(TargetGroupArn), ["draining"]);
    account.advance(300_000);
    assert.deepEqual(await health(TargetGroupArn), []);
    await account.elb("DeregisterTargets", asked);
  });

  it("an instance that does not run is no target, and one that ends is one no more", async () => {
    const [LoadBalancerArn, TargetGroupArn] = [await balancer(), await group()];
    await account.elb("CreateListener", listener(LoadBalancerArn, TargetGroupArn));
    const launch = await account.launch(net.subnetId, net.groupId);
    const Id = await account.text("RunInstances", launch, "instancesSet.0.instanceId");
    const asked = { TargetGroupArn, Targets: [{ Id }] };
    assert.equal(await code("RegisterTargets", asked), "InvalidTarget");
    account.advance(60_000);
    await account.elb("RegisterTargets", asked);
    await account.ec2("TerminateInstances", { InstanceId: [Id] });
    assert.deepEqual(await health(TargetGroupArn), ["unused"]);
    account.advance(60_000);
    assert.deepEqual(await health(TargetGroupArn), []);
  });

  it("a listener's port is its own, and the same listener again is the one that is there", async () => {
    const [id, groupArn] = [await balancer(), await group()];
    const first = await account.elb("CreateListener", listener(id, groupArn));
    const again = await account.elb("CreateListener", listener(id, groupArn));
    assert.deepEqual(again, first);
    const other = { Name: "other", Protocol: "TCP", Port: "80", VpcId: net.vpcId };
    const otherArn = arn(
      await account.elb("CreateTargetGroup", other),
      "TargetGroups.0.TargetGroupArn",
    );
    assert.equal(await code("CreateListener", listener(id, otherArn)), "DuplicateListener");
    const ListenerArn = arn(first, "Listeners.0.ListenerArn");
    const DefaultActions = [{ Type: "forward", TargetGroupArn: otherArn }];
    await account.elb("ModifyListener", { ListenerArn, DefaultActions });
    assert.equal(await code("DeleteTargetGroup", { TargetGroupArn: groupArn }), "");
    await account.elb("DeleteListener", { ListenerArn });
    assert.equal(await code("DeleteListener", { ListenerArn }), "ListenerNotFound");
  });

  it("tags are set, shown and taken away, and the missing are named", async () => {
    const id = await balancer({ Tags: [{ Key: "a", Value: "1" }] });
    await account.elb("AddTags", { ResourceArns: [id], Tags: [{ Key: "b", Value: "2" }] });
    await account.elb("RemoveTags", { ResourceArns: [id], TagKeys: ["a"] });
    const shown = await account.elb("DescribeTags", { ResourceArns: [id] });
    assert.deepEqual(at(shown, "TagDescriptions.0.Tags"), [{ Key: "b", Value: "2" }]);
    const missing = await code("DescribeTags", { ResourceArns: [`${id}x`] });
    assert.equal(missing, "LoadBalancerNotFound");
  });

  it("are listed in pages", async () => {
    for (const Name of ["a", "b", "c"]) await balancer({ Name });
    const first = await account.elb("DescribeLoadBalancers", { PageSize: "2" });
    const Marker = arn(first, "NextMarker");
    const second = await account.elb("DescribeLoadBalancers", { PageSize: "2", Marker });
    const names = [first, second].flatMap((page) => at(page, "LoadBalancers") as XmlTree[]);
    assert.deepEqual(
      names.map((one) => at(one, "LoadBalancerName")),
      ["a", "b", "c"],
    );
    assert.equal(at(second, "NextMarker"), "");
  });
});
