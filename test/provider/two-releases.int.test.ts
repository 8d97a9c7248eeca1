import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "../../src/api/json.js";
import type { Observed } from "../../src/provider/port.js";
import { run } from "../scenario/command.js";
import { cleanEnv, commandLine } from "../scenario/sandbox.js";
import { textOf } from "../support/manifests.js";
import {
  alpha,
  beta,
  evolvingCluster,
  evolvingDeployment,
  evolvingMachine,
  machineKind,
} from "../support/two-releases.js";
import { removeFolder } from "../support/folders.js";

const stack = "default.prod";
const releases = new URL("../support/two-releases.js", import.meta.url).href;

/** A project whose provider is of one release, and then of the next one. */
class Project {
  readonly folder = mkdtempSync(join(tmpdir(), "capstan-releases-"));

  constructor() {
    this.install("first");
    this.write(alpha, { memory: 2048 });
  }

  install(release: "first" | "second"): void {
    writeFileSync(
      join(this.folder, "provider.mjs"),
      [
        `import { evolvingProvider } from ${JSON.stringify(releases)};`,
        'import { join } from "node:path";',
        `export default ({ stateDir }) => evolvingProvider("${release}", join(stateDir, "machines"));`,
      ].join("\n"),
    );
  }

  write(apiVersion: string, memory: JsonObject): void {
    const text = textOf([
      evolvingCluster(apiVersion),
      evolvingMachine("web", apiVersion, memory),
      evolvingDeployment("set", 1, apiVersion, memory),
    ]);
    writeFileSync(join(this.folder, "cluster.yaml"), text);
  }

  async capstan(code: number, ...args: string[]): Promise<string> {
    const env = { ...cleanEnv(), CAPSTAN_PROVIDERS: "./provider.mjs" };
    const outcome = await run(process.execPath, [commandLine, ...args], { cwd: this.folder, env });
    const said = `${outcome.stdout}\n${outcome.stderr}`;
    assert.equal(outcome.code, code, `${args.join(" ")}\n${said}`);
    return said;
  }

  /** Memory of the machines that are alive, as the cloud has it. */
  memories(): unknown[] {
    const folder = join(this.folder, ".capstan", "machines");
    return readdirSync(folder)
      .map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")) as Observed)
      .filter(({ phase }) => phase !== "gone")
      .map(({ spec }) => spec["memory"]);
  }

  close(): void {
    removeFolder(this.folder);
  }
}

describe("a provider of two releases under the real engine", () => {
  let project: Project;

  beforeEach(() => {
    project = new Project();
  });
  afterEach(() => project.close());

  const plan = (code: number) => project.capstan(code, "plan", "-f", "cluster.yaml");
  const up = () => project.capstan(0, "up", "--yes", "-f", "cluster.yaml");

  it("is upgraded without a change, and leads back to what an earlier release made", async () => {
    await up();
    project.write(alpha, { memory: 4096 });
    await up();
    project.install("second");
    const told = await plan(0);
    assert.match(told, /No changes/);
    assert.match(told, new RegExp(`cluster\\.yaml:\\d+:\\d+: warning: .*"${alpha}" is deprecated`));

    project.write(beta, { memoryGib: 4 });
    const silent = await plan(0);
    assert.match(silent, /No changes/);
    assert.doesNotMatch(silent, /deprecated/);
    assert.doesNotMatch(await project.capstan(2, "history", "diff", "1", "2", stack), /apiVersion/);

    await project.capstan(0, "rollback", "--yes", stack);
    assert.deepEqual(project.memories(), [2048, 2048]);
    project.write(beta, { memoryGib: 2 });
    assert.match(await plan(0), /No changes/);

    project.write(beta, { memoryGib: 8 });
    await up();
    assert.deepEqual(project.memories(), [8192, 8192]);
    await project.capstan(0, "rollback", "--yes", "--to", "2", stack);
    assert.deepEqual(project.memories(), [4096, 4096]);

    const older = await project.capstan(
      0,
      "explain",
      `${machineKind}.memory`,
      "--api-version",
      alpha,
    );
    assert.match(older, /VERSION: +v1alpha1/);
  });
});
