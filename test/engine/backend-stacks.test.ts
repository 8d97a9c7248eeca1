import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { backendObjects } from "../../src/engine/backend/backend-objects.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { Engine } from "../../src/engine/pulumi/engine.js";
import { until } from "../scenario/until.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { onlyLocal } from "../support/manifests.js";
import { scratchFolder } from "../support/scratch.js";

describe("the stacks of a backend that is no folder", () => {
  const scratch = scratchFolder();
  const clock = new FakeClock(0, "manual");
  const asked = () => join(scratch.path, "asked");

  /** An engine whose Pulumi does `listing` when it is asked for stacks. `objects`: keys that the backend holds, and their texts. */
  const engineFor = (listing: string, objects?: Readonly<Record<string, string>>): Engine => {
    const pulumi = join(scratch.path, "pulumi");
    writeFileSync(pulumi, `#!/bin/sh\ntouch '${asked()}'\n${listing}\n`);
    chmodSync(pulumi, 0o755);
    const workspace = new Workspace({
      stateDir: join(scratch.path, "state"),
      backend: "https://api.example.com",
      pulumiBinDir: scratch.path,
      env: { PATH: process.env["PATH"] },
    });
    workspace.prepare();
    if (objects !== undefined) Object.assign(workspace, { objects: holding(objects) });
    return new Engine({ pulumi, workspace, providers: onlyLocal, clock });
  };

  const holding = (objects: Readonly<Record<string, string>>) => {
    const root = join(scratch.path, "backend");
    mkdirSync(root);
    for (const [key, text] of Object.entries(objects)) {
      mkdirSync(dirname(join(root, key)), { recursive: true });
      writeFileSync(join(root, key), text);
    }
    return backendObjects(pathToFileURL(root).href, {});
  };

  const byProject = { ".pulumi/meta.yaml": "version: 1\n" };
  const told = `echo '[{"name":"organization/capstan/default.told"},{"name":"default.demo"}]'`;
  const folder = ".pulumi/stacks/capstan";

  const cases: readonly {
    readonly name: string;
    readonly objects?: Readonly<Record<string, string>>;
    readonly stacks: readonly string[];
    readonly asks: boolean;
  }[] = [
    {
      name: "are those of its objects",
      asks: false,
      stacks: ["a.b", "c.d"],
      objects: {
        ...byProject,
        [`${folder}/c.d.json`]: "{",
        [`${folder}/a.b.json.gz`]: "",
        [`${folder}/a.b.json`]: "{}",
        [`${folder}/a.b.json.bak`]: "{}",
        [`${folder}/deeper/e.f.json`]: "{}",
        ".pulumi/stacks/other/g.h.json": "{}",
      },
    },
    { name: "are none before the first", asks: false, stacks: [], objects: byProject },
    { name: "are none before Pulumi has been there", asks: false, stacks: [], objects: {} },
    {
      name: "are those that Pulumi tells in the older layout",
      asks: true,
      stacks: ["default.demo", "default.told"],
      objects: {
        ".pulumi/stacks/default.demo.json": "{}",
      },
    },
    {
      name: "are those that Pulumi tells in a layout of another number",
      asks: true,
      stacks: ["default.demo", "default.told"],
      objects: {
        ".pulumi/meta.yaml": "version: 2\n",
        [`${folder}/a.b.json`]: "{}",
      },
    },
    {
      name: "are those that Pulumi tells where only Pulumi reads",
      asks: true,
      stacks: ["default.demo", "default.told"],
    },
  ];
  for (const { name, objects, stacks, asks } of cases) {
    it(name, async () => {
      assert.deepEqual(await engineFor(told, objects).stacks.list(), stacks);
      assert.equal(existsSync(asked()), asks, "whether Pulumi was asked");
    });
  }

  it("cannot be told by a Pulumi that never answers, which is killed in time", async () => {
    const listing = engineFor("exec sleep 600").stacks.has("default.demo");
    const isRefused = assert.rejects(
      listing,
      failsWith("BAD_STATE", /stack ls .* gave no answer within 120 s/),
    );
    await until("Pulumi is asked", () => existsSync(asked()));
    clock.advance(120_000);
    await isRefused;
  });

  it("cannot be told by a Pulumi that fails", async () => {
    const listing = engineFor("echo 'error: no bucket' >&2; exit 255").stacks.list();
    await assert.rejects(listing, failsWith("ENGINE_FAILED", /cannot list stacks: no bucket/));
  });
});
