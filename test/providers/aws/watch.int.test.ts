import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Command } from "../../scenario/command.js";
import { Sandbox } from "../../scenario/sandbox.js";
import { until } from "../../scenario/until.js";
import { askAwsCli } from "../../support/aws-cli.js";
import { type KindCounts, plannedCounts, WatchedAccount } from "./watched-account.js";

const stack = "default.aws-demo";
const Filters = [{ Name: "tag:capstan:cluster", Values: ["default/aws-demo"] }];
const anywhere = "0.0.0.0/0";
/** Of a Service that a controller in the cluster opens. */
const servicePort = 31_080;

/** Something that a person does to a cluster, and how it is seen that it was mended. */
interface Harm {
  readonly does: string;
  readonly harm: () => Promise<unknown>;
  readonly isHealed: () => Promise<boolean>;
}

describe("a cluster on AWS that a program makes, the watch loop keeps and a destroy takes away", function () {
  this.timeout(15 * 60_000);
  let account: WatchedAccount;
  let sandbox: Sandbox;
  let watcher: Command;

  let found: KindCounts;

  before(async () => {
    account = await WatchedAccount.start();
    found = account.rows();
    sandbox = await Sandbox.make({ example: "aws" }, { env: account.env });
  });
  after(async () => {
    await sandbox.close();
    await account.stop();
  });

  const edit = (name: string, from: string, to: string) => {
    const file = join(sandbox.manifests, name);
    const text = readFileSync(file, "utf8");
    assert.ok(text.includes(from), from);
    writeFileSync(file, text.replace(from, to));
  };

  /** Is made as planned, by capstan up: hosts of AWS join with keys and tokens, which a plain pulumi up has not. */
  const isMade = async () => {
    const { steps } = await sandbox.planDocument(2);
    const before = account.lastCall;
    assert.deepEqual(account.madeAfter(0), {}, "a plan makes nothing");
    await sandbox.up();
    assert.deepEqual(account.madeAfter(before), plannedCounts(steps, "create"));
    assert.deepEqual(account.removedAfter(before), {});
    await tellsNoSecret();
  };

  /** What hosts join with is neither in their user data nor kept once they are nodes. */
  const tellsNoSecret = async () => {
    const { Reservations = [] } = await account.ec2.describeInstances({ Filters });
    const all = Reservations.flatMap(({ Instances = [] }) => Instances);
    assert.equal(all.length, 3);
    for (const { InstanceId } of all) {
      const Attribute = "userData";
      const answer = await account.ec2.describeInstanceAttribute({ InstanceId, Attribute });
      const { UserData: { Value = "" } = {} } = answer;
      const text = gunzipSync(Buffer.from(Value, "base64")).toString();
      assert.match(text, /secretsmanager\.GetSecretValue/);
      assert.doesNotMatch(text, /PRIVATE KEY|\b[a-z0-9]{6}\.[a-z0-9]{16}\b/);
    }
    const puts = account.server.aws.ledger.after(0).filter(({ action, outcome }) => {
      return action === "secretsmanager:CreateSecret" && outcome?.status === 200;
    });
    assert.equal(puts.length, 3);
    account.server.aws.advance(60_000);
    assert.equal(account.rows()["secrets"], undefined);
  };

  /** Every id that capstan tells of the cluster: of hosts, of what they share and of what lives with them. */
  const toldIds = async () => {
    const { stdout } = await sandbox.capstan(0, "describe", stack, "--json");
    const ids = [...stdout.matchAll(/"id":\s*"([^"]+)"/g)].map(([, id = ""]) => id);
    return [...new Set(ids)].sort();
  };

  /** The command line of AWS sees the same resources: those of EC2 by their tags, load balancer and group by name. */
  const isSeenByOthers = async () => {
    const aws = (...args: readonly string[]) => askAwsCli(sandbox.folder, account.env, ...args);
    const { Tags } = (await aws(
      "ec2",
      "describe-tags",
      "--filters",
      "Name=key,Values=capstan:token",
    )) as { Tags: { ResourceId: string }[] };
    const { LoadBalancers } = (await aws("elbv2", "describe-load-balancers")) as {
      LoadBalancers: { LoadBalancerArn: string }[];
    };
    const { TargetGroups } = (await aws("elbv2", "describe-target-groups")) as {
      TargetGroups: { TargetGroupArn: string }[];
    };
    const seen = [
      ...Tags.map(({ ResourceId }) => ResourceId),
      ...LoadBalancers.map(({ LoadBalancerArn }) => LoadBalancerArn),
      ...TargetGroups.map(({ TargetGroupArn }) => TargetGroupArn),
    ];
    // A listener and a target have no list of their own without those.
    const told = (await toldIds()).filter((id) => !/:listener\/|\|/.test(id));
    assert.ok(told.length > 30, told.join());
    assert.deepEqual(seen.sort(), told);
  };

  /** A plain pulumi up changes what the plan says, and both see no change then. */
  const isChangedByPulumi = async () => {
    edit("control-plane.yaml", "gib: 10", "gib: 20");
    const { steps } = await sandbox.planDocument(2);
    const before = account.lastCall;
    await sandbox.plain(0, "up", stack, "--yes", "--skip-preview");
    assert.deepEqual(plannedCounts(steps, "update"), { AwsVolume: 1 });
    const changed = account.changedAfter(before);
    assert.ok(changed.length === 1 && changed[0]?.startsWith("volumes "), changed.join());
    assert.deepEqual([account.madeAfter(before), account.removedAfter(before)], [{}, {}]);
    await sandbox.plain(0, "preview", stack, "--expect-no-changes");
  };

  const worker = async () => {
    const running = [{ Name: "instance-state-name", Values: ["running"] }];
    const named = [{ Name: "tag:capstan:name", Values: ["workers-*"] }];
    const { Reservations = [] } = await account.ec2.describeInstances({
      Filters: [...Filters, ...running, ...named],
    });
    return Reservations.flatMap(({ Instances = [] }) =>
      Instances.map(({ InstanceId = "" }) => InstanceId),
    );
  };

  const groupArn = async () => {
    const { TargetGroups = [] } = await account.elb.describeTargetGroups({});
    return TargetGroups[0]?.TargetGroupArn ?? "";
  };

  const targets = async () => {
    const TargetGroupArn = await groupArn();
    const { TargetHealthDescriptions = [] } = await account.elb.describeTargetHealth({
      TargetGroupArn,
    });
    return TargetHealthDescriptions.filter(({ TargetHealth }) => TargetHealth?.State === "healthy");
  };

  /** Rules that let something in at a port. */
  const opened = async (port: number) => {
    const { SecurityGroupRules = [] } = await account.ec2.describeSecurityGroupRules({});
    return SecurityGroupRules.filter(({ FromPort, IsEgress }) => FromPort === port && !IsEgress);
  };

  /** As the cloud controller manager does it for a Service: nobody has drifted by it. */
  const isOpenedByController = async () => {
    const { GroupId } = (await rules())[0] ?? {};
    const Description = "kubernetes.io/rule/nlb/client=a12";
    const permission = { IpProtocol: "tcp", FromPort: servicePort, ToPort: servicePort };
    await account.ec2.authorizeSecurityGroupIngress({
      GroupId,
      IpPermissions: [{ ...permission, IpRanges: [{ CidrIp: anywhere, Description }] }],
    });
    assert.match((await sandbox.capstan(0, "drift", stack)).stdout, /No drift/);
  };

  const rules = async () =>
    (await account.ec2.describeSecurityGroupRules({ Filters })).SecurityGroupRules ?? [];

  const tables = async () => (await account.ec2.describeRouteTables({ Filters })).RouteTables ?? [];

  const vpc = async () => (await account.ec2.describeVpcs({ Filters })).Vpcs?.[0];

  /** How many rules there were before one was removed. */
  let count = 0;
  const harms: readonly Harm[] = [
    {
      does: "terminates a worker",
      harm: async () =>
        account.ec2.terminateInstances({ InstanceIds: (await worker()).slice(0, 1) }),
      isHealed: async () => (await worker()).length === 2,
    },
    {
      does: "adds a rule to a group",
      harm: async () => {
        const IpPermissions = [
          { IpProtocol: "tcp", FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: anywhere }] },
        ];
        const { GroupId } = (await rules())[0] ?? {};
        await account.ec2.authorizeSecurityGroupIngress({ GroupId, IpPermissions });
      },
      isHealed: async () => (await opened(22)).length === 0,
    },
    {
      does: "removes a rule of a group",
      harm: async () => {
        const before = await rules();
        count = before.length;
        const { GroupId, SecurityGroupRuleId = "" } = before[0] ?? {};
        const SecurityGroupRuleIds = [SecurityGroupRuleId];
        await account.ec2.revokeSecurityGroupIngress({ GroupId, SecurityGroupRuleIds });
      },
      isHealed: async () => (await rules()).length === count,
    },
    {
      does: "deregisters a target",
      harm: async () => {
        const Targets = (await targets()).map(({ Target }) => ({ Id: Target?.Id }));
        await account.elb.deregisterTargets({ TargetGroupArn: await groupArn(), Targets });
      },
      isHealed: async () => (await targets()).length === 1,
    },
    {
      does: "deletes a route",
      harm: async () => {
        const RouteTableId = (await tables())[0]?.RouteTableId;
        await account.ec2.deleteRoute({ RouteTableId, DestinationCidrBlock: anywhere });
      },
      isHealed: async () =>
        (await tables()).every(({ Routes = [] }) =>
          Routes.some(({ DestinationCidrBlock }) => DestinationCidrBlock === anywhere),
        ),
    },
    {
      does: "changes a tag",
      harm: async () => {
        const Resources = [(await vpc())?.VpcId ?? ""];
        await account.ec2.createTags({ Resources, Tags: [{ Key: "project", Value: "theirs" }] });
      },
      isHealed: async () =>
        (await vpc())?.Tags?.find(({ Key }) => Key === "project")?.Value === "demo",
    },
    {
      does: "keeps addresses of clients",
      harm: async () => {
        const Attributes = [{ Key: "preserve_client_ip.enabled", Value: "true" }];
        const TargetGroupArn = await groupArn();
        await account.elb.modifyTargetGroupAttributes({ TargetGroupArn, Attributes });
      },
      isHealed: async () => {
        const TargetGroupArn = await groupArn();
        const { Attributes = [] } = await account.elb.describeTargetGroupAttributes({
          TargetGroupArn,
        });
        return (
          Attributes.find(({ Key }) => Key === "preserve_client_ip.enabled")?.Value === "false"
        );
      },
    },
  ];

  const isHealed = async () => {
    for (const { harm } of harms) await harm();
    const { stdout } = await sandbox.capstan(2, "drift", stack);
    assert.match(stdout, /3 missing, 4 changed; 7 to be corrected/);
    assert.match(stdout, /tcp 22 from 0\.0\.0\.0\/0/);
    watcher = sandbox.start("watch", "--period", "1", "-f", sandbox.manifests);
    for (const { does, harm: _, isHealed: healed } of harms) {
      const isMended = () => {
        assert.equal(watcher.hasEnded, false, watcher.said);
        return healed();
      };
      await until(`it is mended that somebody ${does}`, isMended, 240_000, 100);
    }
    await until("it is committed", () => watcher.said.includes("revision 3 committed"));
    watcher.signal("SIGINT");
    const { code } = await watcher.finished;
    assert.equal(code, 0, watcher.said);
    assert.equal((await opened(servicePort)).length, 1, "what a controller needs stays");
    assert.match((await sandbox.capstan(0, "drift", stack)).stdout, /No drift/);
  };

  /** An instance that a person has stopped is the same one afterwards. */
  const isStarted = async () => {
    const [InstanceId = ""] = await worker();
    await account.ec2.stopInstances({ InstanceIds: [InstanceId] });
    const { stdout } = await sandbox.capstan(2, "drift", stack);
    assert.match(stdout, /1 stopped; 1 to be corrected/);
    assert.match(stdout, /it is started/);
    const before = account.lastCall;
    await sandbox.up();
    assert.ok((await worker()).includes(InstanceId));
    assert.deepEqual([account.madeAfter(before), account.removedAfter(before)], [{}, {}]);
  };

  /** Workers, members and all that they share go; what was there before is there. */
  const leavesNothing = async () => {
    assert.equal((await worker()).length, 2);
    // What a person has added to a group goes with it.
    await sandbox.capstan(0, "destroy", "--yes", stack);
    // Terminated instances are shown for a while.
    account.server.aws.advance(2 * 3_600_000);
    assert.deepEqual(account.rows(), found);
  };

  it("is made and changed as planned, healed of what a person does to it, and leaves nothing", async () => {
    await isMade();
    await isSeenByOthers();
    await isChangedByPulumi();
    await isOpenedByController();
    await isHealed();
    await isStarted();
    await leavesNothing();
  });
});
