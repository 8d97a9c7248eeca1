import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { AwsPluginDouble } from "../scenario/aws-plugin-double.js";
import { Command, type Outcome } from "../scenario/command.js";
import { makeNetworksIn } from "../scenario/native-network.js";
import { repository, Sandbox } from "../scenario/sandbox.js";
import { UserProjectFolder } from "../scenario/user-project.js";
import { WatchedAccount } from "../providers/aws/watched-account.js";
import { clusterNetwork } from "../support/manifests.js";

const stack = "shared";

/** A Cluster on AWS in a network that a program tells, without machines. */
function clusterIn(vpcId: string, subnets: string): object {
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Cluster",
    metadata: { name: "demo" },
    spec: {
      clusterNetwork: clusterNetwork(),
      providerSpec: {
        value: {
          apiVersion: "awsprovider.k8s.io/v1alpha2",
          kind: "AWSClusterProviderSpec",
          region: "eu-north-1",
          vpc: { id: vpcId },
          subnets,
        },
      },
    },
  };
}

/** The cluster's groups and its load balancer are in the VPC and the public subnets of the foundation. */
async function isInNetworkOf(aws: AwsPluginDouble, account: WatchedAccount): Promise<void> {
  const [vpc] = aws.ofType("aws:ec2/vpc:Vpc");
  const { SecurityGroups = [] } = await account.ec2.describeSecurityGroups({
    Filters: [{ Name: "tag:capstan:cluster", Values: ["default/demo"] }],
  });
  assert.deepEqual(
    SecurityGroups.map(({ VpcId }) => VpcId),
    [vpc?.id, vpc?.id, vpc?.id, vpc?.id],
  );
  const { LoadBalancers = [] } = await account.elb.describeLoadBalancers({});
  const used = LoadBalancers.flatMap(({ AvailabilityZones = [] }) => AvailabilityZones);
  const made = aws.ofType("aws:ec2/subnet:Subnet").filter(({ name }) => name.includes("public"));
  assert.ok(made.length > 0);
  assert.deepEqual(used.map(({ SubnetId }) => SubnetId).sort(), made.map(({ id }) => id).sort());
}

interface ExportedResource {
  readonly type: string;
  readonly protect?: boolean;
}

describe("the foundation on AWS, by Pulumi's engine", () => {
  let sandbox: Sandbox;
  let aws: AwsPluginDouble;
  let folder: string;
  let account: WatchedAccount;

  beforeEach(async () => {
    aws = await AwsPluginDouble.start();
    account = await WatchedAccount.start();
    makeNetworksIn(account.ec2, aws);
    sandbox = await Sandbox.make({ objects: [clusterIn(`\${vpcId}`, `\${subnets}`)] });
    folder = join(sandbox.folder, "foundation");
    // As its users do: a copy of the folder, with what npm ci brings.
    cpSync(join(repository, "stacks", "aws-foundation"), folder, {
      recursive: true,
      filter: (path) => !path.includes("node_modules"),
    });
    symlinkSync(join(repository, "node_modules"), join(folder, "node_modules"));
  });

  afterEach(async () => {
    aws.close();
    await account.stop();
    await sandbox.close();
  });

  const pulumi = async (code: number, ...args: string[]): Promise<Outcome> => {
    const { PULUMI_CONFIG_PASSPHRASE_FILE: _file, ...env } = sandbox.pulumiEnv();
    const outcome = await new Command("pulumi", [...args, "--non-interactive"], {
      cwd: folder,
      env: {
        ...env,
        ...aws.env,
        PULUMI_BACKEND_URL: pathToFileURL(join(sandbox.folder, "backend")).href,
        PULUMI_CONFIG_PASSPHRASE: "a user's own",
      },
    }).finished;
    assert.equal(
      outcome.code,
      code,
      `pulumi ${args.join(" ")}\n${outcome.stdout}\n${outcome.stderr}`,
    );
    return outcome;
  };

  const init = async (project: () => Promise<UserProjectFolder>): Promise<UserProjectFolder> => {
    const made = await project();
    made.more = { ...account.env, ...aws.env };
    await pulumi(0, "stack", "init", stack);
    await pulumi(0, "config", "set", "aws:region", "eu-north-1", "--stack", stack);
    return made;
  };

  it("is planned, made, protected, referred to by a cluster, and taken away", async () => {
    const project = await init(() => UserProjectFolder.make(sandbox));
    await pulumi(0, "preview", "--stack", stack);
    assert.deepEqual([...aws.kept.values()], []);
    await pulumi(0, "up", "--yes", "--skip-preview", "--stack", stack);
    await pulumi(0, "preview", "--expect-no-changes", "--stack", stack);

    const { stdout } = await pulumi(0, "stack", "export", "--stack", stack);
    const { deployment } = JSON.parse(stdout) as { deployment: { resources: ExportedResource[] } };
    const open = deployment.resources.filter(
      ({ type, protect }) => /^(aws|capstan):/.test(type) && protect !== true,
    );
    assert.deepEqual(open, [], "everything is protected");
    const output = async (name: string) =>
      (await pulumi(0, "stack", "output", name, "--stack", stack)).stdout.trim();
    assert.equal(
      await output("stateBackend"),
      "s3://capstan-state-123456789012-eu-north-1?region=eu-north-1",
    );
    assert.equal(await output("secretsProvider"), "awskms://alias/capstan?region=eu-north-1");

    project.programOf([
      `const shared = new pulumi.StackReference("organization/aws-foundation/${stack}");`,
      'const values = { vpcId: shared.requireOutput("vpcId"), subnets: shared.requireOutput("subnets") };',
      `const demo = await cluster({ manifests: ${JSON.stringify(sandbox.manifests)}, values });`,
      "export const { revision } = demo;",
    ]);
    await project.up();
    await isInNetworkOf(aws, account);

    const before = aws.kept.size;
    const refused = await pulumi(1, "destroy", "--yes", "--skip-preview", "--stack", stack);
    assert.match(refused.stdout + refused.stderr, /protected/);
    assert.equal(aws.kept.size, before);
    await pulumi(0, "config", "set", "aws-foundation:protect", "false", "--stack", stack);
    await pulumi(0, "up", "--yes", "--skip-preview", "--stack", stack);
    await pulumi(0, "destroy", "--yes", "--skip-preview", "--stack", stack);
    assert.deepEqual([...aws.kept.values()], []);
  });

  it("has the packages of this release", () => {
    const versions = (path: string) => {
      const text = readFileSync(join(repository, path), "utf8");
      return JSON.parse(text) as Record<string, Record<string, string>>;
    };
    const [root, own] = [versions("package.json"), versions("stacks/aws-foundation/package.json")];
    const { "@pulumi/aws": plugin, "@pulumi/pulumi": sdk } = own["dependencies"]!;
    assert.equal(plugin, root["devDependencies"]!["@pulumi/aws"]);
    assert.equal(sdk, root["dependencies"]!["@pulumi/pulumi"]);
    assert.equal(own["engines"]!["node"], root["engines"]!["node"]);
  });
});
