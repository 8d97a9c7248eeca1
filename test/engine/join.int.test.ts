import assert from "node:assert/strict";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const joinMs = 300;

function shape(kubelet: string): ScenarioCluster {
  return { machines: { "cp-0": { controlPlane: true, joinMs }, "web-0": { joinMs, kubelet } } };
}

interface Status {
  readonly machines: readonly {
    readonly machine: string;
    readonly phase: string;
    readonly ready: boolean;
    readonly readySinceMs?: number;
    readonly versions?: { readonly kubelet: string };
  }[];
}

describe("an apply whose hosts have to join", () => {
  let sandbox: Sandbox;
  let madeBy: number;

  before(async () => {
    sandbox = await Sandbox.make(shape("1.34.2"));
    await sandbox.up();
    madeBy = sandbox.ledgerEnd();
  });
  after(() => sandbox.close());

  const webIn = async () => {
    const { stdout } = await sandbox.capstan(0, "status", demoStack, "--json");
    const { machines } = JSON.parse(stdout) as Status;
    return machines.find(({ machine }) => machine === "web-0");
  };

  it("makes workers once the control plane has joined, and is done once they have", async () => {
    const made = sandbox.ledger().filter(({ seq }) => seq <= madeBy);
    const seen = made.filter(
      ({ call, name }) => (call === "create" || call === "join") && /^(cp|web)-0-/.test(name ?? ""),
    );
    assert.deepEqual(
      seen.map(({ call, name }) => `${call} ${name?.slice(0, 2)}`),
      ["create cp", "join cp", "create we", "join we"],
    );
    const web = await webIn();
    assert.deepEqual([web?.phase, web?.ready, web?.versions?.kubelet], ["ready", true, "1.34.2"]);
  });

  it("takes back a kubelet that does not exist, and history tells it", async () => {
    const since = (await webIn())?.readySinceMs;
    const begin = sandbox.ledgerEnd();
    sandbox.write(shape("1.34.99"));
    const { stderr } = await sandbox.up(1, "--timeout", "15");
    assert.match(stderr, /not ready after 15 s: LocalHost\/web-0-/);
    const what = sandbox
      .ledger(begin)
      .filter(({ call }) => ["update", "restart", "join"].includes(call));
    assert.deepEqual(
      what.map(({ call, effect }) => `${call}: ${effect}`),
      [
        "update: updated",
        "restart: not ready",
        "update: updated",
        "restart: not ready",
        "join: ready",
      ],
    );
    const web = await webIn();
    assert.deepEqual([web?.phase, web?.versions?.kubelet], ["ready", "1.34.2"]);
    assert.ok((web?.readySinceMs ?? 0) > (since ?? Infinity), "it is ready anew");
    const { stdout } = await sandbox.capstan(0, "history", demoStack);
    assert.match(stdout, /rolled back/);
    await sandbox.assertSound(demoStack);
    sandbox.write(shape("1.34.2"));
    await sandbox.plan(0);
  });
});
