import assert from "node:assert/strict";
import type { ParamTree } from "../../../../providers/sim/aws/protocol/params.js";
import { at, type XmlTree } from "../xml-tree.js";
import { classicElb, SimAccount } from "./account.js";

type Parameters = Readonly<Record<string, ParamTree>>;

const listener = { Protocol: "TCP", LoadBalancerPort: "80", InstancePort: "30080" };
const web = { LoadBalancerName: "web" };

describe("classic load balancers of the simulated AWS", () => {
  let account: SimAccount;
  let net: Awaited<ReturnType<SimAccount["network"]>>;
  const code = (action: string, asked: Parameters) => account.code(classicElb, action, asked);
  const wish = (more: Parameters = {}): Parameters => ({
    ...web,
    Listeners: [listener],
    Subnets: [net.subnetId],
    SecurityGroups: [net.groupId],
    ...more,
  });
  const balancer = (more: Parameters = {}) => account.classicElb("CreateLoadBalancer", wish(more));
  const shown = async (asked: Parameters = {}) =>
    at(await account.classicElb("DescribeLoadBalancers", asked), "LoadBalancerDescriptions.0");
  const interfaces = async () => {
    const Filter = [{ Name: "requester-id", Value: ["amazon-elb"] }];
    return at(await account.ec2("DescribeNetworkInterfaces", { Filter }), "networkInterfaceSet");
  };

  beforeEach(async () => {
    account = new SimAccount();
    net = await account.network();
  });

  it("are there at once, by their names, and in no listing of the others", async () => {
    const made = await balancer();
    assert.match(
      String(at(made, "DNSName")),
      /^web-[0-9a-f]{10}\.eu-north-1\.elb\.amazonaws\.com$/,
    );
    const one = await shown({ LoadBalancerNames: ["web"] });
    assert.deepEqual(
      ["LoadBalancerName", "VPCId", "Subnets.0", "SecurityGroups.0", "Scheme"].map((path) =>
        at(one, path),
      ),
      ["web", net.vpcId, net.subnetId, net.groupId, "internet-facing"],
    );
    assert.deepEqual(at(one, "ListenerDescriptions.0.Listener"), {
      Protocol: "TCP",
      LoadBalancerPort: "80",
      InstanceProtocol: "TCP",
      InstancePort: "30080",
    });
    const others = await account.elb("DescribeLoadBalancers");
    assert.equal(at(others, "LoadBalancers"), "");
  });

  it("have interfaces that say whose they are, that nobody else deletes, and that linger", async () => {
    await balancer();
    const [one] = (await interfaces()) as XmlTree[];
    assert.deepEqual(
      ["description", "interfaceType", "requesterManaged"].map((path) => at(one ?? "", path)),
      ["ELB web", "interface", "true"],
    );
    const NetworkInterfaceId = at(one ?? "", "networkInterfaceId");
    const remove = () => account.code("ec2", "DeleteNetworkInterface", { NetworkInterfaceId });
    assert.equal(await remove(), "InvalidNetworkInterface.InUse");
    await account.classicElb("DeleteLoadBalancer", web);
    assert.equal(await shown(), "");
    account.advance(59_999);
    assert.equal(await remove(), "InvalidNetworkInterface.InUse");
    account.advance(1);
    assert.equal(await interfaces(), "");
  });

  it("may be deleted again, and are missed by whoever names them", async () => {
    await balancer();
    for (const _ of [1, 2]) assert.equal(await code("DeleteLoadBalancer", web), "");
    const named = { LoadBalancerNames: ["web"] };
    const Tags = [{ Key: "a", Value: "1" }];
    assert.equal(await code("DescribeLoadBalancers", named), "LoadBalancerNotFound");
    assert.equal(await code("DescribeTags", named), "LoadBalancerNotFound");
    assert.equal(await code("AddTags", { ...named, Tags }), "LoadBalancerNotFound");
  });

  it("are made once for a name, and the name is another one than that of the newer API", async () => {
    const first = await balancer();
    assert.deepEqual(await balancer(), first);
    assert.equal(
      await code("CreateLoadBalancer", wish({ Tags: [{ Key: "a", Value: "1" }] })),
      "DuplicateLoadBalancerName",
    );
    await account.elb("CreateLoadBalancer", {
      Name: "web",
      Type: "network",
      Subnets: [net.subnetId],
    });
    assert.deepEqual(account.ids("classicLoadBalancers"), ["web"]);
    assert.equal(account.ids("loadBalancers").length, 1);
  });

  it("bear tags that are set, shown and taken away, of twenty at most at once", async () => {
    await balancer({ Tags: [{ Key: "a", Value: "1" }] });
    const named = { LoadBalancerNames: ["web"] };
    await account.classicElb("AddTags", { ...named, Tags: [{ Key: "b", Value: "2" }] });
    await account.classicElb("RemoveTags", { ...named, Tags: [{ Key: "a" }] });
    const told = await account.classicElb("DescribeTags", named);
    assert.deepEqual(at(told, "TagDescriptions.0.Tags"), [{ Key: "b", Value: "2" }]);
    const many = Array.from({ length: 21 }, () => "web");
    assert.equal(await code("DescribeTags", { LoadBalancerNames: many }), "ValidationError");
    assert.equal(await code("DescribeTags", {}), "ValidationError");
  });

  it("are listed in pages, and are twenty at most", async () => {
    for (let index = 0; index < 20; index += 1) {
      await balancer({ LoadBalancerName: `web-${index}` });
    }
    assert.equal(await code("CreateLoadBalancer", wish()), "TooManyLoadBalancers");
    const first = await account.classicElb("DescribeLoadBalancers", { PageSize: "19" });
    const Marker = String(at(first, "NextMarker"));
    const second = await account.classicElb("DescribeLoadBalancers", { PageSize: "19", Marker });
    assert.equal(at(second, "LoadBalancerDescriptions.0.LoadBalancerName"), "web-19");
    assert.equal(at(second, "NextMarker"), "");
  });

  it("without groups are in that of their VPC, but for the default one", async () => {
    await balancer({ SecurityGroups: [] });
    assert.equal(at(await shown(), "SourceSecurityGroup.GroupName"), "default");
    const [own = ""] = account.ids("subnets");
    const asked = wish({ LoadBalancerName: "other", Subnets: [own], SecurityGroups: [] });
    assert.equal(await code("CreateLoadBalancer", asked), "ValidationError");
  });

  it("are told from others by rights", async () => {
    const principal = "arn:aws:iam::123456789012:user/me";
    const key = { principal, account: "123456789012", allow: [] };
    account.aws.change({ accessKeys: { AKIDNONE: key } });
    await assert.rejects(account.call(classicElb, "DeleteLoadBalancer", web, "AKIDNONE"), {
      code: "AccessDenied",
      message: /elasticloadbalancing:DeleteLoadBalancer on resource: \S+:loadbalancer\/web/,
    });
  });

  const refusals: readonly (readonly [string, () => Parameters, string])[] = [
    ["without a listener", () => ({ Listeners: [] }), "ValidationError"],
    ["without a subnet", () => ({ Subnets: [] }), "ValidationError"],
    [
      "with a name that begins with a hyphen",
      () => ({ LoadBalancerName: "-web" }),
      "ValidationError",
    ],
    [
      "of a protocol that needs a certificate",
      () => ({ Listeners: [{ ...listener, Protocol: "HTTPS" }] }),
      "ValidationError",
    ],
    [
      "with a port that there is not",
      () => ({ Listeners: [{ ...listener, InstancePort: "0" }] }),
      "ValidationError",
    ],
    ["of a scheme that there is not", () => ({ Scheme: "public" }), "InvalidScheme"],
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
    ["with what is not modelled", () => ({ AvailabilityZones: ["a"] }), "UnknownParameter"],
  ];
  for (const [name, more, want] of refusals) {
    it(`${name}: ${want}`, async () => {
      assert.equal(await code("CreateLoadBalancer", wish(more())), want);
      assert.deepEqual(account.ids("interfaces"), []);
    });
  }

  it("a VPC without an internet gateway has internal ones only", async () => {
    const { vpcId, gatewayId } = net;
    await account.ec2("DetachInternetGateway", { VpcId: vpcId, InternetGatewayId: gatewayId });
    assert.equal(await code("CreateLoadBalancer", wish()), "InvalidSubnet");
    const made = await balancer({ Scheme: "internal" });
    assert.match(String(at(made, "DNSName")), /^internal-web-/);
  });
});
