import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { findKubernetes } from "#kubernetes";
import { ensurePulumi } from "#toolchain";
import { Moto } from "../provider/ec2/moto.js";
import { WatchedAccount } from "../providers/aws/watched-account.js";
import { AwsPluginDouble } from "../scenario/aws-plugin-double.js";
import { run } from "../scenario/command.js";
import { readCloud } from "../scenario/ledger-judge.js";
import { makeNetworksIn } from "../scenario/native-network.js";
import { npmEnv, packInto } from "../scenario/packed-package.js";
import { cleanEnv } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";
import { ExampleShell } from "./example-shell.js";
import {
  commandsOf,
  examplesFolder,
  type NodeExample,
  shownIn,
  type ShownExample,
} from "./shown-commands.js";

const placeholder = "/path/to/capstan-0.1.0.tgz";

/** Puts ids of an account into the manifests of a reader: those that they have are of no account. */
function putIds(file: string, ids: Readonly<Record<string, string>>): void {
  const text = readFileSync(file, "utf8");
  const put = text.replaceAll(
    /\b(vpc|subnet|sg|ami)-0123456789abcdef0\b/g,
    (_, kind: string) => ids[kind] ?? "",
  );
  assert.notEqual(put, text);
  writeFileSync(file, put);
}

describe("an example", function () {
  this.timeout(15 * 60_000);
  let folder: string;
  /** Where the tarball is installed. */
  let installed: string;
  let tarball: string;
  /** Of a reader's shell, in which the tarball's capstan and pulumi are found. */
  let env: NodeJS.ProcessEnv;
  let shell: ExampleShell | undefined;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-examples-"));
    const { binDir } = await ensurePulumi();
    const kubernetes = findKubernetes(process.env);
    assert.ok(kubernetes !== undefined, "no kubectl: npm run setup installs one");
    installed = copyOf("pulumi-program", "installed");
    const clean: NodeJS.ProcessEnv = { ...npmEnv(cleanEnv()), npm_config_prefer_offline: "true" };
    const bin = join(installed, "node_modules", ".bin");
    const path = [bin, binDir, kubernetes.binDir, dirname(process.execPath), clean["PATH"]];
    env = { ...clean, PATH: path.join(delimiter) };
    ({ tarball } = await packInto(folder, env));
    assert.equal(basename(tarball), basename(placeholder));
    const { code, stderr } = await run("npm", ["install", tarball], { cwd: installed, env });
    assert.equal(code, 0, stderr);
  });
  afterEach(() => shell?.close());
  after(() => removeFolder(folder));

  /** A fresh copy of an example's folder. */
  function copyOf(example: string, name = example): string {
    const copy = join(folder, name);
    cpSync(join(examplesFolder, example), copy, { recursive: true });
    return copy;
  }

  /** A folder with one of the examples where the documents have them. */
  function placeOf(example: string): string {
    const place = join(folder, `reader-${example}`);
    copyOf(example, join(`reader-${example}`, "examples", example));
    return place;
  }

  const open = (where: string, more: NodeJS.ProcessEnv = {}): ExampleShell => {
    shell = new ExampleShell(where, { ...env, ...more });
    return shell;
  };

  const follow = (
    example: ShownExample,
    reader: ExampleShell,
    after: Readonly<Record<string, (output: string) => unknown>> = {},
  ): Promise<void> =>
    reader.follow(commandsOf(example), after, (command) => command.replace(placeholder, tarball));

  /** A shell in a copy of a Pulumi example whose packages are there, so that its installation finds them. */
  const openProject = async (example: string, more: NodeJS.ProcessEnv): Promise<ExampleShell> => {
    const copy = copyOf(example);
    const modules = join(installed, "node_modules");
    const { code, stderr } = await run("cp", ["-al", modules, copy], { cwd: folder, env });
    assert.equal(code, 0, stderr);
    const backend = join(folder, `backend-${example}`);
    mkdirSync(backend);
    return open(copy, {
      ...more,
      PULUMI_BACKEND_URL: pathToFileURL(backend).href,
      PULUMI_HOME: join(folder, `home-${example}`),
      PULUMI_CONFIG_PASSPHRASE: "a reader's own",
      PULUMI_SKIP_UPDATE_CHECK: "1",
      PULUMI_SKIP_CONFIRMATIONS: "true",
    });
  };

  const settled = { command: "pulumi preview --expect-no-changes", output: [], exit: 0 };

  const tests: Readonly<Record<Exclude<ShownExample, NodeExample>, () => Promise<void>>> = {
    async "provider-minimal"() {
      const copy = copyOf("provider-minimal");
      const machines = join(copy, ".capstan", "machines");
      const isAlive = (file: string) =>
        !readFileSync(join(machines, file), "utf8").includes('"phase": "gone"');
      const mustLive = (count: number) => () =>
        assert.equal(readdirSync(machines).filter(isAlive).length, count);
      await follow("provider-minimal", open(copy), {
        "capstan up": mustLive(3),
        "capstan destroy": mustLive(0),
      });
    },

    async "provider-ec2"() {
      const moto = await Moto.start();
      try {
        const { vpcId, subnetId, securityGroupId, images } = await moto.account();
        const copy = copyOf("provider-ec2");
        const ids = { vpc: vpcId, subnet: subnetId, sg: securityGroupId, ami: images[0] };
        for (const file of ["cluster.yaml", "hosts.yaml"]) putIds(join(copy, file), ids);
        const mustLive = (count: number) => async () =>
          assert.equal((await moto.alive()).length, count);
        await follow("provider-ec2", open(copy, moto.env), {
          "capstan up -f cluster.yaml": mustLive(3),
          "capstan destroy default.ec2-demo": mustLive(0),
          "capstan up -f hosts.yaml": mustLive(1),
          "capstan destroy default.ec2-hosts": mustLive(0),
        });
      } finally {
        await moto.stop();
      }
    },

    /** Its README is that of the package that init writes. */
    async "provider-starter"() {
      const init = ["init", "--provider-package", "capstan-provider-acme"];
      const { code, stderr } = await run("capstan", init, { cwd: folder, env });
      assert.equal(code, 0, stderr);
      const copy = join(folder, "capstan-provider-acme");
      const file = join(copy, ".capstan", "acme-servers.json");
      await follow("provider-starter", open(copy), {
        "npm test": (output) => assert.match(output, /^ℹ fail 0$/m),
        "npm run conformance": (output) => assert.match(output, /\b0 failed\b/),
        "npx capstan up": () =>
          assert.equal((JSON.parse(readFileSync(file, "utf8")) as unknown[]).length, 2),
      });
    },

    async "pulumi-program"() {
      const aws = await AwsPluginDouble.start();
      try {
        const reader = await openProject("pulumi-program", aws.env);
        await follow("pulumi-program", reader);
        const [vpc] = aws.ofType("aws:ec2/vpc:Vpc");
        const [subnet] = aws.ofType("aws:ec2/subnet:Subnet");
        const [record] = aws.ofType("aws:route53/record:Record");
        const rows = readCloud(join(folder, "pulumi-program", ".capstan", "local-cloud.db"));
        const member = rows.find(
          ({ kind, name }) => kind === "LocalHost" && name.startsWith("cp-0"),
        );
        const place = `${vpc?.id}/${subnet?.id}`;
        assert.deepEqual(member?.spec["tags"], { vpc: vpc?.id, place });
        assert.match(JSON.stringify(record?.inputs["records"]), /^\["[\d.]+"\]$/);
        await reader.run(settled);
      } finally {
        aws.close();
      }
    },

    async "pulumi-aws"() {
      const aws = await AwsPluginDouble.start();
      const account = await WatchedAccount.start();
      try {
        makeNetworksIn(account.ec2, aws);
        await follow("pulumi-aws", await openProject("pulumi-aws", { ...account.env, ...aws.env }));
        const { members, nodes } = await account.hosts.now();
        assert.deepEqual([members.length, nodes.length], [1, 3]);
        assert.equal(aws.ofType("aws:route53/record:Record").length, 1);
      } finally {
        aws.close();
        await account.stop();
      }
    },

    async overlays() {
      await follow("overlays", open(placeOf("overlays")));
    },

    async quickstart() {
      await follow("quickstart", open(placeOf("quickstart")), {
        CAPSTAN_LOCAL_CLOUD: (output) =>
          assert.match(output, /^error: .* in this cloud: cloud \w+ is recorded/),
      });
    },
  };

  for (const [example, test] of Object.entries(tests)) {
    it(`works as ${shownIn[example as ShownExample]} tells: ${example}`, test);
  }
});
