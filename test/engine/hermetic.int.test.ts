import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };

describe("a state folder that came with a repository of others", () => {
  let sandbox: Sandbox;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
  });

  const proof = () => join(sandbox.folder, "was-run");
  /** A program that tells that it was run. */
  const plantProgram = (path: string): string => {
    const file = join(sandbox.state, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh\nenv > '${proof()}'\nexit 1\n`);
    chmodSync(file, 0o755);
    return file;
  };

  it("runs no language host that its project file names", async () => {
    const program = plantProgram("evil/pulumi-language-nodejs");
    const project = { languages: [{ name: "nodejs", path: dirname(program) }] };
    writeFileSync(
      join(sandbox.state, "work", "Pulumi.yaml"),
      `name: capstan\nruntime: nodejs\nplugins: ${JSON.stringify(project)}\n`,
    );
    await sandbox.capstan(0, "destroy", "--yes", demoStack);
    assert.equal(existsSync(proof()), false);
    assert.deepEqual(sandbox.alive(), []);
  });

  it("runs no provider that its state names and its home of Pulumi's holds", async () => {
    plantProgram("pulumi-home/plugins/resource-evil-v1.0.0/pulumi-resource-evil");
    const file = join(sandbox.state, `pulumi/.pulumi/stacks/capstan/${demoStack}.json`);
    const state = JSON.parse(readFileSync(file, "utf8")) as {
      checkpoint: { latest: { resources: object[] } };
    };
    state.checkpoint.latest.resources.push({
      urn: `urn:pulumi:${demoStack}::capstan::pulumi:providers:evil::evil`,
      custom: true,
      id: "one",
      type: "pulumi:providers:evil",
      inputs: { version: "1.0.0" },
      outputs: { version: "1.0.0" },
    });
    writeFileSync(file, JSON.stringify(state));
    const before = sandbox.ledgerEnd();
    const { stderr } = await sandbox.capstan(1, "destroy", "--yes", demoStack);
    assert.match(stderr, /it holds 1 resource that is not of a cluster, e\.g\. \S+evil/);
    assert.equal(existsSync(proof()), false);
    assert.deepEqual(sandbox.mutations(before), []);
  });
});
