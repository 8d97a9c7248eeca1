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

  it("replaces a host that was killed behind its back", async () => {
    const victim = sandbox.hostOf("cp-0");
    await sandbox.capstan(0, "local", "kill", "cp-0");
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /Machine cp-0 +± replace +its host is gone from the cloud/);
    await sandbox.up();
    const successor = sandbox.hostOf("cp-0");
    assert.notEqual(successor.id, victim.id);
    assert.notEqual(successor.token, victim.token);
    assert.deepEqual(successor.spec, victim.spec);
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
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

  it("replaces a Machine's host by one that runs before the old one is terminated", async () => {
    const old = sandbox.hostOf("cp-0");
    const begin = sandbox.ledgerEnd();
    edit("cluster.yaml", "size: medium", "size: large");
    const { stdout } = await sandbox.plan(2);
    assert.match(
      stdout,
      /Machine cp-0 +± replace +size medium -> large \(this provider cannot resize\)/,
    );
    await sandbox.up();
    const fresh = sandbox.hostOf("cp-0");
    assert.equal(fresh.spec["size"], "large");
    assertRanBefore(sandbox, { fresh: [fresh], old: [old], begin });
    await sandbox.plan(0);
    await sandbox.assertSound(stack);
  });

  it("replaces a MachineDeployment's hosts one after the other, each after its successor runs", async () => {
    const old = workers(sandbox);
    const begin = sandbox.ledgerEnd();
    edit("workers.yaml", "size: small", "size: large");
    const { stdout } = await sandbox.plan(2);
    assert.equal(
      [...stdout.matchAll(/± replace .*size small -> large \(this provider cannot resize\)/g)]
        .length,
      2,
      stdout,
    );
    await sandbox.up();
    const fresh = workers(sandbox);
    assert.deepEqual(
      fresh.map(({ spec }) => spec["size"]),
      ["large", "large"],
    );
    assert.deepEqual(runningCounts(sandbox, { fresh, old, begin }), [3, 2, 3, 2]);
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

  it("heals a field that was changed behind its back, in place", async () => {
    const { id } = sandbox.hostOf("cp-0");
    await sandbox.capstan(0, "local", "set", "cp-0", 'tags={"owner":"somebody"}');
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /Machine cp-0 +~ in place +tags \{"owner":"somebody"\} -> \{\}/);
    await sandbox.up();
    assert.equal(sandbox.hostOf("cp-0").id, id);
    assert.deepEqual(sandbox.hostOf("cp-0").spec["tags"], {});
    await sandbox.plan(0);
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

/** How many of these hosts ran after each change that the ledger shows, the old ones to begin with. */
function runningCounts(
  sandbox: Sandbox,
  hosts: { fresh: readonly CloudRow[]; old: readonly CloudRow[]; begin: number },
): number[] {
  const fresh = new Set(hosts.fresh.map(({ id }) => id));
  const old = new Set(hosts.old.map(({ id }) => id));
  let running = old.size;
  return sandbox.ledger(hosts.begin).flatMap(({ id, effect }) => {
    if (id === null) return [];
    if (fresh.has(id) && effect === "running") return [(running += 1)];
    if (old.has(id) && effect === "terminated") return [(running -= 1)];
    return [];
  });
}

/** The ledger shows every old host terminated, and only after every fresh one ran. */
function assertRanBefore(
  sandbox: Sandbox,
  hosts: { fresh: readonly CloudRow[]; old: readonly CloudRow[]; begin: number },
): void {
  const ledger = sandbox.ledger(hosts.begin);
  const seqOf = (id: string, effect: string) => {
    const entry = ledger.find((row) => row.id === id && row.effect === effect);
    assert.ok(entry, `the ledger says ${effect} of ${id}`);
    return entry.seq;
  };
  const ran = Math.max(...hosts.fresh.map(({ id }) => seqOf(id, "running")));
  const terminated = Math.min(...hosts.old.map(({ id }) => seqOf(id, "terminated")));
  assert.ok(ran < terminated, `ran at ${ran}, terminated at ${terminated}`);
}
