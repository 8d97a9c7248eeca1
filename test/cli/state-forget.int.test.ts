import assert from "node:assert/strict";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const shape = (...machines: string[]): ScenarioCluster => ({
  machines: {
    "cp-0": { controlPlane: true },
    ...Object.fromEntries(machines.map((name) => [name, {}])),
  },
});

describe("capstan state forget", () => {
  let sandbox: Sandbox;
  let host: string;

  beforeEach(async () => {
    sandbox = await Sandbox.make(shape("a", "b"));
    await sandbox.up();
    host = sandbox.hostOf("a").id;
  });
  afterEach(() => sandbox.close());

  const forget = (code: number, word: string, ...args: string[]) =>
    sandbox.capstan(code, "state", "forget", demoStack, word, "--yes", ...args);
  const rowOfHost = () => sandbox.rows().find(({ id }) => id === host);
  const mustRunUnmarked = () => {
    const { state, token, clusterUid } = rowOfHost() ?? {};
    assert.deepEqual([state, token, clusterUid], ["running", "", ""]);
  };

  it("takes the marks off and nothing else: no sweep, up or rollback touches the host again", async () => {
    const begin = sandbox.ledgerEnd();
    const { stdout } = await forget(0, "Machine/a");
    assert.match(stdout, /Machine a +- forget/);
    assert.match(stdout, /as long as the manifests hold Machine a: take it out of them/);
    assert.match(stdout, /Plan: 1 to forget; 1 wave/);
    assert.deepEqual(
      sandbox.mutations(begin).map(({ call, id }) => [call, id]),
      [["disown", host]],
    );
    mustRunUnmarked();
    const { stdout: listed } = await sandbox.capstan(0, "state", "list", demoStack);
    assert.doesNotMatch(listed, /Machine\/a|LocalHost\/a-/);
    assert.match(
      (await sandbox.capstan(0, "history", demoStack)).stdout,
      /^2 .*forgetting Machine a .*1 forgotten/m,
    );
    const { stdout: swept } = await sandbox.capstan(0, "sweep", "--grace", "0");
    assert.doesNotMatch(swept, new RegExp(host));

    sandbox.write(shape("b"));
    assert.match((await sandbox.up()).stdout, /No changes/);
    sandbox.write(shape("a", "b"));
    await sandbox.up();
    assert.notEqual(sandbox.hostOf("a").id, host);
    await sandbox.capstan(0, "rollback", "--yes", "--to", "1", demoStack);
    mustRunUnmarked();
    await sandbox.assertSound(demoStack);
  });

  it("is refused for what the cluster cannot lose, and for what is not there", async () => {
    const begin = sandbox.ledgerEnd();
    assert.match(
      (await forget(64, "LocalNetwork/network")).stderr,
      /only machines can be forgotten/,
    );
    assert.match((await forget(65, "Machine/cp-0")).stderr, /--allow-removal control-plane/);
    assert.match((await forget(1, "Machine/c")).stderr, /has no record of that name/);
    const { stderr } = await sandbox.capstan(64, "state", "forget", demoStack, "Machine/a");
    assert.match(stderr, /add --yes/);
    assert.deepEqual(sandbox.mutations(begin), []);
  });
});
