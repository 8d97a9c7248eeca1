import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { basename, join } from "node:path";
import { removeHost } from "../../providers/local/kubeadm/host.js";
import { output, scriptPath, startNamespaces } from "../../providers/local/kubeadm/namespaces.js";
import { HostNetwork, removeNetwork } from "../../providers/local/kubeadm/network.js";
import { endProcesses, naming, running } from "../../providers/local/nodes/processes-naming.js";
import { scratchFolder } from "../support/scratch.js";
import { cgroupsNamed, mountsBelow, processesInGroup, processesThatMount } from "./traces.js";

/** What is killed of a host, by the name of a program; all of it that is told the host's folder. */
const victims: readonly (readonly string[])[] = [
  [],
  ["run-host.sh"],
  ["unshare"],
  ["boot-host.sh"],
  ["run-host.sh", "unshare", "boot-host.sh"],
];

describe("what is left of hosts of namespaces", () => {
  const scratch = scratchFolder();

  for (const [index, killed] of victims.entries()) {
    it(`is removed by name after a kill of ${killed.join(", ") || "nothing"}, as often as somebody asks`, async () => {
      const group = `capstan-${process.pid}-left${index}`;
      const folder = join(scratch.path, group);
      const { pid } = await startNamespaces(scriptPath("run-host.sh"), [group, folder, "left"]);
      // As a container runtime would: in a group of its own, and with a mount.
      const busy =
        "mkdir /sys/fs/cgroup/*/pod 2> /dev/null; mount -t tmpfs pod /mnt; sleep 600 > /dev/null 2>&1 &";
      await output(scriptPath("enter-host.sh"), [group, String(pid), "sh", "-c", `${busy} exit 0`]);
      assert.notDeepEqual(processesThatMount(folder), []);
      endProcesses(killed.flatMap((name) => processesOf(name, folder)));
      await Promise.all([removeHost(group, folder), removeHost(group, folder)]);
      await removeHost(group, folder);
      assert.deepEqual(cgroupsNamed(group), []);
      assert.deepEqual(processesThatMount(folder), []);
      assert.equal(existsSync(folder), false);
    });
  }

  it("is nothing of anybody else's", async () => {
    const groups = ["a", "ab"].map((name) => `capstan-${process.pid}-${name}`);
    const folders = groups.map((group) => join(scratch.path, group));
    const roots = await Promise.all(
      groups.map((group, index) =>
        startNamespaces(scriptPath("run-host.sh"), [group, folders[index] ?? "", "own"]),
      ),
    );
    const [first = "", second = ""] = groups;
    await removeHost(first, folders[0] ?? "");
    assert.deepEqual(cgroupsNamed(first), []);
    assert.notDeepEqual(processesInGroup(second), []);
    for (const root of roots) await root.end();
    assert.deepEqual(cgroupsNamed(second), []);
    assert.deepEqual(folders.filter(existsSync), []);
  });

  it("is a network that is made and removed as often as somebody asks, also after a restart of the machine, which is in it meanwhile", async () => {
    const link = `t-${process.pid}`;
    const machine = { address: "10.78.0.1", link };
    const file = join(scratch.path, "network");
    const network = new HostNetwork(file, { endpoint: "10.78.0.10", bits: 24, machine });
    for (const _again of [1, 2]) await network.make();
    const addresses = () => output("ip", ["-br", "addr"]);
    assert.match(await addresses(), new RegExp(`${link}@.*10\\.78\\.0\\.1/24`));
    assert.equal(await answerOf("10.78.0.10"), "ECONNREFUSED");
    // What a restart leaves of it: the file that it was mounted on.
    await output("ip", ["link", "delete", link]);
    await output("umount", [file]);
    await network.make();
    assert.equal(await answerOf("10.78.0.10"), "ECONNREFUSED");
    for (const _again of [1, 2]) await removeNetwork(file);
    assert.ok(!(await addresses()).includes(link));
    assert.deepEqual([mountsBelow(file), existsSync(file)], [[], false]);
  });
});

/** What runs a program, or a script, and is told the folder. */
function processesOf(name: string, folder: string): number[] {
  const found = naming(folder, running(new Set(["bash", "unshare"]))).filter(([, words]) => {
    const [program = "", script = ""] = words;
    return basename(basename(program) === "bash" ? script : program) === name;
  });
  assert.notDeepEqual(found, [], name);
  return found.map(([pid]) => pid);
}

/** What becomes of a connection: somebody is there who refuses it. */
async function answerOf(host: string): Promise<string | undefined> {
  const socket = connect({ host, port: 9 });
  const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
  return error.code;
}
