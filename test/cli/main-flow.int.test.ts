import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type CloudRow, machineOf } from "../scenario/ledger-judge.js";
import { type PrintedPlan, Sandbox } from "../scenario/sandbox.js";

const stack = "default.quickstart";

describe("the main flow on examples/quickstart", () => {
  let sandbox: Sandbox;

  copyForEachTest({ example: "quickstart" }, (copy) => {
    sandbox = copy;
  });

  /** Replaces text in one of the example's files; it has to be there. */
  const edit = (file: string, from: string, to: string): void => {
    const path = join(sandbox.manifests, file);
    const text = readFileSync(path, "utf8");
    assert.ok(text.includes(from), `${file} holds ${from}`);
    writeFileSync(path, text.replace(from, to));
  };

  it("plans, applies exactly that, and has nothing left to do", async () => {
    const fresh = await Sandbox.make({ example: "quickstart" });
    try {
      const planned = await fresh.planDocument(2);
      assert.deepEqual(fresh.rows(), [], "a plan makes nothing");
      await fresh.up();
      assert.deepEqual(contentOf(fresh.alive()), contentOfPlan(planned, fresh.alive()));
      assert.equal((await fresh.planDocument(0)).empty, true);
      await fresh.assertSound(stack);

      const before = fresh.ledgerEnd();
      const { stdout } = await fresh.up();
      assert.match(stdout, /No changes/);
      assert.deepEqual(fresh.mutations(before), []);
    } finally {
      await fresh.close();
    }
  });

  it("tells the status", async () => {
    const { stdout } = await sandbox.capstan(0, "status", stack, "--json");
    const status = JSON.parse(stdout) as { machines: { host: string; phase: string }[] };
    const hosts = sandbox.alive().filter(({ kind }) => kind === "LocalHost");
    assert.deepEqual(
      status.machines.map(({ host }) => host).sort(),
      hosts.map(({ id }) => id).sort(),
    );
    assert.deepEqual([...new Set(status.machines.map(({ phase }) => phase))], ["ready"]);
  });

  it("changes mutable fields in place, on the same hosts", async () => {
    const before = hostIds(sandbox);
    edit("workers.yaml", "kubelet: 1.34.2", "kubelet: 1.34.3");
    edit("workers.yaml", "diskGib: 20", "diskGib: 40");
    const { stdout } = await sandbox.plan(2);
    assert.equal([...stdout.matchAll(/~ in place.*diskGib 20 -> 40/g)].length, 2, stdout);
    assert.equal([...stdout.matchAll(/~ in place.*kubelet 1\.34\.2 -> 1\.34\.3/g)].length, 2);
    await sandbox.up();
    assert.deepEqual(hostIds(sandbox), before);
    for (const { name, spec } of sandbox.alive()) {
      if (!name.startsWith("workers-")) continue;
      assert.deepEqual([spec["kubelet"], spec["diskGib"]], ["1.34.3", 40]);
    }
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
  });

  it("scales a MachineDeployment down and up", async () => {
    edit("workers.yaml", "replicas: 2", "replicas: 1");
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /MachineDeployment workers +2 -> 1/);
    await sandbox.up();
    assert.equal(workers(sandbox).length, 1);
    edit("workers.yaml", "replicas: 1", "replicas: 2");
    await sandbox.up();
    const tokens = sandbox.rows().map(({ token }) => token);
    assert.equal(workers(sandbox).length, 2);
    assert.equal(new Set(tokens).size, tokens.length, "no token is used twice");
    await sandbox.assertSound(stack);
  });

  it("destroys everything, again without complaint, and makes a new cluster afterwards", async () => {
    const first = sandbox.alive();
    await sandbox.capstan(0, "destroy", "--yes", "-f", sandbox.manifests);
    assert.deepEqual(sandbox.alive(), []);
    await sandbox.assertSound(stack);
    await sandbox.capstan(0, "destroy", "--yes", stack);

    await sandbox.up();
    const second = sandbox.alive();
    assert.equal(second.length, first.length);
    const tokens = new Set(first.map(({ token }) => token));
    assert.deepEqual(
      second.filter(
        ({ token, clusterUid }) => tokens.has(token) || clusterUid === first[0]?.clusterUid,
      ),
      [],
    );
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
  });
});

function workers(sandbox: Sandbox): CloudRow[] {
  return sandbox
    .alive()
    .filter(({ kind, name }) => kind === "LocalHost" && machineOf(name).startsWith("workers-"));
}

function hostIds(sandbox: Sandbox): string[] {
  return sandbox
    .alive()
    .filter(({ kind }) => kind === "LocalHost")
    .map(({ id }) => id)
    .sort();
}

function contentOf(rows: readonly CloudRow[]) {
  return Object.fromEntries(rows.map(({ kind, name, spec }) => [`${kind}/${name}`, spec]));
}

/** What a plan promised, with the ids that its references turned out to stand for. */
function contentOfPlan({ resources }: PrintedPlan, rows: readonly CloudRow[]) {
  const ids = new Map(rows.map(({ kind, name, id }) => [`${kind}/${name}`, id]));
  const resolved = JSON.parse(JSON.stringify(resources), (_key, value: unknown) => {
    const reference = (value as { $ref?: string } | null)?.$ref;
    return reference === undefined ? value : ids.get(reference);
  }) as PrintedPlan["resources"];
  return Object.fromEntries(resolved.map(({ kind, name, spec }) => [`${kind}/${name}`, spec]));
}
