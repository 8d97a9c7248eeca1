import assert from "node:assert/strict";
import { parse } from "yaml";
import { AwsPluginDouble } from "../scenario/aws-plugin-double.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { judge, nothingWrong } from "../scenario/ledger-judge.js";
import type { ScenarioCluster } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { UserProjectFolder, userStack } from "../scenario/user-project.js";

const tagged = (vpc: string): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true }, "worker-0": { tags: { vpc } } },
  deployments: { web: { replicas: 1, template: { tags: { vpc } } } },
});

describe("a cluster among native resources of one program", () => {
  let sandbox: Sandbox;
  let project: UserProjectFolder;
  let aws: AwsPluginDouble;

  let original: UserProjectFolder;

  copyForEachTest(
    tagged(`\${vpcId}`),
    (copy) => {
      sandbox = copy;
    },
    async (first) => (original = await UserProjectFolder.make(first)),
  );
  beforeEach(async () => {
    aws = await AwsPluginDouble.start();
    project = original.copyTo(sandbox);
    project.more = aws.env;
  });
  afterEach(() => aws.close());

  const program = (values: string, { cidr = "10.0.0.0/16", more = "" } = {}): void => {
    project.programOf([
      'import * as aws from "@pulumi/aws";',
      `const vpc = new aws.ec2.Vpc("net", { cidrBlock: "${cidr}" });`,
      more,
      `const demo = await cluster({ manifests: ${JSON.stringify(sandbox.manifests)}, values: ${values} });`,
      'new aws.route53.Record("api", { zoneId: "Z1", name: "api.example.org", type: "CNAME", ttl: 60, records: [demo.endpoint.host] });',
      "export const { revision, kubeconfig, hosts } = demo;",
    ]);
  };

  const preview = (...args: string[]) =>
    project.pulumi(0, "preview", "--stack", userStack, ...args);

  const outputs = async (...args: string[]): Promise<Record<string, unknown>> => {
    const { stdout } = await project.pulumi(
      0,
      "stack",
      "output",
      "--json",
      "-s",
      userStack,
      ...args,
    );
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  const hosts = () => sandbox.alive().filter(({ kind }) => kind === "LocalHost");

  it("is made after them with their outputs, gives its own to others, and is left to pulumi up by capstan up", async () => {
    program("{ vpcId: vpc.id }");
    const { stdout, stderr } = await preview("--diff");
    assert.match(stdout + stderr, /vpcId is known after apply/);
    assert.match(stdout, /vpc *: (output<string>|\[unknown\])/);
    assert.deepEqual(sandbox.rows(), []);
    await project.up();
    const [vpc] = aws.ofType("aws:ec2/vpc:Vpc");
    const worker = sandbox.hostOf("worker-0");
    assert.deepEqual(worker.spec["tags"], { vpc: vpc?.id });
    const [record] = aws.ofType("aws:route53/record:Record");
    const { kubeconfig, hosts: ids } = await outputs("--show-secrets");
    const { clusters } = parse(String(kubeconfig)) as {
      clusters: { cluster: { server: string } }[];
    };
    assert.deepEqual(record?.inputs["records"], [new URL(clusters[0]!.cluster.server).hostname]);
    assert.equal((ids as Record<string, string>)["worker-0"], worker.id);
    const masked = await outputs();
    assert.equal(masked["kubeconfig"], "[secret]");
    await preview("--expect-no-changes");
    for (const verb of [["plan"], ["up", "--yes"]]) {
      const { stderr: refusal } = await project.capstan(65, ...verb, "-f", sandbox.manifests);
      assert.match(refusal, /its manifests take vpcId from a Pulumi program, which alone knows it/);
      assert.match(refusal, /hint: run pulumi up in that program's project: its stack holds more/);
    }
    const { stdout: status } = await project.capstan(0, "status");
    assert.match(status, /Cluster default\/demo {3}revision 1/);
    assert.deepEqual(judge(sandbox.rows(), await project.deployment()), nothingWrong);
  });

  it("announces no replacement while it does not know a value, and keeps order on the way down", async () => {
    program("{ vpcId: vpc.id }");
    await project.up();
    const before = hosts().map(({ id }) => id);
    program("{ vpcId: vpc.id }", { cidr: "10.1.0.0/16" });
    const { stdout } = await preview("--json");
    const { steps } = JSON.parse(stdout) as { steps: { op: string; urn: string }[] };
    const ofHosts = steps.filter(({ urn }) => urn.includes("LocalHost")).map(({ op }) => op);
    assert.deepEqual(ofHosts.sort(), ["update", "update"]);
    await project.up();
    assert.deepEqual(
      hosts().map(({ id }) => id),
      before,
    );
    const [vpc] = aws.ofType("aws:ec2/vpc:Vpc");
    assert.deepEqual(sandbox.hostOf("worker-0").spec["tags"], { vpc: vpc?.id });
    await preview("--expect-no-changes");
    const left: number[] = [];
    aws.onCall = ({ name }) => {
      if (name === "net") left.push(sandbox.alive().length);
    };
    await project.pulumi(0, "destroy", "--yes", "--skip-preview", "--stack", userStack);
    assert.deepEqual(sandbox.alive(), []);
    assert.deepEqual([...aws.kept.values()], []);
    assert.deepEqual(left, [0], "the network goes last");
  });

  it("touches nothing for a value that is not given", async () => {
    program("{ vpcID: vpc.id }");
    const { stdout, stderr } = await project.up(1);
    assert.match(stdout + stderr, /cluster\.yaml:\d+:\d+: error: .*variable vpcId is not allowed/);
    assert.deepEqual(sandbox.rows(), []);
  });

  it("takes what else is being made for no engine that was killed", async () => {
    aws.gates.set("aws:ec2/natGateway:NatGateway", () =>
      until("the cluster has a host", () => hosts().length > 0),
    );
    const more = 'new aws.ec2.NatGateway("nat", { subnetId: "subnet-1" });';
    program("{ vpcId: vpc.id }", { more });
    await project.up();
    await preview("--expect-no-changes");
  });

  it("follows capstan up too in a stack of its own, with the same values", async () => {
    sandbox.write(tagged(`\${team}`));
    project.programOf([
      'const team = new pulumi.Config("shop").require("colour");',
      `export const { revision } = await cluster({ manifests: ${JSON.stringify(sandbox.manifests)}, values: { team } });`,
    ]);
    await project.up();
    const { stderr } = await project.capstan(65, "up", "--yes", "-f", sandbox.manifests);
    assert.match(stderr, /or give the value here: --var team=VALUE/);
    await project.capstan(0, "plan", "-f", sandbox.manifests, "--var", "team=blue");
    await project.capstan(0, "up", "--yes", "-f", sandbox.manifests, "--var", "team=red");
    const again = await project.capstan(65, "plan", "-f", sandbox.manifests);
    assert.match(again.stderr, /its manifests take team from a Pulumi program/);
    await project.up();
    assert.deepEqual(sandbox.hostOf("worker-0").spec["tags"], { vpc: "blue" });
  });
});
