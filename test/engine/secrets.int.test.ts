import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const planted = "planted-3f9c1e77-a-value-nobody-else-may-see";
const shape: ScenarioCluster = {
  annotations: { "example.com/note": planted },
  machines: { "cp-0": { controlPlane: true } },
};

/** The value as it is, and as it would be found in base64, wherever it begins. */
const marks = [
  planted,
  ...[0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + planted)
      .toString("base64")
      .slice(4, -4),
  ),
];

describe("what a user's objects hold", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make(shape);
  });
  afterEach(() => sandbox.close());

  const assertNowhereIn = (text: string, where: string): void => {
    for (const mark of marks) assert.ok(!text.includes(mark), `${where} holds ${mark}`);
  };

  it("is nowhere in clear: not in state, files, saved plans, output, or command lines", async () => {
    const fault = { call: "create", mode: "hangAfter", name: "cp-0" };
    const hanging = await sandbox.startHanging(fault, () => sandbox.startUp("--json"));
    const running = [hanging.pid, ...hanging.descendants];
    assert.ok(running.length > 1, "an engine runs");
    for (const pid of running) {
      for (const part of ["cmdline", "environ"]) {
        assertNowhereIn(readFileSync(`/proc/${pid}/${part}`, "latin1"), `${part} of ${pid}`);
      }
    }
    await hanging.killTree();
    assertNowhereIn(hanging.said, "the output");

    const saved = join(sandbox.folder, "plan.json");
    const output: string[] = [];
    const say = async (code: number, ...args: string[]) => {
      const { stdout, stderr } = await sandbox.capstan(code, ...args);
      output.push(stdout, stderr);
    };
    await say(2, "plan", "-f", sandbox.manifests, "--out", saved);
    await say(0, "up", "--plan", saved);
    sandbox.write({ ...shape, machines: { ...shape.machines, "worker-0": {} } });
    await sandbox.cloud.fault("create", "fail", { name: "worker-0" });
    await say(1, "up", "--yes", "-f", sandbox.manifests);
    for (const args of [["history"], ["history", "show", "1"], ["describe"], ["status"]]) {
      await say(0, ...args);
    }
    assertNowhereIn(output.join("\n"), "the output");
    assertNowhereIn(readFileSync(saved, "utf8"), "the saved plan");
    const exported = await sandbox.pulumi(0, ["stack", "export", "--stack", demoStack]);
    assertNowhereIn(exported.stdout, "the exported state");
    for (const file of filesUnder(sandbox.state)) {
      assertNowhereIn(readFileSync(file, "latin1"), file);
    }
  });

  it("is kept all the same: the state holds it encrypted, and gives it back", async () => {
    await sandbox.up();
    const args = ["stack", "export", "--show-secrets", "--stack", demoStack];
    const { stdout } = await sandbox.pulumi(0, args);
    // As architecture rule 5.5 has it: objects are stored compressed, as secrets.
    const magic = gzipSync("").subarray(0, 3).toString("base64");
    const payloads = [...stdout.matchAll(/"plaintext": "\\"([A-Za-z0-9+/=]+)\\""/g)];
    assert.ok(payloads.length >= 2, "Transaction and Revision hold a secret each");
    for (const [, payload] of payloads) assert.ok(payload?.startsWith(magic));
  });

  it("is protected by a passphrase that is in one file only", async () => {
    await sandbox.up();
    const file = join(sandbox.state, "passphrase");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(statSync(sandbox.state).mode & 0o777, 0o700);
    const passphrase = readFileSync(file, "utf8").trim();
    assert.ok(passphrase.length >= 32);
    const holders = filesUnder(sandbox.folder).filter((one) =>
      readFileSync(one, "latin1").includes(passphrase),
    );
    assert.deepEqual(holders, [file]);
  });
});

function filesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
