import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import type { Outcome } from "../scenario/command.js";
import { programOf } from "../support/mutant.js";
import { cleanEnv, commandLine, repository } from "../scenario/sandbox.js";
import { assertDot, assertMermaid } from "../support/drawings.js";

describe("verbs that need no engine", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-verbs-"));
    cpSync(join(repository, "examples"), join(folder, "examples"), { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** Runs the command line in the folder; fails unless it exits with `code`. */
  const capstan = (
    code: number,
    args: readonly string[],
    input = "",
    more: Readonly<Record<string, string>> = {},
  ): Outcome => {
    const ran = spawnSync(process.execPath, [commandLine, ...args], {
      cwd: folder,
      env: { ...cleanEnv(), ...more },
      encoding: "utf8",
      input,
    });
    assert.equal(ran.status, code, `capstan ${args.join(" ")}\n${ran.stdout}\n${ran.stderr}`);
    return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
  };
  const json = (code: number, args: readonly string[]) =>
    JSON.parse(capstan(code, [...args, "--json"]).stdout) as Record<string, unknown>;

  describe("validate", () => {
    it("counts what is valid", () => {
      const { stdout, stderr } = capstan(0, ["validate", "-f", "examples/quickstart"]);
      assert.equal(stdout, "3 objects in 1 cluster are valid\n");
      assert.equal(stderr, "");
      const { diagnostics, ...rest } = json(0, ["validate", "-f", "examples/quickstart"]);
      assert.deepEqual(rest, { type: "validate", valid: true, objects: 3, clusters: 1 });
      assert.deepEqual(diagnostics, []);
    });

    it("tells every mistake at once, with its place", () => {
      const { stdout, stderr } = capstan(65, ["validate", "-f", "examples/broken"]);
      assert.equal(stdout, "");
      const places = [...stderr.matchAll(/^(\S+):\d+:\d+: error: /gm)];
      assert.equal(places.length, 2, stderr);
      assert.match(stderr, /\n2 errors; nothing was touched\n$/);
      const document = json(65, ["validate", "-f", "examples/broken"]);
      assert.equal(document["valid"], false);
      assert.equal((document["diagnostics"] as unknown[]).length, 2);
    });

    it("touches nothing", () => {
      capstan(0, ["validate", "-f", "examples/quickstart"]);
      assert.equal(existsSync(join(folder, ".capstan")), false);
    });

    it("says when there is nothing to validate", () => {
      writeFileSync(join(folder, "empty.yaml"), "# nothing\n");
      const { stderr } = capstan(65, ["validate", "-f", "empty.yaml"]);
      assert.match(stderr, /no objects in empty\.yaml/);
      capstan(64, ["validate"]);
    });
  });

  describe("what -f names", () => {
    it("files, folders and standard input, YAML and JSON", () => {
      const quickstart = join(folder, "examples", "quickstart");
      const text = readdirSync(quickstart)
        .map((name) => readFileSync(join(quickstart, name), "utf8"))
        .join("---\n");
      const objects = parseAllDocuments(text).map((one) => one.toJS() as unknown);
      mkdirSync(join(folder, "as-json"));
      objects.forEach((object, index) =>
        writeFileSync(join(folder, "as-json", `${index}.json`), JSON.stringify(object)),
      );
      const want = "3 objects in 1 cluster are valid\n";
      const [one, two] = readdirSync(quickstart).map((name) => join(quickstart, name));
      assert.equal(capstan(0, ["validate", "-f", one ?? "", "-f", two ?? ""]).stdout, want);
      assert.equal(capstan(0, ["validate", "-f", "-"], text).stdout, want);
      assert.equal(capstan(0, ["validate", "-f", "as-json"]).stdout, want);
    });

    it("patterns of files and folders, which pass over what is no manifest", () => {
      capstan(0, ["init", "clusters/a"]);
      capstan(0, ["init", "clusters/b"]);
      mkdirSync(join(folder, "clusters", "docs"));
      writeFileSync(join(folder, "clusters", "README.md"), "# no manifest\n");
      const want = "6 objects in 2 clusters are valid\n";
      assert.equal(capstan(0, ["validate", "-f", "clusters/*"]).stdout, want);
      assert.equal(capstan(0, ["validate", "-f", "clusters/*/*.yaml"]).stdout, want);
      assert.equal(capstan(0, ["validate", "-f", "clusters/{a,b}"]).stdout, want);
    });

    it("nothing that fits, and nothing that is there, is an error", () => {
      const { stderr } = capstan(65, ["validate", "-f", "nowhere/*", "-f", "nowhere"]);
      assert.match(stderr, /cannot read nowhere\/\*: no \.yaml, .* fits the pattern/);
      assert.match(stderr, /cannot read nowhere: there is no such file or folder/);
    });

    it("a name that exists is that file, whatever characters it holds", () => {
      cpSync(join(folder, "examples", "quickstart"), join(folder, "odd [1]"), { recursive: true });
      assert.match(capstan(0, ["validate", "-f", "odd [1]"]).stdout, /^3 objects/);
    });
  });

  describe("init", () => {
    it("writes manifests that are valid, and says what comes next", () => {
      const { stdout } = capstan(0, ["init", "--provider", "local", "demo"]);
      assert.match(stdout, /^Cluster default\/demo for provider local:\n/);
      assert.match(stdout, /\nNext: capstan plan -f demo, then capstan up -f demo\n$/);
      const names = readdirSync(join(folder, "demo"));
      assert.deepEqual(names, ["cluster.yaml", "control-plane.yaml", "workers.yaml"]);
      assert.match(capstan(0, ["validate", "-f", "demo"]).stdout, /^3 objects in 1 cluster/);
    });

    it("writes what the environment tells of the cloud, and says what is left to fill in", () => {
      const init = ["init", "--provider", "aws"];
      const { stdout } = capstan(0, [...init, "unsaid"]);
      const next =
        /\nNext: write region into unsaid\/cluster\.yaml, then capstan plan -f unsaid, then/;
      assert.match(stdout, next);
      assert.match(capstan(65, ["validate", "-f", "unsaid"]).stderr, /region/);
      assert.deepEqual(json(0, [...init, "told"])["fillIn"], ["region"]);
      const told = capstan(0, [...init, "said"], "", { AWS_REGION: "eu-north-1" });
      assert.match(told.stdout, /\nNext: capstan plan -f said, then capstan up -f said\n$/);
      assert.match(capstan(0, ["validate", "-f", "said"]).stdout, /^3 objects in 1 cluster/);
    });

    it("takes name, members and workers", () => {
      const options = ["--name", "big", "--control-planes", "3", "--workers", "7"];
      capstan(0, ["init", ...options, "clusters/Prod"]);
      assert.match(capstan(0, ["validate", "-f", "clusters/Prod"]).stdout, /^5 objects/);
      assert.match(readFileSync(join(folder, "clusters/Prod/workers.yaml"), "utf8"), /replicas: 7/);
      const { files } = json(0, ["init", "--workers", "0", "tiny"]);
      assert.deepEqual(files, ["tiny/cluster.yaml", "tiny/control-plane.yaml"]);
      assert.match(capstan(0, ["validate", "-f", "tiny"]).stdout, /^2 objects/);
    });

    const refused: { name: string; args: string[]; says: RegExp }[] = [
      { name: "an occupied folder", args: ["examples"], says: /it holds aws, .*nothing was/s },
      {
        name: "a file",
        args: ["--name", "x", "examples/broken/machine.yaml"],
        says: /is not a folder/,
      },
      { name: "a bad name", args: ["My_Cluster"], says: /hint: e\.g\. --name my-cluster/ },
      {
        name: "an unknown provider",
        args: ["--provider", "locl", "x"],
        says: /did you mean local/,
      },
      {
        name: "an even control plane",
        args: ["--control-planes", "2", "x"],
        says: /choices are 1, 3/,
      },
    ];
    for (const { name, args, says } of refused) {
      it(`refuses ${name}`, () => {
        const before = readdirSync(folder, { recursive: true });
        assert.match(capstan(64, ["init", ...args]).stderr, says);
        assert.deepEqual(readdirSync(folder, { recursive: true }), before);
      });
    }

    it("refuses to write nowhere, and what does not go together", () => {
      assert.match(capstan(64, ["init"]).stderr, /no folder is named.*hint: capstan init DIR/s);
      const both = ["init", "--provider-package", "acme", "--workers", "3"];
      assert.match(capstan(64, both).stderr, /'--workers <n>'/);
      const bad = ["init", "--provider-package", "My Cloud"];
      assert.match(capstan(64, bad).stderr, /My Cloud cannot be the name .*hint: .*@acme/s);
    });

    it("into an empty folder is fine", () => {
      mkdirSync(join(folder, "empty"));
      capstan(0, ["init", "empty"]);
      capstan(64, ["init", "empty"]);
    });
  });

  it("validate tells of hosts whose user data their cloud would not take", () => {
    const provider = [
      'import { folderProvider } from "./provider.js";',
      "const userData = {",
      '  format: "cloud-config",',
      '  limit: { bytes: 100, counts: "plain" },',
      '  software: () => "image",',
      '  containerRuntime: { name: "containerd", version: "2.1.5" },',
      '  commands: { name: "hostname", address: "hostname -i" },',
      "};",
      "export default () => ({ ...folderProvider(), userData });",
    ];
    writeFileSync(join(folder, "examples/provider-minimal/limited.mjs"), provider.join("\n"));
    const providers = ["./examples/provider-minimal/limited.mjs"];
    writeFileSync(join(folder, "package.json"), JSON.stringify({ capstan: { providers } }));
    const files = ["-f", "examples/provider-minimal/cluster.yaml"];
    const { stderr } = capstan(65, ["validate", ...files]);
    const place = /^examples\/provider-minimal\/cluster\.yaml:\d+:\d+: error: /m;
    assert.match(stderr, place);
    assert.match(
      stderr,
      /no host can be made: its user data would take \d+ bytes, and .* takes 100/,
    );
    const { valid, diagnostics } = json(65, ["validate", ...files]);
    assert.equal(valid, false);
    const codes = (diagnostics as { code: string }[]).map(({ code }) => code);
    assert.deepEqual([...new Set(codes)], ["USER_DATA"]);
  });

  describe("explain", () => {
    it("tells of fields, kinds and slips", () => {
      const { stdout } = capstan(0, ["explain", "machine.spec.versions"]);
      assert.match(stdout, /^GROUP: .*\nKIND: +Machine\nVERSION: .*\n\nFIELD: versions <Object>/);
      assert.match(stdout, /\n {2}kubelet\t<string>\n( {2}range: .+\n)? {4}\S/);
      assert.match(capstan(0, ["explain"]).stdout, /\nMachineDeployment +md +cluster\.k8s\.io/);
      const slip = capstan(64, ["explain", "machine.spec.version"]);
      assert.match(slip.stderr, /hint: did you mean "Machine\.spec\.versions"\?/);
      const { explanation } = json(0, ["explain", "md.spec.replicas"]);
      assert.equal((explanation as { type: string }).type, "integer");
    });

    it("knows the providers' objects", () => {
      const { stdout } = capstan(0, ["explain", "LocalMachineProviderSpec.size"]);
      assert.match(stdout, /enum: small, medium, large/);
    });

    it("knows those of AWS, each field of them, in both versions", () => {
      const kinds = capstan(0, ["explain"]).stdout;
      const all = ["AWSClusterProviderSpec", "AWSMachineProviderSpec", "AWSClusterRoleIdentity"];
      for (const kind of all) assert.match(kinds, new RegExp(`\\n${kind} `));
      const fields = (kind: string, ...more: string[]) =>
        capstan(0, ["explain", kind, "--recursive", ...more]).stdout;
      assert.match(
        fields("AWSClusterProviderSpec"),
        /\n {2}securityGroups\t<Object>\n {4}controlPlane\t<string or Object>\n/,
      );
      assert.match(
        fields("AWSMachineProviderSpec"),
        /\n {2}rootVolume\t<Object>\n {4}gib\t<integer>/,
      );
      const older = ["--api-version", "awsprovider.k8s.io/v1alpha1"];
      assert.match(
        fields("AWSClusterProviderSpec", ...older),
        /\n {2}networkSpec\t<Object>\n {4}vpc\t<Object>\n {6}id\t<string>/,
      );
      const { stdout } = capstan(0, ["explain", "AWSClusterProviderSpec.subnetFilters"]);
      assert.match(
        stdout,
        /FIELD: subnetFilters <\[\]Object>[^]*all that they find in the VPC are\s+used/,
      );
    });
  });

  it("crds prints every definition, as YAML and as JSON lines", () => {
    const kinds = (documents: unknown[]) =>
      documents.map((one) => (one as { spec: { names: { kind: string } } }).spec.names.kind);
    const yaml = parseAllDocuments(capstan(0, ["crds"]).stdout).map((one) => one.toJS() as unknown);
    const lines = capstan(0, ["crds", "--json"]).stdout.trimEnd().split("\n");
    assert.deepEqual(kinds(yaml).slice(0, 2), ["Cluster", "Machine"]);
    assert.deepEqual(
      yaml,
      lines.map((line) => JSON.parse(line) as unknown),
    );
  });

  it("graph draws, the same every time, without a state", () => {
    const draw = (...args: string[]) =>
      capstan(0, ["graph", "-f", "examples/quickstart", ...args]).stdout;
    assertMermaid(draw());
    assertDot(draw("--format", "dot"));
    assert.equal(draw(), draw("--format", "mermaid"));
    assert.equal(existsSync(join(folder, ".capstan")), false);
    const { nodes } = json(0, ["graph", "-f", "examples/quickstart"]);
    assert.equal((nodes as unknown[]).length, 8);
    capstan(65, ["graph", "-f", "examples/broken"]);
  });

  describe("render", () => {
    const quickstart = ["-f", "examples/quickstart"];

    it("prints what the host of a machine would be given, without a state or a secret", () => {
      const { stdout, stderr } = capstan(0, ["render", "cp-0", ...quickstart]);
      assert.ok(stdout.startsWith("#cloud-config\n"), stdout);
      assert.match(stdout, /kind: InitConfiguration/);
      assert.match(stdout, /\(key of Kubernetes: not shown\)/);
      assert.doesNotMatch(stdout, /PRIVATE KEY/);
      assert.match(stderr, /^note: endpoint\.invalid:6443 stands for the endpoint/);
      assert.equal(existsSync(join(folder, ".capstan")), false);
    });

    it("prints a part of it, and that of a set's machines by the set's name", () => {
      const { stdout } = capstan(0, ["render", "workers", ...quickstart, "--format", "kubeadm"]);
      const [only, ...others] = parseAllDocuments(stdout).map((one) => one.toJS() as object);
      assert.equal((only as { kind: string }).kind, "JoinConfiguration");
      assert.deepEqual(others, []);
      const script = capstan(0, ["render", "cp-0", ...quickstart, "--format", "script"]).stdout;
      assert.match(script, /^#!\/bin\/sh\n/);
      const ignition = capstan(0, ["render", "cp-0", ...quickstart, "--format", "ignition"]).stdout;
      assert.ok(JSON.parse(ignition));
    });

    it("prints all of it as JSON", () => {
      const { files, text, ...rest } = json(0, ["render", "cp-0", ...quickstart]);
      const { bytes, packedBytes, ...about } = rest as { bytes: number; packedBytes: number };
      assert.deepEqual(about, {
        type: "render",
        cluster: "default/quickstart",
        machine: "cp-0",
        does: "init",
        format: "cloud-config",
      });
      assert.equal(bytes, Buffer.byteLength(text as string));
      assert.ok(packedBytes < bytes);
      assert.ok((files as unknown[]).length > 10);
    });

    it("prints what changes a host in place that runs another version", () => {
      const upgrade = (code: number, ...args: string[]) =>
        capstan(code, ["render", ...args, ...quickstart]);
      const { stdout, stderr } = upgrade(0, "cp-0", "--upgrade-from", "v1.33.6");
      assert.match(stdout, /^#!\/bin\/sh\n[^]*^ {2}kubeadm upgrade apply v1\.34\.2 --yes /m);
      assert.equal(stderr, "");
      assert.match(
        upgrade(0, "workers", "--upgrade-from", "1.33.6").stdout,
        /kubeadm upgrade node /m,
      );
      const same = upgrade(0, "cp-0", "--upgrade-from", "1.34.2");
      assert.equal(same.stdout, "");
      assert.match(same.stderr, /the host of Machine cp-0 runs what its manifest says/);
      const refused = upgrade(65, "cp-0", "--upgrade-from", "1.32.0").stderr;
      assert.match(
        refused,
        /cannot change the host of Machine cp-0 in place from 1\.32\.0: .*one at a time/,
      );
      const about = json(0, ["render", "cp-0", ...quickstart, "--upgrade-from", "1.33.6"]);
      assert.equal((about["steps"] as { kind: string }[])[0]?.kind, "kubeadm");
      assert.match(
        upgrade(64, "cp-0", "--upgrade-from", "new").stderr,
        /expected a version such as/,
      );
      upgrade(64, "cp-0", "--upgrade-from", "1.33.6", "--format", "script");
    });

    it("prints that of a set which wants none at present", () => {
      const none = ["--set", "MachineDeployment/workers:spec.replicas=0"];
      capstan(0, ["render", "workers", ...quickstart, ...none]);
    });

    it("tells what user data does not bring to the Node", () => {
      const setting = "cp-0:spec.metadata.labels.node-role\\.kubernetes\\.io/main=";
      const { stderr } = capstan(0, [
        "render",
        "cp-0",
        ...quickstart,
        "--set",
        `Machine/${setting}`,
      ]);
      assert.match(
        stderr,
        /user data leaves out label node-role\.kubernetes\.io\/main of Machine cp-0/,
      );
    });

    it("names what it does not find, and tells every mistake of the manifests", () => {
      const { stderr } = capstan(1, ["render", "worker", ...quickstart]);
      assert.match(stderr, /no machine and no set called worker\nhint: did you mean workers\?/);
      assert.match(capstan(65, ["render", "a", "-f", "examples/broken"]).stderr, /^\S+:\d+:\d+: /);
    });
  });

  describe("mistakes", () => {
    const cases: { args: string[]; says: RegExp }[] = [
      {
        args: ["plan", "examples/quickstart"],
        says: /hint: .*capstan plan -f examples\/quickstart/,
      },
      { args: ["up", "a", "b"], says: /-f a -f b, or quote the pattern/ },
      { args: ["validate", "x.yaml"], says: /capstan validate -f x\.yaml/ },
      { args: ["init", "a", "b"], says: /does not know what to do with "b"/ },
      {
        args: ["status", "examples/quickstart"],
        says: /no stack, .*\nhint: .*-f examples\/quickstart/,
      },
      { args: ["plna"], says: /Did you mean plan\?/ },
      { args: ["destory"], says: /Did you mean destroy\?/ },
      { args: ["plan", "--jsn"], says: /Did you mean --json\?/ },
      { args: ["local", "machine"], says: /Did you mean machines\?/ },
      { args: ["graph", "--format", "svg"], says: /choices are mermaid, dot/ },
      { args: ["completion", "tcsh"], says: /choices are bash, zsh, fish/ },
      { args: ["import", "demo", "md/db", "host-1"], says: /md\/db names no Machine that could/ },
    ];
    for (const { args, says } of cases) {
      it(`capstan ${args.join(" ")}`, () => {
        const { stdout, stderr } = capstan(64, args);
        assert.equal(stdout, "");
        assert.match(stderr, says);
      });
    }

    it("are told as JSON where that was asked for", () => {
      const { type, code } = json(64, ["plan", "examples/quickstart"]);
      assert.deepEqual([type, code], ["error", "BAD_USAGE"]);
      assert.equal(capstan(64, ["fly", "--json"]).stderr, "");
      assert.equal(json(64, ["fly"])["message"], "unknown command 'fly'");
    });
  });

  describe("what is loaded", () => {
    const trace = `import { registerHooks } from "node:module";
registerHooks({ load(url, context, next) { process.stderr.write(url + "\\n"); return next(url, context); } });`;
    // By module: which of them are joined into one file is another question.
    const unjoined = programOf(repository);
    const loads = (...args: string[]): string => {
      const hook = `data:text/javascript,${encodeURIComponent(trace)}`;
      const ran = spawnSync(process.execPath, ["--import", hook, unjoined, ...args], {
        cwd: folder,
        env: cleanEnv(),
        encoding: "utf8",
      });
      return ran.stderr;
    };

    it("no gRPC and no Pulumi SDK by what only looks", () => {
      for (const verb of ["plan", "validate", "graph"]) {
        const loaded = loads(verb, "-f", "examples/quickstart");
        assert.doesNotMatch(loaded, /@grpc|@pulumi|google-protobuf|commands\/up\.js/, verb);
        assert.match(loaded, new RegExp(`commands/${verb}\\.js`));
      }
    });

    it("next to nothing by help", () => {
      for (const args of [["--help"], ["up", "--help"], ["--version"]]) {
        assert.doesNotMatch(loads(...args), /typebox|\/ajv\/|\/yaml\/|sqlite/, args.join(" "));
      }
    });
  });
});
