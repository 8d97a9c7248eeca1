import assert from "node:assert/strict";
import {
  controllerAdvice,
  controllerMade,
  isOfCluster,
  makerOf,
} from "../../../providers/aws/calls/leftover-owner.js";
import { expectDefined, isCapstanError } from "../../../src/api/error.js";
import type { LeftoverScope } from "../../../src/provider/leftovers.js";
import { failsWith } from "../../support/errors.js";
import {
  markTagsOf,
  refusal,
  someone,
  stubbed,
  type StubAnswers,
  stubContext as ctx,
} from "./stub-clients.js";

type TagValues = Readonly<Record<string, string>>;

const tags = (values: TagValues) => Object.entries(values).map(([Key, Value]) => ({ Key, Value }));
const ownTag = { "kubernetes.io/cluster/demo": "owned" };
const ofService = { "elbv2.k8s.aws/cluster": "demo", "service.k8s.aws/stack": "shop/web" };
const ofClaim = {
  "ebs.csi.aws.com/cluster": "true",
  CSIVolumeName: "pvc-1",
  "kubernetes.io/created-for/pvc/name": "data",
  "kubernetes.io/created-for/pvc/namespace": "shop",
};

describe("who has made what bears no marks, on AWS", () => {
  const elb = {
    name: "k8s-elb-a1",
    description: "Security group for Kubernetes ELB a1 (shop/old)",
  };
  const rows: readonly {
    readonly name: string;
    readonly given: TagValues;
    readonly group?: typeof elb;
    readonly want: string | undefined;
  }[] = [
    {
      name: "a Service's",
      given: ofService,
      want: "aws-load-balancer-controller Service shop/web",
    },
    {
      name: "an Ingress's",
      given: { "elbv2.k8s.aws/cluster": "demo", "ingress.k8s.aws/stack": "shop/front" },
      want: "aws-load-balancer-controller Ingress shop/front",
    },
    {
      name: "a group of Ingresses'",
      given: { "elbv2.k8s.aws/cluster": "demo", "ingress.k8s.aws/stack": "public" },
      want: "aws-load-balancer-controller Ingress group public",
    },
    {
      name: "the group that all share",
      given: { "elbv2.k8s.aws/cluster": "demo", "elbv2.k8s.aws/resource": "backend-sg" },
      want: "aws-load-balancer-controller all its load balancers",
    },
    {
      name: "the cloud controller's balancer",
      given: { ...ownTag, "kubernetes.io/service-name": "shop/old" },
      want: "cloud-controller-manager Service shop/old",
    },
    {
      name: "its group",
      given: ownTag,
      group: elb,
      want: "cloud-controller-manager Service shop/old",
    },
    {
      name: "a group with the cluster's tag alone",
      given: ownTag,
      group: { ...elb, name: "mine" },
      want: undefined,
    },
    {
      name: "a claim's",
      given: ofClaim,
      want: "aws-ebs-csi-driver PersistentVolumeClaim shop/data",
    },
    {
      name: "a volume without a claim",
      given: { CSIVolumeName: "pvc-1" },
      want: "aws-ebs-csi-driver PersistentVolume pvc-1",
    },
    {
      name: "an old claim's",
      given: {
        "kubernetes.io/created-for/pvc/name": "data",
        "kubernetes.io/created-for/pvc/namespace": "shop",
      },
      want: "kube-controller-manager PersistentVolumeClaim shop/data",
    },
    {
      name: "an interface of pods",
      given: { "node.k8s.amazonaws.com/instance_id": "i-1" },
      want: "amazon-vpc-cni pods of instance i-1",
    },
    { name: "a user's", given: { ...ownTag, Name: "mine" }, want: undefined },
  ];
  for (const { name, given, group, want } of rows) {
    it(`${name}: ${want ?? "nobody that is known"}`, () => {
      const maker = makerOf({ tags: tags(given), ...(group !== undefined && { group }) });
      assert.equal(maker && `${maker.by} ${maker.about ?? ""}`, want);
    });
  }

  const owners: readonly { readonly given: TagValues; readonly is: boolean }[] = [
    { given: ownTag, is: true },
    { given: ofService, is: true },
    { given: { "kubernetes.io/cluster/demo": "shared" }, is: false },
    { given: { "kubernetes.io/cluster/demo-2": "owned" }, is: false },
    { given: { "kubernetes.io/cluster/dem": "owned" }, is: false },
    { given: { ...ownTag, "kubernetes.io/cluster/demo-2": "owned" }, is: false },
    { given: { ...ownTag, "elbv2.k8s.aws/cluster": "other" }, is: false },
    { given: { ...ownTag, "ebs.csi.aws.com/cluster-name": "other" }, is: false },
    { given: ofClaim, is: false },
    { given: { ...ownTag, "capstan:token": "1" }, is: false },
    { given: {}, is: false },
  ];
  for (const { given, is } of owners) {
    it(`${Object.entries(given).join(" ")}: ${is ? "the cluster's" : "not the cluster's"}`, () => {
      assert.equal(isOfCluster(tags(given), "demo"), is);
    });
  }

  it("advises once for each cluster", () => {
    const of = (values: TagValues) => controllerMade({ tags: tags(values) }) ?? [];
    const other = { "elbv2.k8s.aws/cluster": "other", "service.k8s.aws/stack": "a/b" };
    const known = [
      of(ofService),
      of({ ...ofService }),
      of({ ...ownTag, ...ofClaim }),
      of(other),
    ].flat();
    assert.equal(
      controllerAdvice(known),
      "delete Service shop/web in cluster demo, or destroy cluster demo with --leftovers remove; delete Service a/b in cluster other, or destroy cluster other with --leftovers remove",
    );
    assert.equal(controllerAdvice([]), undefined);
  });
});

const uid = "uid";
const vpc = { kind: "AwsVpc", id: "vpc-1", isOurs: true };
const scope: LeftoverScope = { cluster: "default/demo", clusterUid: uid, places: [vpc] };
const balancer = (name: string, VpcId = "vpc-1") => ({
  LoadBalancerArn: `arn:${name}`,
  LoadBalancerName: name,
  VpcId,
});

/** A cloud that has nothing but what is given. */
function cloudWith(answers: StubAnswers) {
  const { provider, asked } = stubbed({
    describeLoadBalancers: () => ({}),
    describeTargetGroups: () => ({}),
    describeTags: () => ({}),
    "classic describeLoadBalancers": () => ({}),
    "classic describeTags": () => ({}),
    describeNetworkInterfaces: () => ({}),
    describeSecurityGroups: () => ({}),
    describeVolumes: () => ({}),
    describeInstances: () => ({}),
    ...answers,
  });
  const find = async (where = scope) => (await provider.leftovers?.(ctx, where)) ?? [];
  return { provider, asked, find };
}

const tagsByArn = (all: Readonly<Record<string, TagValues>>) => () => ({
  TagDescriptions: Object.entries(all).map(([name, values]) => ({
    ResourceArn: `arn:${name}`,
    Tags: tags(values),
  })),
});
/** Classic load balancers in the VPC, with the tags that each bears. */
const classic = (all: Readonly<Record<string, TagValues>>, VPCId = "vpc-1"): StubAnswers => ({
  "classic describeLoadBalancers": () => ({
    LoadBalancerDescriptions: Object.keys(all).map((LoadBalancerName) => ({
      LoadBalancerName,
      VPCId,
    })),
  }),
  "classic describeTags": ({ LoadBalancerNames }) => ({
    TagDescriptions: (LoadBalancerNames as string[]).map((LoadBalancerName) => ({
      LoadBalancerName,
      Tags: tags(all[LoadBalancerName] ?? {}),
    })),
  }),
});
const ofOldService = { ...ownTag, "kubernetes.io/service-name": "shop/old" };
const claims = (...ids: string[]) => ({
  describeVolumes: () => ({
    Volumes: ids.map((VolumeId) => ({
      VolumeId,
      State: "available",
      Tags: tags({ ...ownTag, ...ofClaim }),
    })),
  }),
});
const instanceOf = (Tags: object[]) => () => ({
  Reservations: [{ Instances: [{ InstanceId: "i-9", Tags }] }],
});

describe("what controllers of a cluster have left on AWS", () => {
  const neighbours = {
    describeLoadBalancers: () => ({
      LoadBalancers: [
        balancer("web"),
        balancer("theirs"),
        balancer("far", "vpc-2"),
        balancer("ours"),
      ],
    }),
    describeTags: tagsByArn({
      web: ofService,
      theirs: { ...ofService, "elbv2.k8s.aws/cluster": "demo-2" },
      far: ofService,
      ours: { ...ownTag, "capstan:clusterUid": uid },
    }),
  };

  it("is what bears its name in its VPC: no neighbour's, no other VPC's, nothing with marks", async () => {
    const found = await cloudWith(neighbours).find();
    assert.deepEqual(found, [
      {
        kind: "load balancer",
        id: "arn:web",
        name: "web",
        by: "aws-load-balancer-controller",
        about: "Service shop/web",
        blocks: "vpc-1",
        wave: 1,
      },
    ]);
  });

  it("is among classic load balancers what bears its name in its VPC", async () => {
    const theirs = { "kubernetes.io/cluster/demo-2": "owned" };
    const all = {
      a1: ofOldService,
      a2: { ...theirs, "kubernetes.io/service-name": "shop/old" },
      a3: { ...ofOldService, ...theirs },
      users: ownTag,
      marked: { ...ofOldService, "capstan:clusterUid": uid },
    };
    assert.deepEqual(await cloudWith(classic(all)).find(), [
      {
        kind: "classic load balancer",
        id: "a1",
        by: "cloud-controller-manager",
        about: "Service shop/old",
        blocks: "vpc-1",
        wave: 1,
      },
    ]);
    assert.deepEqual(await cloudWith(classic(all, "vpc-2")).find(), []);
  });

  it("is found among many classic load balancers, whose tags are told of twenty at once", async () => {
    const names = Array.from({ length: 41 }, (_, at) => `a${at}`);
    const all = Object.fromEntries(names.map((name) => [name, ofOldService]));
    const { find, asked } = cloudWith(classic(all));
    assert.deepEqual(
      (await find()).map(({ id }) => id),
      names,
    );
    const told = asked.filter(({ call }) => call === "classic describeTags");
    assert.deepEqual(
      told.map(({ input }) => (input["LoadBalancerNames"] as string[]).length),
      [20, 20, 1],
    );
  });

  it("is nothing in a network that the cluster has no more", async () => {
    const { find, asked } = cloudWith({ ...neighbours, ...claims("vol-1") });
    const found = await find({ ...scope, places: [] });
    assert.deepEqual(
      found.map(({ id }) => id),
      ["vol-1"],
    );
    assert.ok(!asked.some(({ call }) => call === "describeLoadBalancers"));
  });

  it("is in doubt where another cluster of its name lives: volumes, and all in a shared VPC", async () => {
    const other = { ...someone("AwsInstance"), cluster: "other/demo", clusterUid: "another" };
    const { find } = cloudWith({
      ...neighbours,
      ...claims("vol-1"),
      describeInstances: instanceOf(markTagsOf(other)),
    });
    const doubted = async (where: LeftoverScope) =>
      (await find(where)).filter(({ doubt }) => doubt !== undefined).map(({ id }) => id);
    assert.deepEqual(await doubted(scope), ["vol-1"]);
    const shared = { ...scope, places: [{ ...vpc, isOurs: false }] };
    assert.deepEqual(await doubted(shared), ["arn:web", "vol-1"]);
    assert.match((await find(shared))[0]?.doubt ?? "", /^instance i-9 of other\/demo bears/);
  });

  it("is in no doubt beside instances of the cluster itself", async () => {
    const own = instanceOf(markTagsOf(someone("AwsInstance")));
    const found = await cloudWith({ ...claims("vol-1"), describeInstances: own }).find();
    assert.deepEqual(
      found.map(({ doubt }) => doubt),
      [undefined],
    );
  });

  it("leaves out interfaces that go with their instance", async () => {
    const pods = tags({
      "node.k8s.amazonaws.com/instance_id": "i-1",
      "cluster.k8s.amazonaws.com/name": "demo",
    });
    const one = { VpcId: "vpc-1", TagSet: pods };
    const { find } = cloudWith({
      describeNetworkInterfaces: () => ({
        NetworkInterfaces: [
          { ...one, NetworkInterfaceId: "eni-1", Attachment: { DeleteOnTermination: true } },
          { ...one, NetworkInterfaceId: "eni-2" },
        ],
      }),
    });
    assert.deepEqual(
      (await find()).map(({ id }) => id),
      ["eni-2"],
    );
  });

  describe("and its removal", () => {
    const leftover = async (cloud: ReturnType<typeof cloudWith>, where = scope) => {
      const [first] = await cloud.find(where);
      assert.ok(first !== undefined);
      return first;
    };

    it("looks once more whose it is", async () => {
      let name = "demo";
      const cloud = cloudWith({
        describeLoadBalancers: () => ({ LoadBalancers: [balancer("web")] }),
        describeTags: () => tagsByArn({ web: { ...ofService, "elbv2.k8s.aws/cluster": name } })(),
        deleteLoadBalancer: () => ({}),
      });
      const web = await leftover(cloud);
      name = "other";
      await assert.rejects(
        async () => cloud.provider.removeLeftover?.(ctx, scope, web),
        failsWith("NOT_OURS", /load balancer web \(arn:web\) is left alone/),
      );
      assert.ok(!cloud.asked.some(({ call }) => call === "deleteLoadBalancer"));
      name = "demo";
      await cloud.provider.removeLeftover?.(ctx, scope, web);
      assert.deepEqual(cloud.asked.at(-1), {
        call: "deleteLoadBalancer",
        input: { LoadBalancerArn: "arn:web" },
      });
    });

    it("looks once more whose a classic load balancer is: anybody may have its name by then", async () => {
      const borne: Record<string, TagValues> = { a1: ofOldService };
      const cloud = cloudWith({
        ...classic(borne),
        "classic deleteLoadBalancer": () => ({}),
      });
      const one = await leftover(cloud);
      borne["a1"] = { "kubernetes.io/cluster/other": "owned" };
      await assert.rejects(
        async () => cloud.provider.removeLeftover?.(ctx, scope, one),
        failsWith("NOT_OURS", /classic load balancer a1 is left alone/),
      );
      assert.ok(!cloud.asked.some(({ call }) => call === "classic deleteLoadBalancer"));
      borne["a1"] = ofOldService;
      await cloud.provider.removeLeftover?.(ctx, scope, one);
      assert.deepEqual(cloud.asked.at(-1), {
        call: "classic deleteLoadBalancer",
        input: { LoadBalancerName: "a1" },
      });
    });

    it("is done where a classic load balancer is gone already", async () => {
      let isThere = true;
      const answers = classic({ a1: ofOldService });
      const cloud = cloudWith({
        ...answers,
        "classic describeLoadBalancers": (input) => {
          if (!isThere) throw refusal("AccessPointNotFoundException");
          return answers["classic describeLoadBalancers"]?.(input) ?? {};
        },
      });
      const one = await leftover(cloud);
      isThere = false;
      await cloud.provider.removeLeftover?.(ctx, scope, one);
    });

    it("never takes a volume while another cluster of the name lives, nor anything of a cluster that is gone", async () => {
      const cloud = cloudWith({
        ...claims("vol-1"),
        describeInstances: instanceOf([]),
        deleteVolume: () => ({}),
      });
      const volume = await leftover(cloud);
      const { places: _places, ...gone } = scope;
      for (const where of [scope, gone]) {
        await assert.rejects(
          async () => cloud.provider.removeLeftover?.(ctx, where, volume),
          failsWith("NOT_OURS"),
        );
      }
      assert.ok(!cloud.asked.some(({ call }) => call === "deleteVolume"));
    });

    it("is done where it is gone already", async () => {
      let isThere = true;
      const cloud = cloudWith({
        describeLoadBalancers: () => {
          if (!isThere) throw refusal("LoadBalancerNotFoundException");
          return { LoadBalancers: [balancer("web")] };
        },
        describeTags: tagsByArn({ web: ofService }),
      });
      const web = await leftover(cloud);
      isThere = false;
      await cloud.provider.removeLeftover?.(ctx, scope, web);
    });

    it("takes rules that name a group out of the cluster's own groups, and of nobody else's", async () => {
      const groupTags = tags(ofService);
      const pair = [{ GroupId: "sg-1" }, { GroupId: "sg-7" }];
      const naming = (GroupId: string, Tags: object[]) => ({
        GroupId,
        Tags,
        IpPermissions: [{ IpProtocol: "tcp", FromPort: 80, ToPort: 80, UserIdGroupPairs: pair }],
      });
      const cloud = cloudWith({
        describeSecurityGroups: ({ Filters }) =>
          JSON.stringify(Filters).includes(`"ip-permission.`)
            ? {
                SecurityGroups: [
                  naming("sg-node", markTagsOf(someone("AwsSecurityGroup"))),
                  naming("sg-theirs", []),
                ],
              }
            : {
                SecurityGroups: [
                  { GroupId: "sg-1", GroupName: "k8s-web", VpcId: "vpc-1", Tags: groupTags },
                ],
              },
        revokeSecurityGroupIngress: () => ({}),
        deleteSecurityGroup: () => ({}),
      });
      await cloud.provider.removeLeftover?.(ctx, scope, await leftover(cloud));
      const changes = cloud.asked.filter(({ call }) => !/^(classic )?describe/.test(call));
      assert.deepEqual(changes, [
        {
          call: "revokeSecurityGroupIngress",
          input: {
            GroupId: "sg-node",
            IpPermissions: [
              {
                IpProtocol: "tcp",
                FromPort: 80,
                ToPort: 80,
                UserIdGroupPairs: [{ GroupId: "sg-1" }],
              },
            ],
          },
        },
        { call: "deleteSecurityGroup", input: { GroupId: "sg-1" } },
      ]);
    });
  });
});

describe("a deletion that AWS refuses", () => {
  const newer = {
    describeLoadBalancers: () => ({ LoadBalancers: [balancer("web")] }),
    describeTags: tagsByArn({ web: ofService }),
  };
  const rows: readonly {
    readonly name: string;
    readonly description: string;
    readonly answers: StubAnswers;
    readonly message: string;
    readonly hint: RegExp;
  }[] = [
    {
      name: "a load balancer, who has made it, and what to do",
      description: "ELB net/web/0123456789abcdef",
      answers: newer,
      message:
        "load balancer web, made by aws-load-balancer-controller of cluster demo for Service shop/web (eni-1, eni-2)",
      hint: /^delete Service shop\/web in cluster demo, or destroy cluster demo/,
    },
    {
      name: "a classic load balancer so, and not the other one that has its name",
      description: "ELB web",
      answers: { ...newer, ...classic({ web: ofOldService }) },
      message:
        "classic load balancer web, made by cloud-controller-manager of cluster demo for Service shop/old (eni-1, eni-2)",
      hint: /^delete Service shop\/old in cluster demo, or destroy cluster demo/,
    },
    {
      name: "the interfaces of a classic load balancer that is gone",
      description: "ELB web",
      answers: {
        ...newer,
        "classic describeTags": () => {
          throw refusal("AccessPointNotFoundException");
        },
      },
      message: "eni-1 (ELB web), eni-2 (ELB web)",
      hint: /^$/,
    },
  ];
  for (const { name, description, answers, message, hint } of rows) {
    it(`names ${name}`, async () => {
      const { provider } = cloudWith({
        deleteSubnet: () => {
          throw refusal("DependencyViolation");
        },
        describeNetworkInterfaces: () => ({
          NetworkInterfaces: ["eni-1", "eni-2"].map((NetworkInterfaceId) => ({
            NetworkInterfaceId,
            Description: description,
          })),
        }),
        ...answers,
      });
      const who = someone("AwsSubnet");
      const current = { id: "subnet-1", who, phase: "ready" as const, spec: {}, status: {} };
      const handler = expectDefined(provider.handlers.get("AwsSubnet"), "subnets");
      const error: unknown = await handler.remove(ctx, current).catch((cause: unknown) => cause);
      assert.ok(isCapstanError(error), String(error));
      assert.ok(error.message.endsWith(`(in its way: ${message})`), error.message);
      assert.match(error.hint ?? "", hint);
    });
  }
});
