import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FaultEffect } from "../../../../providers/sim/core/faults.js";
import { SimulatedAws } from "../../../../providers/sim/aws/simulated-aws.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { scratchFolder } from "../../../support/scratch.js";
import { at, type XmlTree } from "../xml-tree.js";
import { accessKey, region, SimAccount } from "./account.js";

const vpc = { CidrBlock: "10.0.0.0/16" };

describe("calls to the simulated AWS", () => {
  it("a dry run changes nothing, and says that it would have worked", async () => {
    const account = new SimAccount({ defaultVpc: false });
    assert.equal(
      await account.code("ec2", "CreateVpc", { ...vpc, DryRun: "true" }),
      "DryRunOperation",
    );
    assert.deepEqual(account.ids("vpcs"), []);
  });

  it("what is not modelled is refused, and nothing of it is done", async () => {
    const account = new SimAccount({ defaultVpc: false });
    assert.equal(
      await account.code("ec2", "CreateVpc", { ...vpc, Ipv6Pool: "x" }),
      "UnknownParameter",
    );
    assert.equal(await account.code("ec2", "CreateFlyingCarpet"), "InvalidAction");
    assert.equal(await account.code("ssm", "CreateFlyingCarpet"), "UnknownOperationException");
    assert.equal(await account.code("s3", "ListBuckets"), "InvalidAction");
    assert.deepEqual(account.ids("vpcs"), []);
  });

  it("lists come in pages, each thing once", async () => {
    const account = new SimAccount();
    const { vpcId } = await account.network();
    for (let n = 2; n < 14; n += 1) {
      await account.ec2("CreateSubnet", { VpcId: vpcId, CidrBlock: `10.0.${n}.0/24` });
    }
    const seen: XmlTree[] = [];
    const Filter = [{ Name: "vpc-id", Value: [vpcId] }];
    let NextToken = "";
    do {
      const page = await account.ec2("DescribeSubnets", {
        Filter,
        MaxResults: "5",
        ...(NextToken && { NextToken }),
      });
      seen.push(...(at(page, "subnetSet") as XmlTree[]));
      NextToken = String(at(page, "nextToken"));
    } while (NextToken !== "");
    assert.equal(seen.length, 13);
    assert.equal(new Set(seen.map((one) => at(one, "subnetId"))).size, 13);
  });

  it("accounts and regions are apart, and each has the same ids every time", async () => {
    const ids = async () => {
      const account = new SimAccount({
        accessKeys: { OTHER: { principal: "arn:aws:iam::2:user/x", account: "2" } },
      });
      await account.ec2("CreateVpc", vpc);
      const other = await account.call("ec2", "DescribeVpcs", {}, "OTHER");
      assert.equal((at(other, "vpcSet") as XmlTree[]).length, 1);
      const elsewhere = {
        service: "ec2",
        action: "DescribeVpcs",
        parameters: {},
        accessKey,
        region: "us-east-1",
      };
      assert.equal((await account.aws.call(elsewhere))?.body.includes("10.0.0.0/16"), false);
      return account.ids("vpcs");
    };
    assert.deepEqual(await ids(), await ids());
  });

  describe("who may do what", () => {
    const principal = "arn:aws:iam::123456789012:user/limited";
    const allow = ["ec2:Describe*", "ec2:createvpc", "ssm:GetParameter"];
    const accessKeys = { LIMITED: { principal, account: "123456789012", allow } };
    const refused = async (service: string, action: string, parameters = {}) =>
      new SimAccount({ accessKeys }).call(service, action, parameters, "LIMITED").then(
        () => "",
        (error: unknown) => error,
      );

    it("an action in the list is allowed, whatever its capital letters", async () => {
      assert.equal(await refused("ec2", "DescribeVpcs"), "");
      assert.equal(await refused("ec2", "CreateVpc", vpc), "");
    });

    it("others are refused in the words of each service, with action and resource", async () => {
      const says = (action: string, arn: string) =>
        new RegExp(
          `User: ${principal} is not authorized to perform: ${action} on resource: ${arn} because no identity-based policy allows the ${action} action$`,
        );
      const cases = [
        [
          "ec2",
          "AllocateAddress",
          {},
          "UnauthorizedOperation",
          403,
          says("ec2:AllocateAddress", "arn:aws:ec2:eu-north-1:123456789012:elastic-ip/\\*"),
        ],
        [
          "ec2",
          "DeleteVpc",
          { VpcId: "vpc-00000000" },
          "UnauthorizedOperation",
          403,
          /resource: \S+:vpc\/vpc-00000000 because/,
        ],
        [
          "elasticloadbalancing",
          "CreateTargetGroup",
          { Name: "x" },
          "AccessDenied",
          403,
          /targetgroup\/\* because/,
        ],
        [
          "ssm",
          "PutParameter",
          { Name: "/a" },
          "AccessDeniedException",
          400,
          /:parameter\/a because/,
        ],
      ] as const;
      for (const [service, action, parameters, code, status, message] of cases) {
        const error = await refused(service, action, parameters);
        assert.deepEqual({ ...(error as object) }, { code, status }, action);
        assert.match((error as Error).message, message);
      }
    });

    it("tags in a create call, and a role that is passed on, are actions of their own", async () => {
      const TagSpecification = [{ ResourceType: "vpc", Tag: [{ Key: "a", Value: "b" }] }];
      const error = await refused("ec2", "CreateVpc", { ...vpc, TagSpecification });
      assert.match(String(error), /not authorized to perform: ec2:CreateTags/);
      const more = { ...accessKeys.LIMITED, allow: ["ec2:*"] };
      const account = new SimAccount({ accessKeys: { LIMITED: more } });
      const { subnetId, groupId } = await account.network();
      const launch = await account.launch(subnetId, groupId, {
        IamInstanceProfile: { Name: "nodes" },
      });
      await assert.rejects(
        account.call("ec2", "RunInstances", launch, "LIMITED"),
        /perform: iam:PassRole on resource: \S+:role\/nodes/,
      );
    });

    it("a key that nobody has is refused, where the settings want it", async () => {
      const account = new SimAccount({ refuseUnknownKeys: true });
      assert.equal(await account.code("ec2", "DescribeVpcs"), "AuthFailure");
      assert.equal(await account.code("sts", "GetCallerIdentity"), "InvalidClientTokenId");
      assert.equal(
        await account.code("ssm", "GetParameter", { Name: "a" }),
        "UnrecognizedClientException",
      );
    });

    it("the session of a role is somebody else, in the role's account, with its rights", async () => {
      const role = "arn:aws:iam::999999999999:role/path/capstan";
      const account = new SimAccount({ roles: { [role]: { allow: ["sts:*"] } } });
      const asked = { RoleArn: role, RoleSessionName: "me" };
      const key = String(
        at(await account.call("sts", "AssumeRole", asked), "Credentials.AccessKeyId"),
      );
      const who = await account.call("sts", "GetCallerIdentity", {}, key);
      assert.equal(at(who, "Account"), "999999999999");
      assert.equal(at(who, "Arn"), "arn:aws:sts::999999999999:assumed-role/capstan/me");
      assert.equal(await account.code("ec2", "DescribeVpcs", {}, key), "UnauthorizedOperation");
    });
  });

  it("Describe calls lag: what was made is not found yet, what was deleted still is", async () => {
    const account = new SimAccount({ describeLagMs: 5_000, defaultVpc: false });
    const VpcId = await account.text("CreateVpc", vpc, "vpc.vpcId");
    const look = () => account.code("ec2", "DescribeVpcs", { VpcId: [VpcId] });
    assert.equal(await look(), "InvalidVpcID.NotFound");
    account.advance(4_999);
    assert.equal(await look(), "InvalidVpcID.NotFound");
    account.advance(1);
    assert.equal(await look(), "");
    await account.ec2("DeleteVpc", { VpcId });
    assert.equal(await look(), "", "it has gone, and is still shown");
    assert.equal(
      await account.code("ec2", "DeleteVpc", { VpcId }),
      "InvalidVpcID.NotFound",
      "changes do not lag",
    );
    account.advance(5_000);
    assert.equal(await look(), "InvalidVpcID.NotFound");
  });

  it("calls are limited by action, and go on as tokens come back", async () => {
    const account = new SimAccount({
      throttle: true,
      rates: { "ec2:CreateVpc": { capacity: 1, perSecond: 1 } },
    });
    const create = () => account.code("ec2", "CreateVpc", vpc);
    assert.deepEqual([await create(), await create()], ["", "RequestLimitExceeded"]);
    assert.equal(
      await account.code("ec2", "DescribeVpcs"),
      "",
      "another action has tokens of its own",
    );
    account.advance(1_000);
    assert.equal(await create(), "");
    const launches = await Promise.all(
      Array.from({ length: 6 }, () => account.code("ec2", "RunInstances")),
    );
    assert.equal(
      launches.filter((code) => code === "RequestLimitExceeded").length,
      1,
      "five at once",
    );
  });

  it("Elastic Load Balancing has one limit for all that looks", async () => {
    const account = new SimAccount({ throttle: true });
    const look = (action: string) => account.code("elasticloadbalancing", action);
    const codes = await Promise.all(
      Array.from({ length: 41 }, (_, at) =>
        look(at % 2 === 0 ? "DescribeLoadBalancers" : "DescribeTargetGroups"),
      ),
    );
    assert.deepEqual(
      codes.filter((code) => code !== ""),
      ["Throttling"],
    );
    account.advance(100);
    assert.equal(await look("DescribeTargetGroups"), "");
  });

  describe("what goes wrong by order", () => {
    const outcome = async (effect: FaultEffect) => {
      const account = new SimAccount({ defaultVpc: false });
      account.aws.faults.add({ action: "CreateVpc", effect });
      const code = await account.code("ec2", "CreateVpc", vpc);
      return [code, account.ids("vpcs").length];
    };

    it("a refusal has no effect, and any code", async () => {
      assert.deepEqual(await outcome({ kind: "refuse", code: "InternalError" }), [
        "InternalError",
        0,
      ]);
    });

    it("a cut before has no effect, one after has", async () => {
      assert.deepEqual(await outcome({ kind: "cut", when: "before" }), ["cut", 0]);
      assert.deepEqual(await outcome({ kind: "cut", when: "after" }), ["cut", 1]);
    });

    for (const [when, how, want] of [
      ["before", "go", ["", 1]],
      ["before", "cut", ["cut", 0]],
      ["after", "go", ["", 1]],
      ["after", "cut", ["cut", 1]],
    ] as const) {
      it(`a call that is held ${when} its effect, then ${how}`, async () => {
        const account = new SimAccount({ defaultVpc: false });
        account.aws.faults.add({ action: "mutating", skip: 1, effect: { kind: "hold", when } });
        await account.ec2("CreateInternetGateway");
        const going = account.code("ec2", "CreateVpc", vpc);
        await Promise.resolve();
        assert.deepEqual(account.aws.held.list(), [{ seq: 2, action: "CreateVpc", when }]);
        assert.equal(account.ids("vpcs").length, when === "before" ? 0 : 1);
        assert.equal(account.aws.held.release(how), 1);
        assert.deepEqual([await going, account.ids("vpcs").length], want);
      });
    }

    it("a delay passes before the effect, in the cloud's own time", async () => {
      const clock = new FakeClock();
      const aws = new SimulatedAws({ clock, speed: 2 });
      aws.faults.add({ action: "*", effect: { kind: "delay", ms: 500 } });
      await aws.call({ service: "ec2", action: "CreateVpc", parameters: vpc, accessKey, region });
      assert.deepEqual(clock.slept, [250]);
    });
  });

  it("the ledger tells every call: who, what, what came of it, and what has changed", async () => {
    const account = new SimAccount({ defaultVpc: false });
    const VpcId = await account.text("CreateVpc", vpc, "vpc.vpcId");
    await account.code("ec2", "DeleteVpc", { VpcId: "vpc-00000000" });
    account.aws.faults.add({ action: "DeleteVpc", effect: { kind: "cut", when: "after" } });
    await account.code("ec2", "DeleteVpc", { VpcId });
    await account.ec2("DescribeVpcs");
    const told = account.aws.ledger.after(0).map(({ action, isMutating, faults, outcome }) => ({
      call: `${action}${isMutating ? "!" : ""}`,
      faults,
      status: outcome?.status,
      code: outcome?.code,
      changes: outcome?.changes.filter((change) => change.includes("vpcs")),
    }));
    assert.deepEqual(told, [
      {
        call: "ec2:CreateVpc!",
        faults: [],
        status: 200,
        code: undefined,
        changes: [`+ vpcs ${VpcId}`],
      },
      {
        call: "ec2:DeleteVpc!",
        faults: [],
        status: 400,
        code: "InvalidVpcID.NotFound",
        changes: [],
      },
      {
        call: "ec2:DeleteVpc!",
        faults: ["cut after"],
        status: 0,
        code: undefined,
        changes: [`- vpcs ${VpcId}`],
      },
      { call: "ec2:DescribeVpcs", faults: [], status: 200, code: undefined, changes: [] },
    ]);
    assert.equal(account.aws.ledger.after(3).length, 1);
  });

  describe("in a file", () => {
    const scratch = scratchFolder();

    it("accounts, tokens and sessions outlive the process, and time does not go back", async () => {
      const file = join(scratch.path, "aws.json");
      const first = new SimAccount({}, file);
      const net = await first.network();
      const asked = { ...(await first.launch(net.subnetId, net.groupId)), ClientToken: "t" };
      const id = await first.text("RunInstances", asked, "instancesSet.0.instanceId");
      const role = { RoleArn: "arn:aws:iam::999999999999:role/r", RoleSessionName: "s" };
      const key = String(
        at(await first.call("sts", "AssumeRole", role), "Credentials.AccessKeyId"),
      );
      first.advance(60_000);
      first.aws.keep();

      const second = new SimAccount({}, file);
      assert.equal(await second.stateOf(id), "running");
      assert.equal(await second.text("RunInstances", asked, "instancesSet.0.instanceId"), id);
      assert.equal(
        at(await second.call("sts", "GetCallerIdentity", {}, key), "Account"),
        "999999999999",
      );
      assert.ok(second.aws.clock.now() >= first.aws.clock.now());
      const fresh = await second.text("CreateVpc", { CidrBlock: "10.9.0.0/16" }, "vpc.vpcId");
      assert.equal(new Set([...second.ids("vpcs"), fresh]).size, 3, "ids go on where they were");
    });

    it("of another version is refused", () => {
      const file = join(scratch.path, "newer.json");
      writeFileSync(file, JSON.stringify({ version: 2, nowMs: 0, regions: {}, sessions: {} }));
      assert.throws(() => new SimAccount({}, file), /not a state of this version/);
    });
  });

  it("a reset leaves nothing but the settings", async () => {
    const account = new SimAccount({ defaultVpc: false, quotas: { vpcs: 1 } });
    await account.ec2("CreateVpc", vpc);
    account.aws.faults.add({ action: "*", effect: { kind: "cut", when: "before" } });
    account.aws.reset();
    assert.deepEqual([account.ids("vpcs"), account.aws.ledger.after(0)], [[], []]);
    assert.equal(await account.code("ec2", "CreateVpc", vpc), "");
    assert.equal(await account.code("ec2", "CreateVpc", vpc), "VpcLimitExceeded");
  });
});
