import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { prunePulumiHistory } from "../../src/engine/backend/pulumi-history.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { scratchFolder } from "../support/scratch.js";

const stampOf = (name: string): string => /\d{16,}/.exec(name)?.[0] ?? name;

describe("Pulumi's history of a stack", () => {
  let sandbox: Sandbox;

  const runAndRefresh = async (made: Sandbox) => {
    await made.up();
    await made.plain(0, "refresh", demoStack, "--yes", "--skip-preview");
  };
  copyForEachTest(
    { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } },
    (copy) => {
      sandbox = copy;
    },
    runAndRefresh,
  );

  const folder = (kind: string) =>
    join(sandbox.state, "pulumi", ".pulumi", kind, "capstan", demoStack);
  const filesIn = (kind: string) => readdirSync(folder(kind)).sort();
  const stampsIn = (kind: string) => [...new Set(filesIn(kind).map(stampOf))].sort();
  const workspace = () => ({ backendUrl: sandbox.pulumiEnv()["PULUMI_BACKEND_URL"] ?? "" });
  const updates = async () => {
    const { stdout } = await sandbox.pulumi(0, ["stack", "history", "--json", "-s", demoStack]);
    return JSON.parse(stdout) as { readonly kind: string }[];
  };

  it("keeps its newest updates, whole, and Pulumi goes on from there", async () => {
    const [history, backups] = [stampsIn("history"), stampsIn("backups")];
    assert.ok(history.length > 2 && backups.length > 2, "the engine left more than is kept");
    const { resources: before } = await sandbox.deployment(demoStack);

    const removed = await prunePulumiHistory(workspace(), demoStack, 2);

    assert.deepEqual(stampsIn("history"), history.slice(-2));
    assert.deepEqual(stampsIn("backups"), backups.slice(-2));
    assert.equal(filesIn("history").length, 4, "an update is a record and a checkpoint");
    assert.equal(removed, (history.length - 2) * 2 + backups.length - 2);
    assert.deepEqual((await sandbox.deployment(demoStack)).resources, before);
    const [newest, ...older] = await updates();
    assert.deepEqual([newest?.kind, older.length], ["refresh", 1]);
    await sandbox.plan(0);
    await sandbox.plain(0, "refresh", demoStack, "--yes", "--skip-preview");
    assert.equal((await updates()).length, 3);
    await sandbox.assertSound(demoStack);
  });

  it("never loses the newest", async () => {
    const newest = stampsIn("history").at(-1);
    await prunePulumiHistory(workspace(), demoStack, 0);
    assert.deepEqual(stampsIn("history"), [newest]);
  });

  it("keeps ten unless told otherwise, and nothing is removed twice", async () => {
    const [record] = filesIn("history").filter((name) => name.endsWith(".history.json"));
    const text = readFileSync(join(folder("history"), record ?? ""));
    for (let stamp = 1_700_000_000_000_000_000n; stamp < 1_700_000_000_000_000_020n; stamp += 1n) {
      writeFileSync(join(folder("history"), `${demoStack}-${stamp}.history.json`), text);
    }
    const before = filesIn("history");
    assert.ok(before.map(stampOf).length > 20);
    // Two commands end at the same time.
    const removed = await Promise.all([
      prunePulumiHistory(workspace(), demoStack),
      prunePulumiHistory(workspace(), demoStack),
    ]);
    assert.deepEqual(stampsIn("history"), [...new Set(before.map(stampOf))].slice(-10));
    const gone = before.length - filesIn("history").length;
    assert.equal(removed[0] + removed[1], gone);
    assert.equal(await prunePulumiHistory(workspace(), demoStack), 0);
  });
});

describe("Pulumi's history elsewhere", () => {
  const scratch = scratchFolder();

  it("is left alone: files of other names, and backends that are no folder", async () => {
    const folder = join(scratch.path, ".pulumi", "backups", "capstan", demoStack);
    mkdirSync(folder, { recursive: true });
    const stamps = ["1795271332683180905", "1795271333383166883"];
    const names = [...stamps.map((stamp) => `${demoStack}.${stamp}.json`), "notes-2026.json"];
    for (const name of names) writeFileSync(join(folder, name), "{}");
    const backendUrl = `file://${scratch.path}`;

    assert.equal(await prunePulumiHistory({ backendUrl: "s3://bucket" }, demoStack, 1), 0);
    assert.equal(await prunePulumiHistory({ backendUrl }, "default.other", 1), 0);
    assert.equal(await prunePulumiHistory({ backendUrl }, demoStack, 1), 1);
    assert.deepEqual(readdirSync(folder).sort(), [`${demoStack}.${stamps[1]}.json`, names[2]]);
  });
});
