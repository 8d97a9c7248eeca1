import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import { type ScenarioMachine, writeManifests } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

describe("a cluster beside others whose hosts never go", function () {
  this.timeout(900_000);
  let sandbox: Sandbox;
  let watcher: Command;

  beforeEach(async () => {
    sandbox = await Sandbox.make({ machines: {} });
  });
  afterEach(() => sandbox.close());

  const folderOf = (name: string) => join(sandbox.folder, `of-${name}`);
  /** The cluster with one member and so many workers, which boot in no time. */
  const ask = (name: string, workers: number): void => {
    mkdirSync(folderOf(name), { recursive: true });
    const numbers = Array.from({ length: workers }, (_, number) => `${name}-worker-${number}`);
    const machines: Record<string, ScenarioMachine> = { [`${name}-cp`]: { controlPlane: true } };
    for (const worker of numbers) machines[worker] = {};
    const annotations = { "capstan.dev/allow-removal": "workers" };
    writeManifests(folderOf(name), { name, annotations, machines });
  };
  const ended = (name: string) =>
    watcher.said.split("\n").filter((line) => line.includes(`default/${name}: done in`)).length;
  /** How long it takes until so many machines are asked for and there, milliseconds. */
  const timeOf = async (name: string, workers: number): Promise<number> => {
    const [before, begunMs] = [ended(name), performance.now()];
    ask(name, workers);
    await until(
      `${name} is done`,
      () => {
        assert.equal(watcher.hasEnded, false, watcher.said);
        return ended(name) > before;
      },
      300_000,
    );
    return performance.now() - begunMs;
  };

  it("is changed in the time that it takes alone, twice that at most", async () => {
    const names = ["stuck-a", "stuck-b", "well"];
    for (const name of names) ask(name, 1);
    const files = names.flatMap((name) => ["-f", folderOf(name)]);
    // As few engines as there can be: whoever held one would keep everybody out.
    watcher = sandbox.start("watch", "--period", "5", "--engines", "1", ...files);
    await until("all run", () => names.every((name) => ended(name) === 1), 300_000);
    const alone = [await timeOf("well", 2)];
    for (const name of ["stuck-a", "stuck-b"]) {
      await sandbox.fault("terminate", "late", "--name", `${name}-worker`, "--ms", "600000");
    }
    const end = sandbox.ledgerEnd();
    for (const name of ["stuck-a", "stuck-b"]) ask(name, 0);
    await until(
      "both are asked to go",
      () => {
        const asked = sandbox.ledger(end).filter(({ call }) => call === "terminate");
        return new Set(asked.map((row) => row.name?.slice(0, 7))).size === 2;
      },
      300_000,
    );
    const beside = await timeOf("well", 3);
    const going = sandbox.alive().filter(({ name }) => /^stuck-.-worker/.test(name));
    assert.equal(going.length, 2, "they were to be there all the time");
    // How fast the machine is by now, with nobody beside: it is shared with other tests.
    await sandbox.capstan(0, "local", "fault", "--clear");
    await until("both are gone", () => ended("stuck-a") + ended("stuck-b") === 4, 300_000);
    alone.push(await timeOf("well", 4));
    const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
    const told = `beside two ${seconds(beside)}, alone ${alone.map(seconds).join(" and ")}`;
    assert.ok(beside <= 2 * Math.max(...alone), told);
  });
});
