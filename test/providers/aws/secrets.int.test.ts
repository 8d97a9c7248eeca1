import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { SecretRow } from "../../../providers/sim/aws/model/tables.js";
import { secretNameOf } from "../../../src/bootstrap/host/delivery.js";
import type { Command } from "../../scenario/command.js";
import { Sandbox } from "../../scenario/sandbox.js";
import { until } from "../../scenario/until.js";
import { WatchedAccount } from "./watched-account.js";

/** Whoever comes after a killed command waits out its longest call: in the simulator's time, and not in ours. */
const hurriedEnv = {
  NODE_OPTIONS: `--import=${new URL("../../chaos/aws/hurried-timers.js", import.meta.url).href}`,
};

/** Private keys and tokens that a host's script holds, in clear, without line ends. */
function secretsIn(script: string): string[] {
  const files = [...script.matchAll(/<<'END'\n([\s\S]*?)\nEND\n/g)].map(([, lines = ""]) =>
    Buffer.from(lines, "base64").toString(),
  );
  const keys = files.flatMap((text) =>
    [...text.matchAll(/PRIVATE KEY-----\n([\s\S]*?)\n-----END/g)].map(([, key = ""]) => key),
  );
  const tokens = files.flatMap((text) => text.match(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g) ?? []);
  // A line of a key tells it as well as all of it, however it is folded elsewhere.
  return [...keys.flatMap((key) => key.split("\n").slice(0, 2)), ...tokens];
}

/** Longer than a command takes until it sees its hosts run: four seconds at the account's speed. */
const slowStartMs = 800_000;

/** Texts of all files below a folder. */
function textsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [readFileSync(join(entry.parentPath, entry.name), "latin1")] : [],
  );
}

// Its one machine begins the control plane: others would join at an API server, and simulated instances run none.
describe("what hosts of AWS are told at their first start", function () {
  this.timeout(400_000);
  let account: WatchedAccount;
  let sandbox: Sandbox;

  beforeEach(async () => {
    account = await WatchedAccount.start(slowStartMs);
    sandbox = await Sandbox.make({ example: "aws" }, { env: { ...account.env, ...hurriedEnv } });
    rmSync(join(sandbox.manifests, "workers.yaml"));
    edit("cluster.yaml", "[eu-north-1a, eu-north-1b]", "[eu-north-1a]");
    edit("cluster.yaml", "natGateways: one", "natGateways: none");
    edit("control-plane.yaml", "rootVolume:", "publicIp: true\n      rootVolume:");
  });
  afterEach(async () => {
    await sandbox.close();
    await account.stop();
  });

  const sim = () => account.server.aws;

  const edit = (file: string, from: string, to: string) => {
    const path = join(sandbox.manifests, file);
    const text = readFileSync(path, "utf8");
    assert.ok(text.includes(from), from);
    writeFileSync(path, text.replace(from, to));
  };

  /** Starts a command and stops it at a call, before it is done or after it. */
  async function heldAt(action: string, when: "before" | "after"): Promise<Command> {
    sim().faults.add({ action, times: 1, effect: { kind: "hold", when } });
    const command = sandbox.startUp();
    const isHeld = () => {
      assert.equal(command.hasEnded, false, command.said);
      return sim().held.list().length > 0;
    };
    await until(`${action} is held`, isHeld, 180_000, 50);
    return command;
  }

  /** SIGKILL while the secret is kept and nothing has asked for the instance. */
  async function killedInBetween(): Promise<void> {
    const command = await heldAt("ec2:RunInstances", "before");
    assert.equal(account.rows()["secrets"], 1);
    await command.killTree();
    sim().held.release("cut");
  }

  /** Of which nothing is left to be fetched, whatever became of the cluster. */
  const noSecret = () => {
    sim().advance(60_000);
    assert.equal(account.rows()["secrets"], undefined);
  };

  it("stands in no user data, state, argument or log, and is gone once they are nodes", async () => {
    const command = await heldAt("ec2:RunInstances", "after");
    const { accounts, settings } = sim();
    const { secrets } = accounts.region(settings.account, "eu-north-1").store.snapshot();
    const [secret, ...others] = (secrets ?? []) as unknown as readonly SecretRow[];
    assert.ok(secret !== undefined && others.length === 0);
    const script = gunzipSync(Buffer.from(secret.content.value, "base64")).toString();
    const hidden = secretsIn(script);
    assert.ok(hidden.length >= 8, `${hidden.length} keys and tokens`);
    assert.equal(secret.tags["capstan:role"], "control-plane");
    assert.equal(secret.name, secretNameOf(secret.tags["capstan:token"] ?? ""));
    const argv = [command.pid, ...command.descendants].map((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, "latin1"),
    );
    sim().held.release("go");
    const { code } = await command.finished;
    assert.equal(code, 0, command.said);

    const { Reservations = [] } = await account.ec2.describeInstances({});
    const [{ InstanceId = "" } = {}] = Reservations.flatMap(({ Instances = [] }) => Instances);
    const { UserData } = await account.ec2.describeInstanceAttribute({
      InstanceId,
      Attribute: "userData",
    });
    const userData = gunzipSync(Buffer.from(UserData?.Value ?? "", "base64")).toString();
    assert.ok(userData.includes(secret.name));
    const places = {
      "the user data": [userData],
      "arguments of processes": argv,
      "what is printed": [command.said],
      "the ledger": [JSON.stringify(sim().ledger.after(0))],
      "files of the state": textsBelow(sandbox.folder),
    };
    for (const [place, texts] of Object.entries(places)) {
      assert.ok(texts.length > 0, place);
      const found = hidden.filter((one) => texts.some((text) => text.includes(one)));
      assert.deepEqual(found, [], place);
    }
    noSecret();
  });

  it("is gone after a command was killed before the launch, and another one went on", async () => {
    await killedInBetween();
    await sandbox.up();
    noSecret();
    const { stdout } = await sandbox.plan(0);
    assert.match(stdout, /No changes/);
  });
});
