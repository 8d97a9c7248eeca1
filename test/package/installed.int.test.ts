import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isFittingNode, minimumNode } from "#node-version";
import { ensurePulumi } from "#toolchain";
import { type Outcome, run } from "../scenario/command.js";
import { judge, nothingWrong, readCloud, type Deployment } from "../scenario/ledger-judge.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

/** Which Node.js is installed from npm where the machine has no old one on PATH. */
const oldRelease = "20.20.2";
const readme = readFileSync(join(repository, "README.md"), "utf8");

/** The one code block of the README in a language that holds a text. */
function readmeBlock(language: string, text: string): string {
  const blocks = [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))]
    .map(([, block = ""]) => block)
    .filter((block) => block.includes(text));
  assert.equal(blocks.length, 1, `${blocks.length} ${language} blocks of README.md hold ${text}`);
  return blocks[0] ?? "";
}

describe("the package, installed from its tarball, on an old Node.js", () => {
  let folder: string;
  let shop: string;
  let cache: string;
  let empty: string;
  let env: NodeJS.ProcessEnv;

  const runIn = async (cwd: string, command: string, ...args: string[]): Promise<Outcome> => {
    const outcome = await run(command, args, { cwd, env });
    const said = `${command} ${args.join(" ")}\n${outcome.stdout}\n${outcome.stderr}`;
    assert.equal(outcome.code, 0, said);
    return outcome;
  };
  const capstan = (cwd: string, ...args: string[]) => runIn(cwd, "npx", "capstan", ...args);
  const inShop = (...args: string[]) => capstan(shop, "-C", ".", "-s", "dev", ...args);
  /** What a user types after `eval "$(npx capstan env)"`. */
  const pulumi = (...args: string[]) =>
    runIn(shop, "sh", "-c", 'eval "$(npx capstan env)" && exec pulumi "$@"', "sh", ...args);

  /** The folder of a Node.js that Capstan does not run on: the machine's own, else one from npm. */
  const folderOfOldNode = async (): Promise<string> => {
    for (const candidate of (env["PATH"] ?? "").split(delimiter)) {
      const node = join(candidate, "node");
      if (!existsSync(node)) continue;
      const { stdout } = await runIn(folder, node, "--version");
      if (!isFittingNode(stdout.trim())) return candidate;
    }
    const name = `node-${process.platform}-${process.arch}`;
    const own = join(folder, "old-node");
    mkdirSync(own);
    const { code, stderr } = await run(
      "npm",
      ["install", "--prefix", own, `${name}@${oldRelease}`],
      {
        cwd: own,
        env,
      },
    );
    assert.equal(
      code,
      0,
      `this test needs a Node.js older than ${minimumNode} on PATH, or ${name} from npm: ${stderr}`,
    );
    return join(own, "node_modules", name, "bin");
  };

  /** The package.json of the shop as npm left it, with another type of modules. */
  const setType = (type: string | undefined): void => {
    const file = join(shop, "package.json");
    const { type: _former, ...rest } = JSON.parse(readFileSync(file, "utf8")) as { type?: string };
    writeFileSync(file, JSON.stringify({ ...rest, ...(type !== undefined && { type }) }));
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-test-"));
    cache = join(folder, "cache");
    mkdirSync(join(folder, "backend"));
    env = { ...cleanEnv(), npm_config_loglevel: "error", npm_config_audit: "false" };
    // npm names itself and its project to what it runs, which is the suite's own.
    delete env["npm_execpath"];
    env = {
      ...env,
      PATH: [await folderOfOldNode(), env["PATH"]].join(delimiter),
      CAPSTAN_CACHE: cache,
      CAPSTAN_PULUMI: (await ensurePulumi()).bin,
      PULUMI_BACKEND_URL: pathToFileURL(join(folder, "backend")).href,
      PULUMI_HOME: join(folder, "pulumi-home"),
      PULUMI_CONFIG_PASSPHRASE: "correct horse",
      PULUMI_SKIP_UPDATE_CHECK: "1",
    };
    const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
    const { stdout } = await runIn(repository, "npm", ...args);
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    empty = join(folder, "empty");
    mkdirSync(empty);
    await runIn(empty, "npm", "install", "--prefer-offline", join(folder, filename));
    shop = join(folder, "shop");
    cpSync(empty, shop, { recursive: true, verbatimSymlinks: true });
  });
  after(() => removeFolder(folder));

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
      writeFileSync(join(shop, "Pulumi.yaml"), readmeBlock("yaml", "runtime:"));
      writeFileSync(join(shop, "index.mjs"), readmeBlock("js", 'from "capstan"'));
      await capstan(shop, "init", "clusters/demo");
      await pulumi("stack", "init", "dev");
      await pulumi("up", "--yes", "--skip-preview", "--stack", "dev");
    });

    it("runs whatever the type of its package is", async () => {
      for (const type of ["module", "commonjs", undefined]) {
        setType(type);
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
        const alive = rows.filter(({ kind, state }) => kind === "LocalHost" && state === "running");
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
        env: { ...env, PATH: [env["PATH"], dirname(env["CAPSTAN_PULUMI"] ?? "")].join(delimiter) },
      });
      assert.notEqual(code, 0);
      assert.match(stdout, /capstan needs Node\.js [\d.]+ or newer, this one is v\d/);
      assert.match(stdout, /eval "\$\(npx capstan env\)"/);
    });
  });
});
