import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WatchedAccount } from "../providers/aws/watched-account.js";
import { AwsPluginDouble } from "../scenario/aws-plugin-double.js";
import { makeNetworksIn } from "../scenario/native-network.js";
import { repository, Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { UserProjectFolder, userStack } from "../scenario/user-project.js";

const hold = { kind: "hold", when: "before" } as const;
const upArgs = ["up", "--yes", "--skip-preview", "--stack", userStack, "--non-interactive"];
const example = join(repository, "examples", "pulumi-aws");

/** A second member, as the example says that there may be. */
function secondMember(machines: string): string {
  const [member = ""] = machines.split("---");
  return `---\n${member.replace("name: cp-0", "name: cp-1")}`;
}

describe("a cluster on AWS in a Pulumi program that makes its network", () => {
  let sandbox: Sandbox;
  let project: UserProjectFolder;
  let account: WatchedAccount;
  let aws: AwsPluginDouble;
  let machines: string;

  beforeEach(async () => {
    aws = await AwsPluginDouble.start();
    account = await WatchedAccount.start();
    makeNetworksIn(account.ec2, aws);
    sandbox = await Sandbox.make({ objects: [] });
    project = await UserProjectFolder.make(sandbox);
    project.more = { ...account.env, ...aws.env };
    for (const name of ["index.js", "clusters"]) {
      cpSync(join(example, name), join(project.folder, name), { recursive: true });
    }
    writeFileSync(join(project.folder, "program.js"), 'export * from "./index.js";');
    machines = join(project.folder, "clusters", "demo", "machines.yaml");
    for (const [key, value] of [
      ["zoneId", "Z1"],
      ["domain", "api.example.org"],
    ] as const) {
      await project.pulumi(0, "config", "set", key, value, "--stack", userStack);
    }
  });
  afterEach(async () => {
    aws.close();
    await account.stop();
    await sandbox.close();
  });

  const edit = (change: (text: string) => string) => {
    writeFileSync(machines, change(readFileSync(machines, "utf8")));
  };

  /** Secrets that are kept, and tokens that are good. */
  const kept = async () => {
    account.server.aws.advance(60_000);
    const { secrets } = await account.hosts.now();
    return [account.rows()["secrets"] ?? 0, secrets.length];
  };

  it("is made with hosts that join, changed, and taken away", async () => {
    edit((text) => text + secondMember(text));
    await project.up();
    const { members, nodes, offences } = await account.hosts.now();
    assert.deepEqual([members.length, nodes.length, offences], [2, 4, []]);
    assert.deepEqual(await kept(), [0, 0], "what hosts were told is taken back");
    const [record] = aws.ofType("aws:route53/record:Record");
    const { LoadBalancers = [] } = await account.elb.describeLoadBalancers({});
    assert.deepEqual(
      record?.inputs["records"],
      LoadBalancers.map(({ DNSName }) => DNSName),
    );
    await project.pulumi(0, "preview", "--expect-no-changes", "--stack", userStack);

    const before = account.instances().map(({ id }) => id);
    edit((text) => text.replace("replicas: 2", "replicas: 3"));
    await project.up();
    const after = account.instances().map(({ id }) => id);
    assert.equal(after.length, 5);
    assert.deepEqual(
      before.filter((id) => !after.includes(id)),
      [],
    );
    assert.equal((await account.hosts.now()).nodes.length, 5);
    assert.deepEqual(await kept(), [0, 0]);

    await project.pulumi(0, "destroy", "--yes", "--skip-preview", "--stack", userStack);
    account.server.aws.advance(2 * 3_600_000);
    assert.deepEqual(account.instances(), []);
    assert.deepEqual([...aws.kept.values()], []);
  });

  it("goes on after an engine was killed between a worker's token and its launch", async () => {
    // The member's launch comes first, and then those of the workers.
    const { aws: sim } = account.server;
    sim.faults.add({ action: "ec2:RunInstances", skip: 1, times: 1, effect: hold });
    const up = project.start("pulumi", [...upArgs]);
    const isHeld = () => {
      assert.equal(up.hasEnded, false, up.said);
      return sim.held.list().length > 0;
    };
    await until("the launch of a worker is held", isHeld, 120_000, 50);
    await up.killTree();
    sim.held.release("cut");
    await project.pulumi(0, "cancel", "--yes", "--stack", userStack);
    const { stdout, stderr } = await project.up(1);
    assert.match(stdout + stderr, /an engine was killed in the middle of creating AwsInstance/);
    const refresh = /pulumi -C \S+ refresh --clear-pending-creates --stack dev/;
    await project.named(0, stdout + stderr, refresh, "--yes");
    await project.up();
    assert.equal(account.instances().length, 3);
    const { members, nodes, offences } = await account.hosts.now();
    assert.deepEqual([members.length, nodes.length, offences], [1, 3, []]);
    assert.deepEqual(await kept(), [0, 0]);
    await project.pulumi(0, "preview", "--expect-no-changes", "--stack", userStack);
  });
});
