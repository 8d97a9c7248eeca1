import assert from "node:assert/strict";
import { join } from "node:path";
import {
  failingFiles,
  failingState,
  type FileFault,
  injectedIn,
} from "../scenario/failing-file.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };

const stateFile = `pulumi/.pulumi/stacks/capstan/${demoStack}.json`;
const locks = ["locks.db", "locks.db-wal"];
const clusters = ["clusters.db", "clusters.db-wal"];
const writes = ["pwrite64", "fsync", "fdatasync"];

interface FileCase {
  readonly name: string;
  readonly fault: FileFault;
  /** The first `up` of all, or the next one. */
  readonly of: "creation" | "change";
  /** What is said; nothing of a command that comes through. */
  readonly says?: RegExp;
  /** The file is only read: the command ends before it changes anything. */
  readonly isOnlyRead?: true;
}

// A disk that is full: full-disk.int.test.ts. What each errno is called: test/api/storage-failure.test.ts and engine-refusals.test.ts.
const cases: readonly FileCase[] = [
  {
    name: "the state on a disk that fails",
    fault: { files: [stateFile], calls: ["renameat"], what: "EIO", from: 1 },
    of: "change",
    says: /failed to save snapshot[^]*hint: look at the disk/,
  },
  {
    name: "the state on a disk that takes it and does not keep it",
    fault: { files: [stateFile], calls: ["fsync"], what: "EIO" },
    of: "change",
    says: /default\.demo\.json: its disk fails[^]*hint: look at the disk/,
  },
  {
    name: "the locks on a disk that fails",
    fault: { files: locks, calls: writes, what: "EIO", from: 3 },
    of: "change",
    says: /locks\.db: its disk fails[^]*hint: look at the disk/,
  },
  {
    name: "the list of clusters on a disk that fails",
    fault: { files: clusters, calls: writes, what: "EIO" },
    of: "creation",
    says: /cannot open \S+clusters\.db: disk I\/O error[^]*hint: it only tells which clusters/,
  },
  {
    name: "the keys on a disk that fails",
    fault: { files: [`keys/${demoStack}`], calls: ["openat", "read"], what: "EIO" },
    of: "change",
    says: /keys\/default\.demo: its disk fails[^]*hint: look at the disk/,
    isOnlyRead: true,
  },
  {
    name: "the passphrase on a disk that fails",
    fault: { files: ["passphrase"], calls: ["openat", "read"], what: "EIO" },
    of: "change",
    says: /passphrase[^]*hint: /,
    isOnlyRead: true,
  },
  {
    name: "state and locks on a disk that is slow",
    fault: {
      files: [stateFile, ...locks],
      calls: ["renameat", "fsync"],
      what: { delayMs: 300 },
    },
    of: "change",
  },
];

/** Pulumi alone renames a state into its place. */
function isOfEngines({ files, calls }: FileFault): boolean {
  return files[0] === stateFile && calls.join() === "renameat";
}

/** Whatever goes wrong with one file: it is said, what exists stays recorded, and the next up ends well. */
describe("a file of the state folder that cannot be used", () => {
  let fresh: Sandbox;
  let running: Sandbox;
  let sandbox: Sandbox;

  before(async () => {
    fresh = await Sandbox.make(member);
    running = fresh.copy();
    await running.up();
  });
  after(() => Promise.all([fresh.close(), running.close()]));
  afterEach(() => sandbox.close());

  for (const { name, fault, of, says, isOnlyRead } of cases) {
    it(`${name}, in the ${of}`, async () => {
      sandbox = (of === "creation" ? fresh : running).copy();
      if (of === "change") sandbox.write(pair);
      const before = sandbox.alive().map(({ id }) => id);
      const recorded = of === "change" ? await sandbox.deployment(demoStack) : undefined;
      const log = join(sandbox.folder, "injected.txt");
      sandbox.runner = isOfEngines(fault)
        ? await failingState(sandbox.folder, demoStack, fault, log)
        : failingFiles(sandbox.state, fault, log);
      const { code, stdout, stderr } = await sandbox.startUp().finished;
      const text = `exit ${code}\n${stdout}${stderr}`;
      assert.ok(injectedIn(log) > 0, `nothing went wrong: ${text}`);
      assert.doesNotMatch(text, /defect of capstan/);
      if (says === undefined) assert.equal(code, 0, text);
      else {
        assert.notEqual(code, 0, text);
        assert.match(text, says);
      }
      const after = new Set(sandbox.alive().map(({ id }) => id));
      assert.deepEqual(
        before.filter((id) => !after.has(id)),
        [],
        "what there was is there",
      );
      sandbox.runner = undefined;
      if (isOnlyRead === true) {
        assert.deepEqual(await sandbox.deployment(demoStack), recorded);
        await sandbox.plan(2);
        return;
      }
      await sandbox.up();
      await sandbox.assertSound(demoStack);
      await sandbox.plan(0);
    });
  }
});
