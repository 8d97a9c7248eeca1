import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { runtime } from "@pulumi/pulumi";
import { roleTag } from "../../providers/aws/calls/marks.js";
import { type ApiCall, providerCalls, secretRoles } from "../../stacks/aws-foundation/actions.js";
import { foundation } from "../../stacks/aws-foundation/foundation.js";
import { type Settings, settingsFrom, subnetRanges } from "../../stacks/aws-foundation/settings.js";
import { repository } from "../scenario/sandbox.js";
import { isAllowed, listOf, statementsIn } from "./iam.js";

interface Registered {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

const defaults: Settings = {
  name: "capstan",
  cidr: "10.0.0.0/16",
  zones: 3,
  natGateways: "perZone",
  inCluster: [],
  controllers: ["arn:aws:iam::123456789012:role/ci"],
  protect: true,
};

/** What a foundation registers, by Pulumi's mocks. */
async function registered(settings: Partial<Settings> = {}): Promise<readonly Registered[]> {
  const seen: Registered[] = [];
  const answers: Record<string, object> = {
    "aws:index/getAvailabilityZones:getAvailabilityZones": {
      names: ["eu-north-1a", "eu-north-1b", "eu-north-1c", "eu-north-1d"],
    },
    "aws:index/getPartition:getPartition": { partition: "aws" },
    "aws:index/getRegion:getRegion": { region: "eu-north-1" },
    "aws:index/getCallerIdentity:getCallerIdentity": { accountId: "123456789012" },
  };
  await runtime.setMocks({
    newResource: ({ type, name, inputs }) => {
      const given = inputs as Registered["inputs"];
      seen.push({ type, name, inputs: given });
      const id = `${name}-id`;
      return { id, state: { ...given, arn: `arn:aws:mock:::${type.split(":").at(-1)}/${name}` } };
    },
    call: ({ token }) => answers[token] ?? {},
  });
  await foundation({ ...defaults, ...settings });
  await runtime.disconnect();
  return seen;
}

const ofType = (all: readonly Registered[], type: string) =>
  all.filter((one) => one.type === `aws:${type}`).map(({ inputs }) => inputs);

const onlyOf = (all: readonly Registered[], type: string) => {
  const found = ofType(all, type);
  assert.equal(found.length, 1, type);
  return found[0]!;
};

const controllerPolicies = (all: readonly Registered[]) =>
  ofType(all, "iam/policy:Policy").map(({ policy }) => String(policy));

describe("the foundation on AWS", () => {
  it("lets nobody in", async () => {
    const all = await registered();
    const group = onlyOf(all, "ec2/defaultSecurityGroup:DefaultSecurityGroup");
    assert.deepEqual([group["ingress"], group["egress"]], [[], []]);
    assert.deepEqual(
      all.filter(({ type }) => /securityGroup(Ingress)?Rule|ec2\/securityGroup:/i.test(type)),
      [],
    );
    for (const subnet of ofType(all, "ec2/subnet:Subnet")) {
      assert.equal(subnet["mapPublicIpOnLaunch"], false);
    }
  });

  it("encrypts states, keeps older ones, and shows them to nobody", async () => {
    const all = await registered();
    const [rule] = onlyOf(
      all,
      "s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    )["rules"] as { applyServerSideEncryptionByDefault: object }[];
    assert.deepEqual(rule?.applyServerSideEncryptionByDefault, {
      sseAlgorithm: "aws:kms",
      kmsMasterKeyId: "arn:aws:mock:::Key/capstan",
    });
    assert.equal(onlyOf(all, "kms/key:Key")["enableKeyRotation"], true);
    const versioning = onlyOf(all, "s3/bucketVersioning:BucketVersioning");
    assert.deepEqual(versioning["versioningConfiguration"], { status: "Enabled" });
    const closed = onlyOf(all, "s3/bucketPublicAccessBlock:BucketPublicAccessBlock");
    const { bucket: _bucket, ...blocks } = closed;
    assert.deepEqual(blocks, {
      blockPublicAcls: true,
      blockPublicPolicy: true,
      ignorePublicAcls: true,
      restrictPublicBuckets: true,
    });
    const policy = String(onlyOf(all, "s3/bucketPolicy:BucketPolicy")["policy"]);
    assert.match(policy, /"Effect":"Deny".*"aws:SecureTransport":"false"/);
    assert.doesNotMatch(policy, /"Effect":"Allow"/);
    assert.equal(onlyOf(all, "s3/bucket:Bucket")["forceDestroy"], false);
  });

  it("gives rights by name: no action and no change stands for several", async () => {
    const all = await registered({ inCluster: ["loadBalancers", "volumes"] });
    const documents = ["iam/policy:Policy", "iam/rolePolicy:RolePolicy"].flatMap((type) =>
      ofType(all, type).map(({ policy }) => String(policy)),
    );
    assert.equal(documents.length, 6);
    for (const { Action, Resource } of documents.flatMap(statementsIn)) {
      for (const action of listOf(Action)) assert.doesNotMatch(action, /\*/);
      const reads = listOf(Action).every((one) =>
        /:(Describe|GetAuthorizationToken|GetServiceQuota|ListSecrets)/.test(one),
      );
      assert.ok(reads || !listOf(Resource).includes("*"), `${String(Action)} on everything`);
    }
  });

  it("keeps within what AWS takes of a policy", async () => {
    const all = await registered({ inCluster: ["loadBalancers", "volumes"] });
    for (const policy of controllerPolicies(all))
      assert.ok(policy.length <= 6_144, `${policy.length}`);
    for (const { policy } of ofType(all, "iam/rolePolicy:RolePolicy")) {
      assert.ok(String(policy).length <= 10_240, `${String(policy).length}`);
    }
  });

  it("gives the role to whom the configuration names, and to nobody else", async () => {
    const trusts = ofType(await registered(), "iam/role:Role").map(({ assumeRolePolicy }) =>
      String(assumeRolePolicy),
    );
    assert.equal(trusts.filter((one) => one.includes("role/ci")).length, 1);
    const none = await registered({ controllers: [] });
    assert.equal(ofType(none, "iam/role:Role").length, 2);
    assert.equal(ofType(none, "iam/policy:Policy").length, 4);
  });

  it("has a way out for each zone, or one", async () => {
    assert.equal(ofType(await registered(), "ec2/natGateway:NatGateway").length, 3);
    const one = await registered({ natGateways: "one" });
    assert.equal(ofType(one, "ec2/natGateway:NatGateway").length, 1);
    const routes = ofType(one, "ec2/route:Route").map(({ natGatewayId }) => natGatewayId);
    assert.equal(routes.filter((id) => id === "capstan-eu-north-1a-id").length, 3);
  });

  it("has no more zones than the region", async () => {
    await assert.rejects(registered({ zones: 5 }), /5 zones are wanted, the region has 4/);
  });

  it("gives every subnet a range of its own", () => {
    assert.deepEqual(subnetRanges("10.0.0.0/16", 3), {
      public: ["10.0.0.0/20", "10.0.16.0/20", "10.0.32.0/20"],
      private: ["10.0.128.0/20", "10.0.144.0/20", "10.0.160.0/20"],
    });
    assert.deepEqual(subnetRanges("172.31.240.0/20", 1), {
      public: ["172.31.240.0/24"],
      private: ["172.31.248.0/24"],
    });
  });

  it("names everything that is wrong with its configuration", () => {
    const values: Record<string, string> = {
      natGateways: "two",
      inCluster: "dns",
      cidr: "10.0.0.0/8",
    };
    const config = {
      get: (key: string) => values[key],
      getNumber: () => 9,
      getBoolean: () => undefined,
    };
    assert.throws(
      () => settingsFrom(config as unknown as Parameters<typeof settingsFrom>[0]),
      /natGateways is two.*inCluster has dns.*zones is 9.*cidr is 10\.0\.0\.0\/8/,
    );
  });
});

describe("the rights of whoever runs capstan", () => {
  const arn = (type: string) => `arn:aws:ec2:eu-north-1:123456789012:${type}/x-1`;
  const wanted = { "aws:RequestTag/capstan:cluster": "default/demo" };
  const borne = { "aws:ResourceTag/capstan:cluster": "default/demo" };
  const rows = [
    { name: "makes what bears marks", action: "ec2:CreateVpc", on: "vpc", facts: wanted, is: true },
    { name: "makes nothing without", action: "ec2:CreateVpc", on: "vpc", facts: {}, is: false },
    {
      name: "deletes what bears marks",
      action: "ec2:DeleteVpc",
      on: "vpc",
      facts: borne,
      is: true,
    },
    { name: "deletes nothing without", action: "ec2:DeleteVpc", on: "vpc", facts: {}, is: false },
    {
      name: "makes subnets in any VPC",
      action: "ec2:CreateSubnet",
      on: "vpc",
      facts: {},
      is: true,
    },
    {
      name: "but none without marks",
      action: "ec2:CreateSubnet",
      on: "subnet",
      facts: {},
      is: false,
    },
    {
      name: "runs instances in any subnet",
      action: "ec2:RunInstances",
      on: "subnet",
      facts: {},
      is: true,
    },
    {
      name: "but none without marks",
      action: "ec2:RunInstances",
      on: "instance",
      facts: {},
      is: false,
    },
    {
      name: "tags in a create",
      action: "ec2:CreateTags",
      on: "instance",
      facts: { "ec2:CreateAction": "RunInstances" },
      is: true,
    },
    {
      name: "tags root volumes in it",
      action: "ec2:CreateTags",
      on: "volume",
      facts: { "ec2:CreateAction": "RunInstances" },
      is: true,
    },
    {
      name: "tags nothing of others",
      action: "ec2:CreateTags",
      on: "instance",
      facts: {},
      is: false,
    },
    {
      name: "deletes groups of load balancers in a cluster",
      action: "ec2:DeleteSecurityGroup",
      on: "security-group",
      facts: { "aws:ResourceTag/elbv2.k8s.aws/cluster": "demo" },
      is: true,
    },
    {
      name: "deletes volumes of claims",
      action: "ec2:DeleteVolume",
      on: "volume",
      facts: { "aws:ResourceTag/ebs.csi.aws.com/cluster": "true" },
      is: true,
    },
    {
      name: "deletes interfaces of pods",
      action: "ec2:DeleteNetworkInterface",
      on: "network-interface",
      facts: { "aws:ResourceTag/node.k8s.amazonaws.com/instance_id": "i-1" },
      is: true,
    },
    {
      name: "deletes no interface of others",
      action: "ec2:DeleteNetworkInterface",
      on: "network-interface",
      facts: {},
      is: false,
    },
    {
      name: "ends no machine for a controller's tag",
      action: "ec2:TerminateInstances",
      on: "instance",
      facts: { "aws:ResourceTag/elbv2.k8s.aws/cluster": "demo" },
      is: false,
    },
    {
      name: "ends no machine of others",
      action: "ec2:TerminateInstances",
      on: "instance",
      facts: {},
      is: false,
    },
  ] as const;
  for (const { name, action, on, facts, is } of rows) {
    it(`${name}: ${action} on ${on}`, async () => {
      const documents = controllerPolicies(await registered());
      assert.equal(isAllowed(documents, { action, arn: arn(on), facts }), is);
    });
  }

  it("tag a listener in its create, and none of others", async () => {
    const documents = controllerPolicies(await registered());
    const ask = (facts: Readonly<Record<string, string>>) =>
      isAllowed(documents, {
        action: "elasticloadbalancing:AddTags",
        arn: "arn:aws:elasticloadbalancing:eu-north-1:123456789012:listener/net/api/1/2",
        facts,
      });
    assert.ok(ask({ "elasticloadbalancing:CreateAction": "CreateListener" }));
    assert.ok(ask(borne));
    assert.ok(!ask({}));
  });

  it("delete classic load balancers of Services, and none of others", async () => {
    const documents = controllerPolicies(await registered());
    const ask = (facts: Readonly<Record<string, string>>) =>
      isAllowed(documents, {
        action: "elasticloadbalancing:DeleteLoadBalancer",
        arn: "arn:aws:elasticloadbalancing:eu-north-1:123456789012:loadbalancer/a1",
        facts,
      });
    assert.ok(ask({ "aws:ResourceTag/kubernetes.io/service-name": "shop/old" }));
    assert.ok(!ask({ "aws:ResourceTag/Name": "shop" }));
    assert.ok(!ask({}));
  });

  const secret = "arn:aws:secretsmanager:eu-north-1:123456789012:secret:capstan-0123-AbCdEf";
  const secretRows = [
    { name: "make secrets with marks", action: "CreateSecret", facts: wanted, is: true },
    { name: "tag them in that", action: "TagResource", facts: wanted, is: true },
    { name: "make none without", action: "CreateSecret", facts: {}, is: false },
    { name: "write over what bears marks", action: "PutSecretValue", facts: borne, is: true },
    { name: "write over nothing else", action: "PutSecretValue", facts: {}, is: false },
    { name: "delete what bears marks", action: "DeleteSecret", facts: borne, is: true },
    { name: "delete nothing else", action: "DeleteSecret", facts: {}, is: false },
    { name: "read none", action: "GetSecretValue", facts: borne, is: false },
  ] as const;
  for (const { name, action, facts, is } of secretRows) {
    it(`${name}: ${action}`, async () => {
      const documents = controllerPolicies(await registered());
      const asked = { action: `secretsmanager:${action}`, facts };
      assert.equal(isAllowed(documents, { ...asked, arn: secret }), is);
      const others = secret.replace("capstan-", "shop-");
      assert.equal(isAllowed(documents, { ...asked, arn: others }), false);
    });
  }

  it("let each kind of machine read its own secrets, and no other", async () => {
    const all = ofType(await registered(), "iam/rolePolicy:RolePolicy");
    const read = (role: string, of: string, arn = secret) =>
      isAllowed(
        all
          .filter((one) => one["role"] === `capstan-${role}-id`)
          .map(({ policy }) => String(policy)),
        {
          action: "secretsmanager:GetSecretValue",
          arn,
          facts: { "aws:ResourceTag/capstan:role": of },
        },
      );
    for (const own of ["control-plane", "worker"]) {
      for (const of of ["control-plane", "worker"]) assert.equal(read(own, of), own === of);
      assert.equal(read(own, own, secret.replace("capstan-", "shop-")), false);
    }
    const provided = [true, false].map((isMember) => roleTag(isMember));
    assert.deepEqual(provided, [
      { Key: secretRoles.tag, Value: secretRoles.controlPlane },
      { Key: secretRoles.tag, Value: secretRoles.worker },
    ]);
  });

  it("give the instances' roles to instances alone", async () => {
    const documents = controllerPolicies(await registered());
    const ask = (role: string, service: string) =>
      isAllowed(documents, {
        action: "iam:PassRole",
        arn: `arn:aws:mock:::Role/${role}`,
        facts: { "iam:PassedToService": service },
      });
    assert.ok(ask("capstan-worker", "ec2.amazonaws.com"));
    assert.ok(!ask("capstan-worker", "lambda.amazonaws.com"));
    assert.ok(!ask("admin", "ec2.amazonaws.com"));
  });

  /** Names of API calls in sources: "CreateVpc", or createVpc of a client. */
  const callsIn = (folder: string): string[] => {
    const verbs =
      "[aA]dd|[aA]llocate|[aA]ssociate|[aA]ttach|[aA]uthorize|[cC]reate|[dD]elete|[dD]eregister|[dD]escribe|[dD]etach|[dD]isassociate|[gG]et|[lL]ist|[mM]odify|[pP]ut|[rR]egister|[rR]elease|[rR]emove|[rR]eplace|[rR]evoke|[rR]un|[sS]et|[sS]tart|[tT]erminate";
    const pattern = new RegExp(`"((?:${verbs})[A-Z]\\w*)"`, "g");
    const calls = readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.[jt]s$/.test(name))
      .flatMap((name) => [...readFileSync(join(folder, name), "utf8").matchAll(pattern)])
      .map(([, call = ""]) => `${call.charAt(0).toUpperCase()}${call.slice(1)}`);
    return [...new Set(calls)].sort();
  };

  /** AWS: "No permissions are required to perform this operation." */
  const freeCalls = ["GetCallerIdentity"];

  /** Calls that a table has no right for. */
  const missing = (calls: readonly string[], table: readonly ApiCall[]) =>
    calls.filter((one) => !freeCalls.includes(one) && !table.some(({ call }) => call === one));

  const provider = join(repository, "providers", "aws");
  const folders = [provider, join(repository, "examples", "provider-ec2")];
  it("cover every call of the sources, and each is missed when it is not there", () => {
    const calls = [...new Set(folders.flatMap(callsIn))];
    assert.ok(calls.length > 5, "sources name calls");
    assert.deepEqual(missing(calls, providerCalls), []);
    for (const call of calls.filter((one) => !freeCalls.includes(one))) {
      const without = providerCalls.filter((one) => one.call !== call);
      assert.deepEqual(missing(calls, without), [call]);
    }
  });

  it("are not more than the provider calls", () => {
    const calls = callsIn(provider);
    assert.deepEqual(
      providerCalls.map(({ call }) => call).filter((call) => !calls.includes(call)),
      [],
    );
  });

  it("stand in the policies, each of them", async () => {
    const documents = controllerPolicies(await registered());
    const allowed = new Set(
      documents.flatMap(statementsIn).flatMap(({ Action }) => listOf(Action)),
    );
    const lacking = providerCalls.filter(({ service, call }) => !allowed.has(`${service}:${call}`));
    assert.deepEqual(lacking, []);
  });
});
