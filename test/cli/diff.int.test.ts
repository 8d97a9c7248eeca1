import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { type ScenarioCluster, demoStack, writeManifests } from "../scenario/manifests.js";
import { repository, Sandbox } from "../scenario/sandbox.js";

const examples = join(repository, "examples");

describe("diff", () => {
  const shape: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, web: {} } };
  let sandbox: Sandbox;

  before(async () => {
    sandbox = await Sandbox.make(shape);
  });
  after(() => sandbox.close());

  /** Manifests in a folder of their own. */
  const folder = (name: string, change: Partial<ScenarioCluster> = {}): string => {
    const path = join(sandbox.folder, name);
    mkdirSync(path, { recursive: true });
    writeManifests(path, { ...shape, ...change });
    return path;
  };
  const diff = (code: number, ...args: string[]) => sandbox.capstan(code, "diff", ...args);

  it("of two folders: 0 for the same under other names, 2 with what differs", async () => {
    const [a, b] = [folder("a"), folder("b", { name: "other" })];
    assert.match(
      (await diff(0, a, b)).stdout,
      /^default\/demo .* and default\/other .* are the same\n$/,
    );
    const machines = { "cp-0": { controlPlane: true }, web: { size: "large" } } as const;
    const { stdout } = await diff(2, a, folder("c", { machines }));
    assert.match(stdout, /^ {2}~ Machine web: size small -> large$/m);
  });

  it("of a stack and a folder, as one JSON document or one Markdown text", async () => {
    await sandbox.up();
    const same = folder("same");
    assert.equal((await diff(0, demoStack, same, "--format", "json")).stderr, "");
    assert.match((await diff(0, "default/demo", same)).stdout, /\(recorded, revision 1\)/);

    const other = folder("range", { networkCidr: "10.9.0.0/16" });
    const document = JSON.parse((await diff(2, demoStack, other, "--format", "json")).stdout) as {
      from: unknown;
      same: boolean;
      infrastructure: unknown[];
    };
    assert.deepEqual(document.from, {
      kind: "stack",
      stack: demoStack,
      revision: 1,
      cluster: "default/demo",
    });
    assert.deepEqual(document.infrastructure, [
      {
        kind: "changed",
        item: "LocalNetwork network",
        changes: [{ kind: "value", path: "cidr", from: "10.0.0.0/16", to: "10.9.0.0/16" }],
      },
    ]);
    const markdown = (await diff(2, demoStack, other, "--format", "markdown")).stdout;
    assert.match(markdown, /^<!-- capstan-diff -->\n\n## Capstan diff: they differ\n/);
    await diff(0, demoStack, other, "--ignore-addresses");
  });

  it("refuses what it cannot compare, and says what there is", async () => {
    const missing = await diff(1, "default/nothing", folder("a"));
    assert.match(missing.stderr, /no such path, and no revision of such a stack/);
    const two = folder("two");
    copyFileSync(
      join(folder("second", { name: "second", machines: {} }), "cluster.yaml"),
      join(two, "more.yaml"),
    );
    const { stderr } = await diff(65, two, folder("a"));
    assert.match(stderr, /it holds 2 clusters: default\/demo, default\/second/);
    assert.match(
      (await diff(65, join(examples, "broken"), two)).stderr,
      /unknown field "kubelett"/,
    );
  });
});
