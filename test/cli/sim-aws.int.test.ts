import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EC2 } from "@aws-sdk/client-ec2";
import { findAwsCli } from "#aws-cli";
import { cleanEnv, commandLine } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { freePorts } from "../support/free-ports.js";
import { Servers } from "../support/servers.js";

describe("capstan sim aws", () => {
  let servers: Servers;
  let port: number;
  let env: Record<string, string>;

  /** Starts it and takes the variables that it prints. */
  const start = async (): Promise<void> => {
    const log = join(servers.folder, "sim.log");
    writeFileSync(log, "");
    const options = ["--port", String(port), "--file", "aws.json", "--speed", "100"];
    servers.start("sim", process.execPath, [commandLine, "sim", "aws", ...options]);
    const text = () => readFileSync(log, "utf8");
    await until("it listens", async () => {
      servers.pidOf("sim");
      return fetch(`http://127.0.0.1:${port}/_sim/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
    await until("it has told how to reach it", () => text().includes("until interrupted"));
    const lines = [...text().matchAll(/^export (\w+)=(.*)$/gm)];
    env = Object.fromEntries(lines.map(([, name = "", value = ""]) => [name, value]));
  };

  /** Runs the command line of AWS; answers its JSON, or what it says where it fails. */
  const aws = (words: string): unknown => {
    const python = findAwsCli(process.env);
    assert.ok(python !== undefined, "no command line of AWS: run npm test, which installs it");
    const ran = spawnSync(python, ["-m", "awscli", "--output", "json", ...words.split(" ")], {
      env: {
        PATH: process.env["PATH"],
        HOME: servers.folder,
        AWS_EC2_METADATA_DISABLED: "true",
        ...env,
      },
      encoding: "utf8",
    });
    if (ran.status !== 0) return ran.stderr.trim();
    return ran.stdout.trim() === "" ? {} : JSON.parse(ran.stdout);
  };

  before(async () => {
    servers = new Servers("sim-aws");
    [port = 0] = await freePorts(1);
    await start();
  });
  after(() => servers.endAll());

  it("prints what leads the SDK and the command line of AWS to it, which see the same", async () => {
    assert.deepEqual(Object.keys(env).sort(), [
      "AWS_ACCESS_KEY_ID",
      "AWS_DEFAULT_REGION",
      "AWS_ENDPOINT_URL",
      "AWS_REGION",
      "AWS_SECRET_ACCESS_KEY",
    ]);
    const credentials = { accessKeyId: "a", secretAccessKey: "b" };
    const ec2 = new EC2({
      region: "eu-north-1",
      endpoint: env["AWS_ENDPOINT_URL"] ?? "",
      credentials,
    });
    const TagSpecifications = [
      { ResourceType: "vpc" as const, Tags: [{ Key: "Name", Value: "shop" }] },
    ];
    const { Vpc } = await ec2.createVpc({ CidrBlock: "10.0.0.0/16", TagSpecifications });
    const VpcId = Vpc?.VpcId ?? "";
    const { Subnet } = await ec2.createSubnet({ VpcId, CidrBlock: "10.0.0.0/24" });
    ec2.destroy();
    const seen = aws("ec2 describe-vpcs --filters Name=tag:Name,Values=shop") as {
      Vpcs: { VpcId: string }[];
    };
    assert.deepEqual(
      seen.Vpcs.map((one) => one.VpcId),
      [VpcId],
    );
    const group = aws(`ec2 create-security-group --group-name g --description d --vpc-id ${VpcId}`);
    const { GroupId } = group as { GroupId: string };
    const rule = `--group-id ${GroupId} --protocol tcp --port 22 --cidr 10.0.0.0/8`;
    aws(`ec2 authorize-security-group-ingress ${rule}`);
    assert.match(
      String(aws(`ec2 authorize-security-group-ingress ${rule}`)),
      /\(InvalidPermission\.Duplicate\)/,
    );
    assert.match(String(aws(`ec2 delete-vpc --vpc-id ${VpcId}`)), /\(DependencyViolation\)/);
    const { Account } = aws("sts get-caller-identity") as { Account: string };
    assert.equal(Account, "123456789012");
    assert.ok(Subnet?.SubnetId !== undefined);
  });

  it("serves load balancers, parameters and secrets to the command line of AWS", () => {
    const { Subnets } = aws("ec2 describe-subnets --filters Name=default-for-az,Values=true") as {
      Subnets: { SubnetId: string; VpcId: string }[];
    };
    const [one, other] = Subnets;
    assert.ok(one !== undefined && other !== undefined);
    const subnets = `--subnets ${one.SubnetId} ${other.SubnetId}`;
    const made = aws(`elbv2 create-load-balancer --name api --type network ${subnets}`) as {
      LoadBalancers: { LoadBalancerArn: string; Type: string }[];
    };
    const arn = made.LoadBalancers[0]?.LoadBalancerArn ?? "";
    const group = aws(
      `elbv2 create-target-group --name api --protocol TCP --port 6443 --vpc-id ${one.VpcId}`,
    ) as {
      TargetGroups: { TargetGroupArn: string }[];
    };
    const groupArn = group.TargetGroups[0]?.TargetGroupArn ?? "";
    const listener = aws(
      `elbv2 create-listener --load-balancer-arn ${arn} --protocol TCP --port 6443 --default-actions Type=forward,TargetGroupArn=${groupArn}`,
    );
    assert.match(JSON.stringify(listener), /listener\/net\/api\//);
    assert.match(
      String(aws(`elbv2 delete-target-group --target-group-arn ${groupArn}`)),
      /\(ResourceInUse\)/,
    );
    aws("ssm put-parameter --name /a/b --value x --type SecureString");
    const parameter = aws("ssm get-parameter --name /a/b --with-decryption") as {
      Parameter: { Value: string };
    };
    assert.equal(parameter.Parameter.Value, "x");
    aws("secretsmanager create-secret --name s --secret-string y");
    const secret = aws("secretsmanager get-secret-value --secret-id s") as {
      SecretString: string;
    };
    assert.equal(secret.SecretString, "y");
  });

  it("ends when it is interrupted, and the next one has what its file keeps", async () => {
    const before = aws("elbv2 describe-load-balancers") as { LoadBalancers: unknown[] };
    await servers.end("sim", "SIGINT");
    assert.match(String(aws("sts get-caller-identity")), /Could not connect/);
    await start();
    const after = aws("elbv2 describe-load-balancers") as { LoadBalancers: unknown[] };
    assert.equal(after.LoadBalancers.length, before.LoadBalancers.length);
  });

  it("says in JSON where it is, and what is wrong with a port or a file", () => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [commandLine, "sim", "aws", ...args], {
        cwd: servers.folder,
        env: cleanEnv(),
        encoding: "utf8",
      });
    const taken = run("--port", String(port), "--json");
    assert.equal(taken.status, 64);
    assert.match(taken.stdout, /"code":"BAD_USAGE".*EADDRINUSE/);
    writeFileSync(join(servers.folder, "broken.json"), "{");
    const broken = run("--file", "broken.json");
    assert.equal(broken.status, 1);
    assert.match(broken.stderr, /cannot read the simulated accounts in broken\.json/);
  });
});
