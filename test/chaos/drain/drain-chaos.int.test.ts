import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { CoreV1Api } from "@kubernetes/client-node";
import { uncordonOurs } from "../../../src/kube/node-drain.js";
import { until } from "../../scenario/until.js";
import { ApiServer } from "../../support/api-server.js";
import { AppsKeeper, budgetedApps, budgets, judged } from "./budgeted-apps.js";

const drainer = "drainer";
const nodes = ["web-0", "web-1", "web-2"];
/** Of processes in the middle of a drain; `CAPSTAN_DRAIN_KILLS` of them for figures. */
const kills = Number(process.env["CAPSTAN_DRAIN_KILLS"] ?? 4);
/** In which of its rounds a process is killed, at the most; one that has ended before is none that was killed. */
const mostRounds = 4;
/** How far into the round, milliseconds, at the most: one takes as long. */
const longestMs = 60;

describe("drains whose processes are killed", function () {
  this.timeout(120_000 + kills * 40_000);
  let server: ApiServer;
  let core: CoreV1Api;
  let keeper: AppsKeeper;
  const ready: ChildProcess[] = [];

  before(async () => {
    const users = { [drainer]: ["system:masters"] };
    server = await ApiServer.start({ controllers: true, auditLog: true, users });
    core = server.config.makeApiClient(CoreV1Api);
    keeper = new AppsKeeper(core);
    const made = nodes.map((name) => ({ apiVersion: "v1", kind: "Node", metadata: { name } }));
    const objects = [...made, ...budgets()];
    await server.apply(objects.map((one) => JSON.stringify(one)).join("\n---\n"));
    await keeper.keepOnce();
    keeper.start();
    ready.push(waiting(), waiting());
  });
  after(async () => {
    for (const child of ready) child.kill("SIGKILL");
    await keeper.stop();
    await server.stop();
  });

  /** One that waits to be told what to drain: starting takes longer than draining. */
  function waiting(): ChildProcess {
    const program = fileURLToPath(new URL("drain-process.js", import.meta.url));
    const { kubeconfig } = server.as(drainer);
    return spawn(process.execPath, [program, kubeconfig], { stdio: ["pipe", "pipe", "inherit"] });
  }

  function drain(node: string): ChildProcess {
    const child = ready.shift() ?? waiting();
    ready.push(waiting());
    child.stdin?.write(`${node}\n`);
    return child;
  }

  /** Somewhere in that round of its drain. */
  function killIn(child: ChildProcess, round: number): void {
    let rounds = 0;
    child.stdout?.on("data", (dots: Buffer) => {
      const before = rounds;
      rounds += dots.length;
      if (before >= round || rounds < round) return;
      setTimeout(() => child.kill("SIGKILL"), Math.random() * longestMs);
    });
  }

  async function podsOn(node: string): Promise<number> {
    const fieldSelector = `spec.nodeName=${node}`;
    return (await core.listPodForAllNamespaces({ fieldSelector })).items.length;
  }

  it("evict no pod beyond its budget, and come to an end", async () => {
    let killed = 0;
    let drains = 0;
    for (let turn = 0; killed < kills; turn += 1) {
      const node = nodes[turn % nodes.length]!;
      for (let isDrained = false; !isDrained;) {
        const child = drain(node);
        const ended = once(child, "exit");
        if (killed < kills) killIn(child, 1 + Math.floor(Math.random() * mostRounds));
        await ended;
        if (child.exitCode === 0) isDrained = true;
        else killed += 1;
      }
      drains += 1;
      assert.equal(await podsOn(node), 0);
      // It stays after all, and pods come back to it.
      await uncordonOurs([await core.readNode({ name: node })], core);
      await until("all pods run again", async () => {
        const { items } = await core.listNamespacedPod({ namespace: "default" });
        const standing = items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
        const wanted = budgetedApps.reduce((sum, { replicas }) => sum + replicas, 0);
        return standing.length === wanted ? true : undefined;
      });
    }
    const { evicted, refused, broken } = judged(server.auditEvents(), drainer);
    const figures = `${killed} kills, ${drains} drains, ${evicted} evicted, ${refused} refused`;
    if (process.env["CAPSTAN_DRAIN_KILLS"] !== undefined) process.stdout.write(`${figures}\n`);
    assert.deepEqual(broken, [], figures);
    assert.ok(evicted > 0, figures);
  });
});
