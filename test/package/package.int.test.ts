import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, normalize, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { ensurePulumi } from "#toolchain";
import { run } from "../scenario/command.js";
import { readCloud } from "../scenario/ledger-judge.js";
import { writeManifests } from "../scenario/manifests.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

const program = `import { cluster } from "capstan";

export const { revision } = await cluster({ manifests: "clusters" });
`;

/** Relative paths and names of package.json that a module imports; not the dependencies. */
function importedBy(code: string): string[] {
  const imports = code.matchAll(/\b(?:from|import)\s*\(?\s*"([.#][^"]+)"/g);
  return [...imports].map(([, name = ""]) => name);
}

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

describe("the package in an ordinary Pulumi project", () => {
  let folder: string;
  let project: string;
  let packed: Packed;
  let env: NodeJS.ProcessEnv;

  const runIn = async (cwd: string, command: string, ...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(command, args, { cwd, env });
    assert.equal(code, 0, `${command} ${args.join(" ")}\n${stdout}\n${stderr}`);
    return stdout;
  };
  const pulumi = (...args: string[]) => runIn(project, "pulumi", ...args, "--non-interactive");

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-test-"));
    project = join(folder, "shop");
    const { binDir } = await ensurePulumi();
    env = cleanEnv();
    env = {
      ...env,
      PATH: [binDir, dirname(process.execPath), env["PATH"]].join(delimiter),
      PULUMI_BACKEND_URL: pathToFileURL(join(folder, "backend")).href,
      PULUMI_HOME: join(folder, "pulumi-home"),
      PULUMI_CONFIG_PASSPHRASE: "correct horse",
      PULUMI_SKIP_UPDATE_CHECK: "1",
    };
    mkdirSync(join(folder, "backend"));
    mkdirSync(join(project, "clusters"), { recursive: true });
    writeFileSync(join(project, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
    writeFileSync(join(project, "package.json"), '{ "name": "shop", "type": "module" }\n');
    writeFileSync(join(project, "index.js"), program);
    writeManifests(join(project, "clusters"), {
      machines: { "cp-0": { controlPlane: true }, "worker-0": {} },
    });
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
    packed = (JSON.parse(await runIn(repository, "npm", ...args)) as [Packed])[0];
    const quiet = ["--no-audit", "--no-fund", "--prefer-offline"];
    await runIn(project, "npm", "install", ...quiet, join(folder, packed.filename));
  });
  after(() => removeFolder(folder));

  it("holds what it promises and nothing else", () => {
    const { exports, bin } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
      exports: Record<string, string | Record<string, string>>;
      bin: Record<string, string>;
    };
    const promised = [...Object.values(exports), bin].flatMap((target) =>
      typeof target === "string" ? [target] : Object.values(target),
    );
    const paths = packed.files.map(({ path }) => path);
    for (const path of promised) {
      assert.ok(paths.includes(path.replace("./", "")), `${path} is in the package`);
    }
    const strange = paths.filter(
      (path) =>
        !/^(bin|deploy\/ci|dist\/(cli|program|src|providers|stacks\/cluster)|stacks\/aws-foundation|providers\/local\/kubeadm\/(image|scripts)|tools\/toolchain|docs|examples)\/|^(README|CHANGELOG|LICENSE)|^package\.json$/.test(
          path,
        ) || /node_modules|\.test\.|passphrase|\.db$|Pulumi\.[^/]+\.yaml$/.test(path),
    );
    assert.deepEqual(strange, []);
  });

  it("holds the documents and schemas that its messages name, and no tool for its developers", () => {
    const paths = packed.files.map(({ path }) => path);
    const docs = readdirSync(join(repository, "docs"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => relative(repository, join(parentPath, name)));
    assert.ok(docs.includes("docs/schemas/plan-v1.schema.json") && docs.includes("docs/cli.md"));
    assert.deepEqual(
      docs.filter((path) => !paths.includes(path)),
      [],
    );
    const tools = new Set(paths.filter((path) => path.startsWith("tools/")).map(dirname));
    assert.deepEqual(
      [...tools].filter((folder) => !folder.startsWith("tools/toolchain")),
      [],
    );
  });

  it("holds what hosts of namespaces are made by", () => {
    const paths = packed.files.map(({ path }) => path);
    const parts = ["image", "scripts"].flatMap((name) => {
      const folder = join(repository, "providers", "local", "kubeadm", name);
      return readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(repository, join(entry.parentPath, entry.name)));
    });
    assert.ok(parts.length > 0);
    assert.deepEqual(
      parts.filter((path) => !paths.includes(path)),
      [],
    );
  });

  it("holds every module that its modules import", () => {
    const { imports } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
      imports: Record<string, string>;
    };
    const paths = packed.files.map(({ path }) => path);
    const missing = paths
      .filter((path) => /^(bin|tools|dist)\/.*\.m?js$/.test(path))
      .flatMap((path) =>
        importedBy(readFileSync(join(repository, path), "utf8"))
          .map((name) => imports[name] ?? join(dirname(path), name))
          .map((target) => normalize(target))
          .filter((target) => !paths.includes(target))
          .map((target) => `${path} imports ${target}`),
      );
    assert.deepEqual(missing, []);
  });

  it("previews, makes, keeps and destroys a cluster", async () => {
    const cloud = join(project, ".capstan", "local-cloud.db");
    const alive = () => readCloud(cloud).filter(({ state }) => state === "running");

    await pulumi("stack", "init", "dev");
    const preview = await pulumi("preview");
    assert.match(preview, /Plan: 4 to create; all that is new first/);
    assert.deepEqual(existsSync(cloud) ? readCloud(cloud) : [], []);

    await pulumi("up", "--yes", "--skip-preview");
    assert.deepEqual(
      alive().map(({ name }) => name.replace(/-[0-9a-f]{8}-1$/, "")),
      ["network", "api", "cp-0", "worker-0"],
    );
    const outputs = JSON.parse(await pulumi("stack", "output", "--json")) as object;
    assert.deepEqual(outputs, { revision: 1 });
    await pulumi("preview", "--expect-no-changes");

    await pulumi("destroy", "--yes", "--skip-preview");
    assert.deepEqual(alive(), []);
  });

  it("brings the command line with it", async () => {
    const capstan = join(project, "node_modules", ".bin", "capstan");
    const version = await runIn(project, capstan, "version");
    assert.match(version, /^capstan \d+\.\d+\.\d+\n$/);
    const plan = await run(capstan, ["plan", "-f", "clusters"], { cwd: project, env });
    assert.equal(plan.code, 2, plan.stderr);
  });
});
