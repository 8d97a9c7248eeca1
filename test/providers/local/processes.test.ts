import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LocalCloud } from "../../../providers/local/cloud.js";
import { systemClock } from "../../../src/provider/clock.js";
import { scratchFolder } from "../../support/scratch.js";

const run = promisify(execFile);
const maker = fileURLToPath(new URL("../../support/host-maker.js", import.meta.url));

describe("several processes on one local cloud", () => {
  const scratch = scratchFolder();

  /** Starts the processes at once and gives each one's ids. */
  async function makeHosts(
    path: string,
    networkId: string,
    prefixes: string[],
  ): Promise<string[][]> {
    return Promise.all(
      prefixes.map(async (prefix) => {
        const { stdout } = await run(process.execPath, [maker, path, prefix, "30", networkId]);
        return JSON.parse(stdout) as string[];
      }),
    );
  }

  it("lose nothing, make nothing twice, and are never told that it is busy", async () => {
    const path = join(scratch.path, "cloud.db");
    const cloud = new LocalCloud(path, systemClock);
    const network = await cloud.create(
      "LocalNetwork",
      { cluster: "default/prod", clusterUid: "u", kind: "LocalNetwork", name: "n", token: "n" },
      { cidr: "10.0.0.0/16" },
    );
    // Two of them make the same hosts: tokens have to hold across processes.
    const [first, twin, other] = await makeHosts(path, network.id, ["a", "a", "b"]);
    assert.deepEqual(twin, first);
    const hosts = (await cloud.list({})).filter(({ kind }) => kind === "LocalHost");
    assert.deepEqual(
      new Set(hosts.map(({ id }) => id)),
      new Set([...(first ?? []), ...(other ?? [])]),
    );
    assert.equal(hosts.length, 60);
    const addresses = new Set(hosts.map(({ status }) => status["address"]));
    assert.equal(addresses.size, 60);
    const ledger = await cloud.ledger();
    const count = (effect: string) =>
      ledger.filter((entry) => entry.kind === "LocalHost" && entry.effect === effect).length;
    assert.deepEqual([count("created"), count("found"), count("running")], [60, 30, 60]);
    assert.equal(new Set(ledger.map(({ pid }) => pid)).size, 4);
    cloud.close();
  });

  it("may all be the first to open the file", async () => {
    const path = join(scratch.path, "new.db");
    const clouds = Array.from({ length: 8 }, () => new LocalCloud(path, systemClock));
    const lists = await Promise.all(clouds.map((cloud) => cloud.list({})));
    assert.deepEqual(
      lists,
      Array.from({ length: 8 }, () => []),
    );
    assert.equal((await clouds[0]!.ledger()).length, 8);
    for (const cloud of clouds) cloud.close();
  });
});
