import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack, type ScenarioCluster, type ScenarioMachine } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const zones = ["local-a", "local-b", "local-c"];
const member: ScenarioMachine = { controlPlane: true };

function clusterOf(
  failureDomains: readonly string[],
  replicas: number,
  template: ScenarioMachine = {},
): ScenarioCluster {
  return {
    failureDomains,
    machines: { "cp-0": member, "cp-1": member, "cp-2": member },
    deployments: { web: { replicas, template } },
  };
}

describe("a cluster over three failure domains", () => {
  let sandbox: Sandbox;

  copyForEachTest(clusterOf(zones, 6), (copy) => {
    sandbox = copy;
  });

  /** "local-a local-b": where the hosts of machines are, in the order of their names. */
  async function zonesOf(prefix: string): Promise<string> {
    const { stdout } = await sandbox.capstan(0, "status", demoStack, "--json");
    const [status] = stdout.trim().split("\n");
    const { machines } = JSON.parse(status ?? "") as {
      readonly machines: readonly { readonly machine: string; readonly failureDomain: string }[];
    };
    const ours = machines.filter(({ machine }) => machine.startsWith(prefix));
    const told = ours.map(({ failureDomain }) => failureDomain);
    const hosts = ours.map(({ machine }) => sandbox.hostOf(machine).spec["zone"]);
    assert.deepEqual(told, hosts, "the cloud has them where they are said to be");
    return told.map((zone) => zone.slice(-1)).join("");
  }

  it("is spread at its creation, at a scale-down and by a rolling update", async () => {
    assert.deepEqual([await zonesOf("cp"), await zonesOf("web")], ["abc", "abcabc"]);
    const described = await sandbox.capstan(0, "describe", "machine/cp-1");
    assert.match(described.stdout, /^Failure domain: +local-b$/m);
    const listed = await sandbox.capstan(0, "status", demoStack);
    assert.match(listed.stdout, /^MACHINE.* DOMAIN /m);

    sandbox.write(clusterOf(zones, 4));
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /no failure domain has more machines of it than local-c/);
    await sandbox.up();
    assert.equal(await zonesOf("web"), "abca");
    sandbox.write(clusterOf(zones, 4, { size: "large" }));
    await sandbox.up();
    assert.equal(await zonesOf("web"), "abca");
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });
});
