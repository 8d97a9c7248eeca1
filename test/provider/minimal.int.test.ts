import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensurePulumi } from "#toolchain";
import type { Observed } from "../../src/provider/port.js";
import { type Outcome, run } from "../scenario/command.js";
import { cleanEnv, commandLine, repository } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

const stack = "default.folder-demo";

/** A copy of examples/provider-minimal in which commands run as its reader would run them. */
class Example {
  readonly folder = mkdtempSync(join(tmpdir(), "capstan-minimal-"));

  constructor() {
    cpSync(join(repository, "examples", "provider-minimal"), this.folder, { recursive: true });
  }

  async capstan(code: number, ...args: string[]): Promise<string> {
    return this.expect(code, process.execPath, [commandLine, ...args], this.env());
  }

  async expect(
    code: number,
    program: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): Promise<string> {
    const outcome: Outcome = await run(program, args, { cwd: this.folder, env });
    assert.equal(outcome.code, code, `${args.join(" ")}\n${outcome.stdout}\n${outcome.stderr}`);
    return outcome.stdout;
  }

  env(): NodeJS.ProcessEnv {
    return { ...cleanEnv(), CAPSTAN_PROVIDERS: undefined };
  }

  edit(from: string, to: string): void {
    const file = join(this.folder, "cluster.yaml");
    const text = readFileSync(file, "utf8");
    assert.ok(text.includes(from), from);
    writeFileSync(file, text.replace(from, to));
  }

  /** The files of the example's cloud, oldest name first. */
  machines(): Observed[] {
    const folder = join(this.folder, ".capstan", "machines");
    const files = existsSync(folder) ? readdirSync(folder).sort() : [];
    return files.map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Observed);
  }

  alive(): Observed[] {
    return this.machines().filter(({ phase }) => phase !== "gone");
  }

  close(): void {
    removeFolder(this.folder);
  }
}

describe("the minimal provider under the real engine", () => {
  let example: Example;

  beforeEach(() => {
    example = new Example();
  });
  afterEach(() => example.close());

  const up = () => example.capstan(0, "up", "--yes", "-f", "cluster.yaml");
  const plan = (code: number) => example.capstan(code, "plan", "-f", "cluster.yaml");

  it("is about 60 lines, with four calls", () => {
    const lines = readFileSync(join(example.folder, "provider.js"), "utf8").trim().split("\n");
    assert.ok(lines.length <= 65, `${lines.length} lines`);
    assert.equal(lines.filter((line) => /^ {6}async /.test(line)).length, 4);
  });

  it("plans, makes, scales, replaces and destroys, with nothing left over", async () => {
    assert.match(await plan(2), /Plan: 3 to create/);
    assert.deepEqual(example.machines(), [], "a plan makes nothing");
    await up();
    assert.deepEqual(
      example.alive().map(({ spec }) => spec["cpus"]),
      [4, 2, 2],
    );
    assert.match(await plan(0), /No changes/);

    example.edit("replicas: 2", "replicas: 3");
    assert.match(await plan(2), /Plan: 1 to create/);
    const before = example.alive().map(({ id }) => id);
    await up();
    assert.equal(example.alive().length, 4);
    assert.deepEqual(
      before.filter((id) => !example.alive().some((one) => one.id === id)),
      [],
    );

    const old = example.alive().find(({ spec }) => spec["role"] === "controlPlane");
    example.edit("cpus: 4", "cpus: 8");
    assert.match(await plan(2), /Machine cp-0 +± replace +cpus 4 -> 8/);
    await up();
    const fresh = example.alive().find(({ spec }) => spec["role"] === "controlPlane");
    assert.equal(fresh?.spec["cpus"], 8);
    assert.notEqual(fresh?.id, old?.id);
    assert.equal(example.machines().find(({ id }) => id === old?.id)?.phase, "gone");
    await plan(0);

    await example.capstan(0, "destroy", "--yes", stack);
    assert.deepEqual(example.alive(), []);
  });

  it("serves a plain pulumi up as well", async () => {
    const { binDir } = await ensurePulumi();
    const { folder } = example;
    installInto(folder);
    const state = join(folder, ".capstan");
    mkdirSync(join(state, "pulumi"), { recursive: true });
    const env = {
      ...example.env(),
      PATH: [binDir, dirname(process.execPath), process.env["PATH"]].join(delimiter),
      PULUMI_BACKEND_URL: pathToFileURL(join(state, "pulumi")).href,
      PULUMI_HOME: join(state, "pulumi-home"),
      PULUMI_CONFIG_PASSPHRASE: "test",
      PULUMI_SKIP_UPDATE_CHECK: "1",
    };
    const pulumi = (...args: string[]) =>
      example.expect(0, join(binDir, "pulumi"), [...args, "--non-interactive"], env);
    await pulumi("stack", "init", stack);
    await pulumi("up", "--yes", "--skip-preview");
    assert.equal(example.alive().length, 3);
    await pulumi("preview", "--expect-no-changes");
    await pulumi("destroy", "--yes", "--skip-preview");
    assert.deepEqual(example.alive(), []);
  });
});

/** What `npm install capstan` and a program of three lines make of the folder. */
function installInto(folder: string): void {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(repository, join(folder, "node_modules", "capstan"));
  symlinkSync(join(repository, "node_modules", "@pulumi"), join(folder, "node_modules", "@pulumi"));
  writeFileSync(
    join(folder, "Pulumi.yaml"),
    "name: demo\nruntime: nodejs\nconfig:\n  capstan:manifests:\n    value: cluster.yaml\n",
  );
  writeFileSync(
    join(folder, "index.js"),
    'import { cluster } from "capstan";\nexport const { revision } = await cluster();\n',
  );
  const file = join(folder, "package.json");
  const content = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(file, JSON.stringify({ ...content, main: "index.js" }));
}
