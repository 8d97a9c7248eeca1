import assert from "node:assert/strict";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };

describe("bad input", () => {
  let sandbox: Sandbox;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
  });

  const checkpoint = () =>
    join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan", `${demoStack}.json`);

  /** Runs a command that has to refuse, and fails if it changed the file or asked the cloud. */
  const refusesOver = async (file: string, code: number, ...args: string[]): Promise<string> => {
    const bytes = readFileSync(file);
    const { stderr } = await sandbox.capstan(code, ...args);
    assert.ok(readFileSync(file).equals(bytes), `${file} is left as it was`);
    return stderr;
  };

  it("in a manifest ends before anything is made", async () => {
    const fresh = await Sandbox.make({
      machines: { "cp-0": { controlPlane: true, diskGib: -1, size: "huge" as "large" } },
    });
    try {
      const { stderr } = await fresh.up(65);
      const file = join(fresh.manifests, "cluster.yaml");
      const lines = readFileSync(file, "utf8").split("\n");
      for (const text of ["diskGib: -1", "size: huge"]) {
        const line = lines.findIndex((one) => one.includes(text));
        const column = (lines[line]?.indexOf(text) ?? 0) + 1;
        const place = `${file}:${line + 1}:${column}: error: Machine default/cp-0: `;
        assert.ok(stderr.includes(place), `${place}\n${stderr}`);
      }
      assert.match(stderr, /2 errors; nothing was touched/);
      assert.equal(existsSync(fresh.state), false);
    } finally {
      await fresh.close();
    }
  });

  it("in a manifest does not touch what runs", async () => {
    writeFileSync(join(sandbox.manifests, "more.yaml"), "kind: Machine\n  name: [\n");
    const before = sandbox.ledgerEnd();
    const { stderr } = await sandbox.up(65);
    assert.match(stderr, /more\.yaml:\d+:\d+: error: /);
    assert.equal(sandbox.ledgerEnd(), before);
  });

  it("in the manifests of a destroy names the way that needs none", async () => {
    await sandbox.up();
    writeFileSync(join(sandbox.manifests, "more.yaml"), "kind: Machine\n  name: [\n");
    const { stderr } = await sandbox.capstan(65, "destroy", "--yes", "-f", sandbox.manifests);
    assert.match(stderr, /\nhint: .*is also destroyed by name: capstan .*destroy default\/demo\n/);
    await sandbox.capstan(0, "destroy", "--yes", "default/demo");
    assert.deepEqual(sandbox.alive(), []);
  });

  it("steers neither a terminal nor a CI system that it is told to", async () => {
    const hostile = "x\u001b[2K\u202e\n::error::taken over";
    const object = { apiVersion: "cluster.k8s.io/v1alpha1", kind: hostile, metadata: {} };
    writeFileSync(join(sandbox.manifests, "more.json"), JSON.stringify(object));
    for (const json of [[], ["--json"]]) {
      const { stdout, stderr } = await sandbox.capstan(
        65,
        "validate",
        "-f",
        sandbox.manifests,
        ...json,
      );
      const told = stdout + stderr;
      assert.match(told, /taken over/);
      assert.ok(!told.includes("\u001b") && !told.includes("\u202e"), told);
      assert.doesNotMatch(told, /^\s*::/m);
    }
    const { stderr } = await sandbox.capstan(64, "validate", `--\u001b[8m${hostile}`);
    assert.match(stderr, /unknown option/);
    assert.ok(!stderr.includes("\u001b"), stderr);
    assert.doesNotMatch(stderr, /^\s*::/m);
  });

  it("in place of the manifests is named", async () => {
    const { stderr } = await sandbox.capstan(65, "up", "--yes", "-f", "nowhere");
    assert.match(stderr, /cannot read nowhere/);
    assert.match((await sandbox.capstan(64, "plan")).stderr, /which manifests\?/);
  });

  it("in the file of the stack's state is reported, and the file is left alone", async () => {
    const text = readFileSync(checkpoint(), "utf8");
    writeFileSync(checkpoint(), text.replace('"urn":', '"urn":7,"was":'));
    const files = ["-f", sandbox.manifests];
    for (const args of [["plan", ...files], ["up", "--yes", ...files], ["status"]]) {
      const stderr = await refusesOver(checkpoint(), 1, ...args);
      assert.ok(
        stderr.includes(`cannot read the state of ${demoStack} in ${checkpoint()}`),
        stderr,
      );
      assert.match(stderr, /hint: it was left as it is/);
    }
    assert.equal(sandbox.alive().length, 3);
  });

  it("in the file of the local cloud is reported, and the file is left alone", async () => {
    const file = sandbox.cloudFile;
    writeFileSync(file, "this was a database once\n".repeat(400));
    for (const args of [["plan"], ["up", "--yes"]]) {
      const stderr = await refusesOver(file, 1, ...args, "-f", sandbox.manifests);
      assert.ok(stderr.includes(`cannot open local cloud ${file}: `), stderr);
      assert.match(stderr, /hint: the file was left as it is/);
    }
  });

  it("in the file of the locks is reported", async () => {
    const file = join(sandbox.state, "locks.db");
    writeFileSync(file, "no database\n".repeat(400));
    const stderr = await refusesOver(file, 1, "up", "--yes", "-f", sandbox.manifests);
    assert.ok(stderr.includes(`cannot open ${file}: `), stderr);
  });

  it("in a state that a newer release wrote is refused", async () => {
    await sandbox.editState(demoStack, ({ resources }) => {
      const transaction = resources?.find(({ type }) => type.endsWith(":Transaction"));
      assert.ok(transaction?.inputs && transaction.outputs);
      transaction.inputs["schemaVersion"] = 99;
      transaction.outputs["schemaVersion"] = 99;
    });
    const stderr = await refusesOver(checkpoint(), 1, "up", "--yes", "-f", sandbox.manifests);
    assert.match(stderr, /cannot read Transaction of default\.demo: its schemaVersion is 99/);
    assert.match(stderr, /hint: use the release that wrote it, or a newer one/);
    await refusesOver(checkpoint(), 1, "destroy", "--yes", demoStack);
    assert.equal(sandbox.alive().length, 3);
  });

  it("in a stack that holds something else as well is refused", async () => {
    await sandbox.editState(demoStack, ({ resources = [] }) => {
      const [stack] = resources;
      assert.equal(stack?.type, "pulumi:pulumi:Stack");
      const urn = `urn:pulumi:${demoStack}::capstan::my:own:Component::mine`;
      resources.push({ urn, type: "my:own:Component", custom: false, parent: stack.urn });
    });
    sandbox.write({ machines: { ...member.machines, "worker-0": {} } });
    const before = sandbox.ledgerEnd();
    for (const args of [
      ["plan", "-f", sandbox.manifests],
      ["up", "--yes", "-f", sandbox.manifests],
      ["destroy", "--yes", demoStack],
    ]) {
      const stderr = await refusesOver(checkpoint(), 1, ...args);
      assert.match(stderr, /it holds 1 resource that is not of a cluster, e\.g\. urn:.*::mine/);
    }
    assert.deepEqual(sandbox.mutations(before), []);
  });

  it("without the passphrase file is refused, and no new one is made", async () => {
    const file = join(sandbox.state, "passphrase");
    renameSync(file, `${file}.away`);
    const stderr = await refusesOver(checkpoint(), 1, "up", "--yes", "-f", sandbox.manifests);
    assert.ok(stderr.includes(`cannot decrypt the state: ${file} is gone`), stderr);
    assert.equal(existsSync(file), false);
  });
});
