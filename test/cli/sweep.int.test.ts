import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { LocalCloud, type LocalKind } from "../../providers/local/cloud.js";
import type { JsonObject } from "../../src/api/json.js";
import { withRegistry } from "../../src/engine/backend/cluster-registry.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };
const hourMs = 3_600_000;

interface SweepDocument {
  readonly doomed: number;
  readonly owned: number;
  readonly frozen: boolean;
  readonly wanted: number;
  readonly foreign: number;
  readonly items: readonly {
    readonly decision: string;
    readonly name: string;
    readonly id: string;
    readonly reason: string;
  }[];
}

describe("capstan sweep", () => {
  let sandbox: Sandbox;
  let demoUid: string;

  const runAndTellUid = async (running: Sandbox) => {
    await running.up();
    demoUid = (await running.planDocument(0)).transaction.clusterUid;
  };
  copyForEachTest(
    member,
    (copy) => {
      sandbox = copy;
    },
    runAndTellUid,
  );

  /** Writes a cluster down as one that was made from here and has ended. */
  const note = (clusterUid: string, cluster: string) => {
    const stack = cluster.replace("/", ".");
    const rest = { provider: "local", backend: "own", notedAtMs: Date.now(), keeps: [] };
    withRegistry(sandbox.state, (registry) => {
      registry.note({ clusterUid, cluster, stack, ...rest });
      registry.noteEnd(clusterUid, Date.now());
    });
  };

  /** Makes resources of one life of a cluster behind everybody's back; ids in their order. */
  const plant = async (
    of: { readonly uid: string; readonly cluster: string; readonly ageMs: number },
    ...names: readonly (readonly [LocalKind, string])[]
  ): Promise<string[]> => {
    const clock = { now: () => Date.now() - of.ageMs, sleep: async () => {} };
    const cloud = new LocalCloud(sandbox.cloudFile, clock);
    const { uid: clusterUid, cluster } = of;
    const ids: string[] = [];
    for (const [kind, name] of names) {
      const who = { cluster, clusterUid, kind, name, token: `${clusterUid} ${name}` };
      const networks = await cloud.everything();
      const networkId = networks.find(
        (one) => one.who.clusterUid === clusterUid && one.kind === "LocalNetwork",
      )?.id;
      const spec: JsonObject =
        kind === "LocalNetwork"
          ? { cidr: "10.9.0.0/16" }
          : { networkId: networkId ?? "", zone: "a", bootMs: 0 };
      ids.push((await cloud.create(kind, who, spec)).id);
    }
    cloud.close();
    return ids;
  };

  /** Names that the first transactions of the clusters have spent: what is left of them is theirs. */
  const spent = { cp: "cp-0-07be390c-0", worker: "worker-0-a830c4ef-0" };

  const old = 2 * hourMs;
  const dead = { uid: "uid-dead", cluster: "default/gone", ageMs: old };
  const leftovers = [
    ["LocalNetwork", "network"],
    ["LocalHost", "web-11111111-0"],
    ["LocalHost", "web-11111111-1"],
  ] as const;

  const look = async (code: number, ...args: string[]): Promise<SweepDocument> => {
    const { stdout } = await sandbox.capstan(code, "--json", "sweep", ...args);
    return JSON.parse(stdout.split("\n")[0] ?? "") as SweepDocument;
  };
  const decisions = ({ items }: SweepDocument) =>
    items.map(({ decision, name }) => `${decision} ${name}`).sort();
  const terminatedAfter = (seq: number) =>
    sandbox
      .ledger(seq)
      .filter(({ call, effect }) => call === "terminate" && effect === "terminated")
      .map(({ id }) => id)
      .sort();
  const aliveIds = () => sandbox.alive().map(({ id }) => id);

  it("finds nothing where everything is in use", async () => {
    assert.deepEqual(await look(0), {
      type: "sweep",
      dryRun: true,
      graceMinutes: 60,
      maxSharePercent: 25,
      doomed: 0,
      owned: 3,
      frozen: false,
      wanted: 3,
      foreign: 0,
      items: [],
      unreadable: [],
      notListed: [],
    });
    const before = sandbox.ledgerEnd();
    await sandbox.capstan(0, "sweep", "--yes", "--grace", "0");
    assert.deepEqual(sandbox.mutations(before), []);
  });

  it("tells leftovers from what is young, foreign, in flight and in use, and deletes them alone", async () => {
    note(dead.uid, dead.cluster);
    const [network = "", ...web] = await plant(dead, ...leftovers);
    const [young = ""] = await plant({ ...dead, ageMs: 0 }, ["LocalHost", "web-11111111-2"]);
    const foreign = await plant(
      { uid: "uid-foreign", cluster: "default/gone", ageMs: old },
      ...leftovers,
    );
    const [stray = ""] = await plant({ uid: demoUid, cluster: "default/demo", ageMs: old }, [
      "LocalHost",
      spent.cp,
    ]);
    // A cluster whose first transaction broke off, with something of it that no state records.
    await sandbox.cloud.fault("create", "fail", { name: "worker", times: 9 });
    sandbox.write({ ...pair, name: "open" });
    await sandbox.up(4, "--no-rollback");
    await sandbox.cloud.clearFaults();
    const uids = [...new Set(sandbox.alive().map(({ clusterUid }) => clusterUid))];
    const [inFlight = ""] = uids.filter((uid) => ![dead.uid, "uid-foreign", demoUid].includes(uid));
    const open = { uid: inFlight, cluster: "default/open", ageMs: old };
    const [lost = ""] = await plant(open, ["LocalHost", spent.worker]);

    const before = sandbox.ledgerEnd();
    const found = await look(2);
    assert.deepEqual(
      [found.doomed, found.wanted, found.foreign, found.frozen],
      [4, 6, 3, true],
      JSON.stringify(found),
    );
    assert.equal(found.owned, 12);
    assert.deepEqual(decisions(found), [
      `busy ${spent.worker}`,
      `sweep ${spent.cp}`,
      "sweep network",
      "sweep web-11111111-0",
      "sweep web-11111111-1",
      "young web-11111111-2",
    ]);
    assert.match(
      found.items.find(({ id }) => id === lost)?.reason ?? "",
      /^transaction 1 of default\.open is not finished$/,
    );

    const { stderr } = await sandbox.capstan(5, "sweep", "--yes");
    assert.match(stderr, /cannot sweep: 4 of 12 resources is more than 25 %/);
    assert.match(stderr, /hint: .*--max-share 34/);
    assert.deepEqual(sandbox.mutations(before), [], "neither a look nor a refusal deletes");

    const { stdout } = await sandbox.capstan(3, "sweep", "--yes", "--max-share", "34");
    assert.match(stdout, /Swept: 3 resources deleted, 1 left/);
    const blocker = new RegExp(
      `left: LocalNetwork network \\(${network}\\): .*in its way: ${young}`,
    );
    assert.match(stdout, blocker);
    assert.deepEqual(terminatedAfter(before), [...web, stray].sort());

    const swept = sandbox.ledgerEnd();
    const ended = await sandbox.capstan(0, "--json", "sweep", "--yes", "--grace", "0");
    const documents = ended.stdout
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line) as { id?: string });
    assert.deepEqual(documents.pop(), { type: "result", deleted: 2, left: [] });
    assert.deepEqual(documents.map(({ id }) => id).sort(), [network, young].sort());
    assert.deepEqual(terminatedAfter(swept), [network, young].sort());
    assert.deepEqual(
      [...foreign, lost].filter((id) => !aliveIds().includes(id)),
      [],
    );
    assert.deepEqual(decisions(await look(0)), [`busy ${spent.worker}`]);
  });

  it("counts as left what it finds in the hands of a Pulumi engine", async () => {
    const demo = { uid: demoUid, cluster: "default/demo", ageMs: old };
    const [stray = ""] = await plant(demo, ["LocalHost", spent.cp]);
    const locks = join(sandbox.state, "pulumi", ".pulumi", "locks", "organization", "capstan");
    mkdirSync(join(locks, demoStack), { recursive: true });
    const holder = { pid: process.pid, username: "somebody", hostname: hostname() };
    writeFileSync(
      join(locks, demoStack, "01234567-89ab-cdef-0123-456789abcdef.json"),
      JSON.stringify({ ...holder, timestamp: new Date().toISOString() }),
    );
    const before = sandbox.ledgerEnd();
    const { stdout } = await sandbox.capstan(3, "sweep", "--yes");
    assert.match(stdout, new RegExp(`left: LocalHost \\S+ \\(${stray}\\): .* locked by somebody@`));
    assert.deepEqual(terminatedAfter(before), []);
  });

  it("deletes a cluster whose stack is lost only where a person names it, and data only where one says so", async () => {
    sandbox.write({
      machines: {
        ...member.machines,
        "db-0": { dataVolume: { gib: 1, whenHostGoes: "keep" } },
      },
    });
    await sandbox.up();
    removeFolder(join(sandbox.state, "pulumi", ".pulumi"));
    const before = sandbox.ledgerEnd();
    const all = ["--yes", "--grace", "0", "--max-share", "100"];
    const { stdout } = await sandbox.capstan(3, "sweep", ...all);
    assert.match(stdout, /5 resources of default\/demo: no stack holds its cluster/);
    assert.match(stdout, /capstan --state \S+ sweep --lost-cluster default\/demo/);
    assert.deepEqual(
      new Set(decisions(await look(2)).map((one) => one.split(" ")[0])),
      new Set(["lost"]),
    );
    const { stderr } = await sandbox.capstan(1, "sweep", ...all, "--lost-cluster", "default/other");
    assert.match(stderr, /default\/other: it is not lost\nhint: lost clusters: default\/demo/);
    assert.deepEqual(sandbox.mutations(before), []);
    const named = ["--lost-cluster", "default/demo"];
    await sandbox.capstan(3, "sweep", ...all, ...named);
    const left = sandbox.alive().map(({ kind }) => kind);
    assert.ok(left.includes("LocalVolume"), left.join());
    await sandbox.capstan(0, "sweep", ...all, ...named, "--kept-data");
    assert.deepEqual(sandbox.alive(), []);
  });

  it("leaves nothing of a cluster that was destroyed, whose end status and history tell", async () => {
    await sandbox.capstan(0, "destroy", "--yes", "default/demo");
    const said = /^Cluster default\/demo: destroyed at \d{4}-\d\d-\d\dT/;
    assert.match((await sandbox.capstan(0, "status", "demo")).stdout, said);
    assert.match((await sandbox.capstan(0, "history", "default/demo")).stdout, said);
    assert.match((await sandbox.capstan(0, "status")).stdout, /^No clusters in \S+state\./);
    const again = await sandbox.capstan(0, "destroy", "--yes", "default/demo");
    assert.match(again.stdout, /it was destroyed at .*, nothing to destroy/);
    const { stderr } = await sandbox.capstan(1, "destroy", "--yes", "default/nowhere");
    assert.match(
      stderr,
      /cannot destroy default\.nowhere: nothing is recorded about it in \S+state\n/,
    );
    // A call that takes effect late.
    const [late = ""] = await plant({ uid: demoUid, cluster: "default/demo", ageMs: old }, [
      "LocalNetwork",
      "network",
    ]);
    await sandbox.capstan(0, "sweep", "--yes", "--max-share", "100");
    assert.ok(!aliveIds().includes(late));
  });
});
