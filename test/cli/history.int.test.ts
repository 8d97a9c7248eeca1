import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const controlPlane = { "cp-0": { controlPlane: true } } as const;
const first: ScenarioCluster = { machines: { ...controlPlane } };
const second: ScenarioCluster = { machines: { ...controlPlane, "web-0": {} } };
const third: ScenarioCluster = {
  machines: { ...controlPlane, "web-0": { tags: { team: "a" } }, "web-1": {} },
};

interface Transaction {
  readonly number: number;
  readonly result: { readonly kind: string; readonly by?: number; readonly failure?: string };
  readonly reach: string;
  readonly by: string;
  readonly startedAt: string;
  readonly endedAt?: string;
}

describe("capstan history with a real engine", () => {
  let sandbox: Sandbox;

  /** Three revisions, between which a change failed and was taken back. */
  const liveThrough = async (lived: Sandbox) => {
    await lived.up();
    lived.write(second);
    await lived.up();
    lived.write(third);
    await lived.cloud.fault("create", "fail", { name: "web-1", times: 9 });
    await lived.up(1);
    await lived.cloud.clearFaults();
    await lived.up();
  };
  copyForEachTest(
    first,
    (copy) => {
      sandbox = copy;
    },
    liveThrough,
  );

  const transactions = async (): Promise<Transaction[]> => {
    const { stdout } = await sandbox.capstan(0, "history", "--json");
    return (JSON.parse(stdout) as { transactions: Transaction[] }).transactions;
  };

  it("lists what happened, newest first", async () => {
    const before = sandbox.ledgerEnd();
    const { stdout } = await sandbox.capstan(0, "history");
    assert.match(stdout, /^Cluster default\/demo {3}revision 5\n/);
    const rows = stdout.split("\n").filter((line) => /^\d/.test(line));
    const want = [
      /^5 +\S+ +committed +present +1 created, 1 updated +\S+$/,
      /^4 +\S+ +took 3 back +--to 4 .*/,
      /^3 +\S+ +rolled back by 4 +1 to create, 1 to update .*cannot create LocalHost web-1-/,
      /^2 +\S+ +committed +--to 2 +1 created +\S+$/,
      /^1 +\S+ +committed +--to 1 +3 created +\S+$/,
    ];
    assert.equal(rows.length, want.length, stdout);
    want.forEach((row, index) => assert.match(rows[index] ?? "", row));
    assert.deepEqual(sandbox.ledger(before), [], "no cloud is asked");
  });

  it("tells programs the same, with times and who", async () => {
    const all = await transactions();
    assert.deepEqual(
      all.map(({ number, result, reach }) => [number, result.kind, reach]),
      [
        [5, "committed", "present"],
        [4, "committed", "kept"],
        [3, "rolledBack", "never"],
        [2, "committed", "kept"],
        [1, "committed", "kept"],
      ],
    );
    for (const { by, startedAt, endedAt = "" } of all) {
      assert.ok(by.startsWith(`${userInfo().username}@`));
      assert.ok(Date.parse(startedAt) <= Date.parse(endedAt));
      assert.ok(Date.now() - Date.parse(startedAt) < 600_000);
    }
    const [, , failed] = all;
    assert.equal(failed?.result.by, 4);
    assert.match(failed.result.failure ?? "", /^cannot create LocalHost web-1-/);
  });

  it("every revision that it offers can be gone to, and no other", async () => {
    for (const { number, reach } of await transactions()) {
      const code = reach === "kept" ? 64 : reach === "present" ? 0 : 1;
      const args = ["rollback", demoStack, "--to", String(number), "--allow-removal", "workers"];
      const { stderr } = await sandbox.capstan(code, ...args);
      if (reach === "never") assert.match(stderr, /no revision 3 is kept/);
    }
    const flags = ["--yes", "--allow-removal", "workers"];
    await sandbox.capstan(0, "rollback", ...flags, demoStack, "--to", "1");
    const [newest] = await transactions();
    assert.deepEqual([newest?.number, newest?.reach], [6, "present"]);
    await sandbox.capstan(0, "history", "diff", "1", "6");
  });

  it("says what cannot be shown or compared, and what can", async () => {
    const cases: { args: string[]; code: number; stderr: RegExp }[] = [
      { args: ["diff", "3", "5"], code: 1, stderr: /never committed.*\n.*: 1, 2, 4, 5$/m },
      { args: ["diff", "1", "9"], code: 1, stderr: /the newest transaction is 5\n/ },
      { args: ["show", "0"], code: 1, stderr: /there is no transaction of that number\n/ },
      { args: ["show", "1", "default/dem"], code: 1, stderr: /did you mean default\.demo\?/ },
      { args: ["default/other-one"], code: 1, stderr: /stacks: default\.demo;/ },
      { args: ["show", "first"], code: 64, stderr: /expected a whole number/ },
      { args: ["show", "1", demoStack, "more"], code: 64, stderr: /"more"/ },
    ];
    for (const { args, code, stderr } of cases) {
      const outcome = await sandbox.capstan(code, "history", ...args);
      assert.match(outcome.stderr, stderr);
      assert.equal(outcome.stdout, "");
    }
  });

  it("asks which cluster where there are several, and lists all of them", async () => {
    const other = { name: "other", machines: { "cp-0": { controlPlane: true } } };
    sandbox.write(other);
    await sandbox.up();
    const { stderr } = await sandbox.capstan(64, "history", "show", "1");
    assert.match(
      stderr,
      /which cluster\? there are 2\nhint: name one: default\.demo, default\.other/,
    );
    await sandbox.capstan(0, "history", "show", "1", "default/other");
    const { stdout } = await sandbox.capstan(0, "history");
    assert.match(stdout, /^Cluster default\/demo .*^Cluster default\/other {3}revision 1$/ms);
  });

  it("shows the open transaction, and compares it", async () => {
    sandbox.write(second);
    await sandbox.cloud.fault("update", "fail", { times: 9 });
    await sandbox.up(4, "--no-rollback");
    const { stdout } = await sandbox.capstan(0, "history");
    assert.match(stdout, /^6 +\S+ +open, forward /m);
    assert.match(stdout, /^Transaction 6 is not finished: capstan --state \S+ up goes on with it/m);
    const difference = await sandbox.capstan(2, "history", "diff", "5", "6");
    assert.match(difference.stdout, /^ {2}- Machine web-1$/m);
  });

  it("completes numbers: all of them to show, those that are kept to compare and to go to", async () => {
    const offered = async (...typed: string[]) =>
      (await sandbox.capstan(0, "__complete", "--", ...typed)).stdout;
    assert.equal(await offered("history", "show", ""), "5\n4\n3\n2\n1\n");
    assert.equal(await offered("history", "diff", ""), "5\n4\n2\n1\n");
    assert.equal(await offered("rollback", "default/demo", "--to", ""), "5\n4\n2\n1\n");
    assert.equal(await offered("rollback", "default/other", "--to", ""), "");
  });
});
