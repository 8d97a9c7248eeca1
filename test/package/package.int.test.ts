import assert from "node:assert/strict";
import {
  copyFileSync,
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
import { type Outcome, run } from "../scenario/command.js";
import { judge, nothingWrong, readCloud, type Deployment } from "../scenario/ledger-judge.js";
import { writeManifests } from "../scenario/manifests.js";
import { npmEnv, packInto, type PackedTarball } from "../scenario/packed-package.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";
import { folderOfOldNode } from "./old-node.js";

const readme = readFileSync(join(repository, "README.md"), "utf8");

const program = `import { cluster } from "capstan";

export const { revision } = await cluster({ manifests: "clusters" });
`;

/** The one code block of the README in a language that holds a text. */
function readmeBlock(language: string, text: string): string {
  const blocks = [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))]
    .map(([, block = ""]) => block)
    .filter((block) => block.includes(text));
  assert.equal(blocks.length, 1, `${blocks.length} ${language} blocks of README.md hold ${text}`);
  return blocks[0] ?? "";
}

/** Relative paths and names of package.json that a module imports; not the dependencies. */
function importedBy(code: string): string[] {
  const imports = code.matchAll(/\b(?:from|import)\s*\(?\s*"([.#][^"]+)"/g);
  return [...imports].map(([, name = ""]) => name);
}

// One tarball is packed and installed once, by the npm of an old Node.js: projects are copies of that installation.
describe("the package", () => {
  let folder: string;
  let packed: PackedTarball;
  let installed: string;
  /** Of commands on the Node.js of the suite. */
  let newEnv: NodeJS.ProcessEnv;
  /** Of commands on a Node.js that Capstan does not run on. */
  let oldEnv: NodeJS.ProcessEnv;

  const runWith = async (
    env: NodeJS.ProcessEnv,
    cwd: string,
    command: string,
    ...args: string[]
  ): Promise<Outcome> => {
    const outcome = await run(command, args, { cwd, env });
    const said = `${command} ${args.join(" ")}\n${outcome.stdout}\n${outcome.stderr}`;
    assert.equal(outcome.code, 0, said);
    return outcome;
  };

  /** A project that has the package; its package.json is its own, and its modules are hard links. */
  const projectOf = async (name: string): Promise<string> => {
    const project = join(folder, name);
    mkdirSync(project);
    await runWith(newEnv, installed, "cp", "-al", "node_modules", project);
    copyFileSync(join(installed, "package.json"), join(project, "package.json"));
    return project;
  };

  /** What Pulumi keeps for one of the projects alone. */
  const pulumiEnv = (name: string): NodeJS.ProcessEnv => {
    const backend = join(folder, `backend-${name}`);
    mkdirSync(backend);
    return {
      PULUMI_BACKEND_URL: pathToFileURL(backend).href,
      PULUMI_HOME: join(folder, `pulumi-home-${name}`),
      PULUMI_CONFIG_PASSPHRASE: "correct horse",
      PULUMI_SKIP_UPDATE_CHECK: "1",
    };
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-test-"));
    const { bin, binDir } = await ensurePulumi();
    const env = npmEnv(cleanEnv());
    newEnv = { ...env, PATH: [binDir, dirname(process.execPath), env["PATH"]].join(delimiter) };
    oldEnv = {
      ...env,
      PATH: [await folderOfOldNode(folder, env), env["PATH"]].join(delimiter),
      CAPSTAN_PULUMI: bin,
    };
    packed = await packInto(folder, oldEnv);
    installed = join(folder, "installed");
    mkdirSync(installed);
    await runWith(oldEnv, installed, "npm", "install", "--prefer-offline", packed.tarball);
  });
  after(() => removeFolder(folder));

  describe("as a tarball", () => {
    it("holds what it promises and nothing else", () => {
      const { exports, bin } = JSON.parse(
        readFileSync(join(repository, "package.json"), "utf8"),
      ) as {
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
  });

  describe("in an ordinary Pulumi project", () => {
    let project: string;
    let env: NodeJS.ProcessEnv;

    const runIn = async (command: string, ...args: string[]): Promise<string> =>
      (await runWith(env, project, command, ...args)).stdout;
    const pulumi = (...args: string[]) => runIn("pulumi", ...args, "--non-interactive");

    before(async () => {
      project = await projectOf("ordinary");
      env = { ...newEnv, ...pulumiEnv("ordinary") };
      mkdirSync(join(project, "clusters"));
      writeFileSync(join(project, "Pulumi.yaml"), "name: shop\nruntime: nodejs\n");
      setType(project, "module");
      writeFileSync(join(project, "index.js"), program);
      writeManifests(join(project, "clusters"), {
        machines: { "cp-0": { controlPlane: true }, "worker-0": {} },
      });
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
      const version = await runIn(capstan, "version");
      assert.match(version, /^capstan \d+\.\d+\.\d+\n$/);
      const plan = await run(capstan, ["plan", "-f", "clusters"], { cwd: project, env });
      assert.equal(plan.code, 2, plan.stderr);
    });
  });

  describe("on an old Node.js", () => {
    let empty: string;
    let shop: string;
    let cache: string;
    let env: NodeJS.ProcessEnv;

    const runIn = (cwd: string, command: string, ...args: string[]) =>
      runWith(env, cwd, command, ...args);
    const capstan = (cwd: string, ...args: string[]) => runIn(cwd, "npx", "capstan", ...args);
    const inShop = (...args: string[]) => capstan(shop, "-C", ".", "-s", "dev", ...args);
    /** What a user types after `eval "$(npx capstan env)"`. */
    const pulumi = (...args: string[]) =>
      runIn(shop, "sh", "-c", 'eval "$(npx capstan env)" && exec pulumi "$@"', "sh", ...args);

    before(async () => {
      cache = join(folder, "cache");
      env = { ...oldEnv, ...pulumiEnv("old"), CAPSTAN_CACHE: cache };
      empty = await projectOf("empty");
    });

    it("sets up the Node.js that it needs at its first call, and makes and shows a cluster", async () => {
      const first = await capstan(empty, "version");
      assert.match(first.stdout, /^capstan \d+\.\d+\.\d+\n$/);
      assert.match(
        first.stderr,
        /^Node\.js v\S+ is older than [\d.]+: setting up a private [\d.]+ with npm, once\n(?:setting up: \d+ s so far\n)*$/,
      );
      assert.equal(readdirSync(cache).filter((name) => name.startsWith("node-")).length, 1);

      assert.equal((await capstan(empty, "version")).stderr, "");
      await capstan(empty, "init", "demo");
      const up = await capstan(empty, "up", "--yes", "-f", "demo");
      assert.match(up.stdout, /revision 1 of default\/demo, 3 machines run/);
      const { stdout } = await capstan(empty, "describe");
      assert.match(stdout, /3 of 3 machines ready/);
      const held = readCloud(join(empty, ".capstan", "local-cloud.db"));
      assert.equal(held.filter(({ kind }) => kind === "LocalHost").length, 3);
    });

    describe("in the README's Pulumi project", () => {
      before(async () => {
        shop = await projectOf("shop");
        writeFileSync(join(shop, "Pulumi.yaml"), readmeBlock("yaml", "runtime:"));
        writeFileSync(join(shop, "index.mjs"), readmeBlock("js", 'from "capstan"'));
        await capstan(shop, "init", "clusters/demo");
        await pulumi("stack", "init", "dev");
        await pulumi("up", "--yes", "--skip-preview", "--stack", "dev");
      });

      it("runs whatever the type of its package is", async () => {
        for (const type of ["module", "commonjs", undefined]) {
          setType(shop, type);
          await pulumi("preview", "--expect-no-changes", "--stack", "dev");
        }
        const { stdout } = await pulumi("stack", "output", "--json", "--stack", "dev");
        assert.match(stdout, /^\{\s+"revision": \d+\s+\}\n$/);
      });

      it("works in turns with pulumi up there", async () => {
        const workers = join(shop, "clusters", "demo", "workers.yaml");
        const scale = (replicas: number) => {
          const text = readFileSync(workers, "utf8");
          assert.match(text, /replicas: \d/);
          writeFileSync(workers, text.replace(/replicas: \d/, `replicas: ${replicas}`));
        };
        const assertSound = async (hosts: number): Promise<void> => {
          const { stdout } = await pulumi("stack", "export", "--stack", "dev");
          const { deployment } = JSON.parse(stdout) as { deployment: Deployment };
          const rows = readCloud(join(shop, ".capstan", "local-cloud.db"));
          assert.deepEqual(judge(rows, deployment), nothingWrong);
          const alive = rows.filter(
            ({ kind, state }) => kind === "LocalHost" && state === "running",
          );
          assert.equal(alive.length, hosts);
        };

        scale(3);
        await inShop("up", "--yes", "-f", "clusters/demo");
        await assertSound(4);
        await pulumi("preview", "--expect-no-changes", "--stack", "dev");
        scale(1);
        await pulumi("up", "--yes", "--skip-preview", "--stack", "dev");
        await assertSound(2);
        const { stdout: status } = await inShop("status");
        assert.match(status, /Cluster default\/demo {3}revision 3/);
        await inShop("rollback", "--yes");
        await assertSound(4);
        scale(2);
        await pulumi("up", "--yes", "--skip-preview", "--stack", "dev");
        await assertSound(3);
      });

      it("tells a Pulumi program on that Node.js what helps", async () => {
        const preview = ["preview", "--stack", "dev", "--non-interactive"];
        const { code, stdout } = await run(env["CAPSTAN_PULUMI"] ?? "", preview, {
          cwd: shop,
          env: {
            ...env,
            PATH: [env["PATH"], dirname(env["CAPSTAN_PULUMI"] ?? "")].join(delimiter),
          },
        });
        assert.notEqual(code, 0);
        assert.match(stdout, /capstan needs Node\.js [\d.]+ or newer, this one is v\d/);
        assert.match(stdout, /eval "\$\(npx capstan env\)"/);
      });
    });
  });
});

/** The package.json of a project as npm left it, with another type of modules. */
function setType(project: string, type: string | undefined): void {
  const file = join(project, "package.json");
  const { type: _former, ...rest } = JSON.parse(readFileSync(file, "utf8")) as { type?: string };
  writeFileSync(file, JSON.stringify({ ...rest, ...(type !== undefined && { type }) }));
}
