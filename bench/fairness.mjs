// How long a change of a healthy cluster takes beside clusters that are stuck: hosts of theirs are asked to go and never do. One controller over
// files and the local cloud. Prints times; asserts nothing.
//
//     node bench/fairness.mjs [--stuck 0,2,20] [--engines N]

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { writeManifests } from "../dist/test/scenario/manifests.js";
import { Sandbox } from "../dist/test/scenario/sandbox.js";
import { until } from "../dist/test/scenario/until.js";

const { values } = parseArgs({
  options: { stuck: { type: "string", default: "0,2,20" }, engines: { type: "string" } },
});
/** Changes of the healthy cluster that are measured, one machine more each. */
const changes = 5;
const neverMs = 3_600_000;
const giveUpMs = 15 * 60_000;

/**
 * @param {number} count of clusters that are stuck
 * @returns {Promise<{ stuck: number, seconds: number[] }>} of the healthy one's changes
 */
async function measure(count) {
  const sandbox = await Sandbox.make({ machines: {} });
  const stuck = Array.from({ length: count }, (_, number) => `stuck-${number}`);
  const names = ["well", ...stuck];
  const folderOf = (/** @type {string} */ name) => join(sandbox.folder, `of-${name}`);
  const ask = (/** @type {string} */ name, /** @type {number} */ workers) => {
    mkdirSync(folderOf(name), { recursive: true });
    const numbers = Array.from({ length: workers }, (_, number) => `${name}-worker-${number}`);
    const machines = Object.fromEntries([
      [`${name}-cp`, { controlPlane: true }],
      ...numbers.map((one) => [one, {}]),
    ]);
    const annotations = { "capstan.dev/allow-removal": "workers" };
    writeManifests(folderOf(name), { name, annotations, machines });
  };
  for (const name of names) ask(name, 1);
  const engines = values.engines === undefined ? [] : ["--engines", values.engines];
  const files = names.flatMap((name) => ["-f", folderOf(name)]);
  const watcher = sandbox.start("watch", "--period", "5", ...engines, ...files);
  const ended = (/** @type {string} */ name) =>
    watcher.said.split("\n").filter((line) => line.includes(`default/${name}: done in`)).length;
  try {
    await until("all run", () => names.every((name) => ended(name) >= 1), giveUpMs);
    if (count > 0) {
      await sandbox.cloud.fault("terminate", "late", { name: "stuck-", ms: neverMs });
    }
    const end = sandbox.ledgerEnd();
    for (const name of stuck) ask(name, 0);
    const areAskedToGo = () => {
      const asked = sandbox.ledger(end).filter(({ call }) => call === "terminate");
      return new Set(asked.map(({ name }) => name?.split("-worker")[0])).size === count;
    };
    await until("all stuck ones are asked to go", areAskedToGo, giveUpMs);
    const seconds = [];
    for (let workers = 2; workers < 2 + changes; workers += 1) {
      const [before, begunMs] = [ended("well"), performance.now()];
      ask("well", workers);
      await until("it is changed", () => ended("well") > before, giveUpMs);
      seconds.push(Math.round((performance.now() - begunMs) / 100) / 10);
    }
    return { stuck: count, seconds };
  } finally {
    await watcher.killTree();
    await sandbox.close();
  }
}

for (const count of values.stuck.split(",").map(Number)) {
  process.stdout.write(`${JSON.stringify(await measure(count))}\n`);
}
