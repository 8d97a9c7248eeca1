import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type Deployment, mutationsIn, readCloud, readLedger } from "../scenario/ledger-judge.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const scenario: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true }, a: {}, b: {}, c: {} },
};

/** A plain pulumi encrypts its secrets anew whenever it writes. */
const recordsIn = ({ resources = [] }: Deployment) => resources.map(({ urn, id }) => [urn, id]);

const larger: ScenarioCluster = { ...scenario, machines: { ...scenario.machines, d: {} } };

/** With two revisions, so that there is one to go back to. */
const twoRevisions = async (first: Sandbox) => {
  await first.up();
  first.write(larger);
  await first.up();
};

describe("a cluster that its cloud does not show", () => {
  let sandbox: Sandbox;

  copyForEachTest(
    scenario,
    (copy) => {
      sandbox = copy;
    },
    twoRevisions,
  );

  describe("under credentials of another cloud", () => {
    /** The file of a cloud with the same resources, ownership tags included, and another identity. */
    let elsewhere: string;

    beforeEach(() => {
      elsewhere = join(sandbox.folder, "elsewhere.db");
      copyCloud(sandbox.cloudFile, elsewhere, "fedcba9876543210");
    });

    /** What no command may change: both clouds, to the last call, and everything that is recorded. */
    const everything = async () => ({
      here: [sandbox.rows(), sandbox.ledger()],
      there: [readCloud(elsewhere), readLedger(elsewhere)],
      state: await sandbox.deployment(demoStack),
      stacks: readdirSync(join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan")),
    });
    const there = () => (sandbox.localCloud = elsewhere);
    const here = () => (sandbox.localCloud = undefined);
    const files = () => ["-f", sandbox.manifests];

    const verbs: readonly { readonly name: string; readonly args: () => readonly string[] }[] = [
      { name: "plan", args: () => ["plan", ...files()] },
      { name: "up", args: () => ["up", "--yes", ...files()] },
      { name: "up --adopt", args: () => ["up", "--yes", "--adopt", ...files()] },
      { name: "up --thaw", args: () => ["up", "--yes", "--thaw", "0123456789ab", ...files()] },
      { name: "drift", args: () => ["drift", demoStack] },
      { name: "status", args: () => ["status", demoStack] },
      { name: "describe", args: () => ["describe", demoStack] },
      { name: "rollback", args: () => ["rollback", "--yes", demoStack] },
      { name: "rollback --to", args: () => ["rollback", "--yes", "--to", "1", demoStack] },
      { name: "destroy", args: () => ["destroy", "--yes", demoStack] },
      { name: "sweep", args: () => ["sweep", "--yes", "--grace", "0"] },
    ];

    it("every verb refuses it, and changes neither cloud nor record; then all is as it was", async () => {
      const before = await everything();
      there();
      for (const { name, args } of verbs) {
        const { stderr, stdout } = await sandbox.capstan(5, ...args());
        assert.match(stderr, /cloud [0-9a-f]{16} is recorded, and [0-9a-f]{16} answered/, name);
        assert.match(stderr, /use the credentials and settings of cloud [0-9a-f]{16}/, name);
        assert.doesNotMatch(stdout, /0 in the cloud|0 left/, name);
      }
      const { stdout } = await sandbox.capstan(5, "--json", "plan", ...files());
      assert.match(stdout, /"code":"WRONG_CLOUD"/);
      assert.deepEqual(await everything(), before);
      here();
      await sandbox.plan(0);
      await sandbox.capstan(0, "drift", demoStack);
      await sandbox.assertSound(demoStack);
    });

    it("a plain pulumi does so too: nothing is gone because it cannot be seen", async () => {
      const before = await everything();
      there();
      for (const verb of ["up", "refresh", "destroy"]) {
        const args = [verb, demoStack, "--yes", "--skip-preview"] as const;
        const { code, stdout, stderr } = await sandbox.startPlain(...args).finished;
        assert.notEqual(code, 0, `pulumi ${verb}\n${stdout}\n${stderr}`);
        assert.match(stdout + stderr, /cloud [0-9a-f]{16} is recorded, and [0-9a-f]{16} answered/);
        const after = await everything();
        assert.deepEqual([after.here, after.there], [before.here, before.there], verb);
        assert.deepEqual(recordsIn(after.state), recordsIn(before.state), verb);
      }
      here();
      await sandbox.plain(
        0,
        "refresh",
        demoStack,
        "--yes",
        "--skip-preview",
        "--expect-no-changes",
      );
      await sandbox.plan(0);
      await sandbox.assertSound(demoStack);
    });

    it("a first creation goes where the plan was made for, and nowhere else", async () => {
      sandbox.write({ ...scenario, name: "new" });
      const saved = join(sandbox.folder, "saved.json");
      await sandbox.plan(2, "--out", saved);
      const before = await everything();
      there();
      const { stderr } = await sandbox.capstan(6, "up", "--plan", saved);
      assert.match(stderr, /the cloud itself/);
      const changed = readLedger(elsewhere, before.there[1]?.length);
      assert.deepEqual(mutationsIn(changed), []);
    });
  });

  describe("any more, in the right cloud", () => {
    /** What others refer to goes last. */
    const killAll = async () => {
      const order = ["LocalHost", "LocalLoadBalancer", "LocalNetwork"];
      const alive = sandbox
        .alive()
        .toSorted((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
      for (const { name } of alive) await sandbox.cloud.kill(name);
    };
    const fingerprintIn = (text: string): string => /--thaw ([0-9a-f]{12})/.exec(text)?.[1] ?? "";

    it("plan shows that, up and rollback and pulumi refuse, and a person may say that it is true", async () => {
      await killAll();
      const plan = await sandbox.plan(2);
      assert.match(plan.stdout, /Frozen, not to be applied: all 7 resources are gone at once/);
      const fingerprint = fingerprintIn(plan.stdout);
      const drift = await sandbox.capstan(2, "drift", demoStack, "--json");
      assert.equal((JSON.parse(drift.stdout) as { fingerprint: string }).fingerprint, fingerprint);
      const before = sandbox.ledgerEnd();
      const records = recordsIn(await sandbox.deployment(demoStack));
      const refused = await sandbox.up(5);
      assert.match(refused.stderr, new RegExp(`--thaw ${fingerprint}`));
      await sandbox.capstan(5, "rollback", "--yes", demoStack);
      const plain = await sandbox.startPlain("up", demoStack, "--yes", "--skip-preview").finished;
      assert.match(plain.stdout + plain.stderr, /all 7 resources are gone at once/);
      assert.deepEqual(sandbox.mutations(before), []);
      assert.deepEqual(recordsIn(await sandbox.deployment(demoStack)), records);
      const believed = await sandbox.up(0, "--thaw", fingerprint);
      assert.match(believed.stdout, /Believed, as a person says so: all 7 resources are gone/);
      assert.equal(sandbox.alive().length, 7);
      await sandbox.assertSound(demoStack);
    });

    it("many machines at once are believed of a cloud that is proven, and the plan says so", async () => {
      for (const name of ["a", "b", "c"]) await sandbox.cloud.kill(name);
      const { stdout } = await sandbox.plan(2);
      assert.match(stdout, /Believed, as this is the recorded cloud: 3 of 5 machines are gone/);
    });
  });
});

function copyCloud(from: string, to: string, id: string): void {
  const original = new DatabaseSync(from);
  original.prepare("VACUUM INTO ?").run(to);
  original.close();
  const copy = new DatabaseSync(to);
  copy.prepare("UPDATE meta SET value = ? WHERE key = 'id'").run(id);
  copy.close();
}
