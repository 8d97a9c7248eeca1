// How many calls a cluster on AWS takes: counted by the ledger of the simulated AWS, in its own time. Prints a line of JSON
// for each number of clusters; asserts nothing.

import { AwsLife } from "../dist/test/providers/aws/life/life.js";
import { SimCloud } from "../dist/test/providers/aws/life/sim-cloud.js";

/** Seconds between two looks of capstan watch. */
const periodSeconds = 30;
const plenty = 1_000_000;
const quotas = {
  vpcs: plenty,
  internetGateways: plenty,
  addresses: plenty,
  natGatewaysPerZone: plenty,
  securityGroups: plenty,
  vcpus: plenty,
  loadBalancers: plenty,
  targetGroups: plenty,
};

/**
 * @param {SimCloud} cloud
 * @param {() => Promise<unknown>} work
 */
async function counted(cloud, work) {
  const before = cloud.aws.ledger.after(0).length;
  const begunMs = cloud.clock.now();
  await work();
  /** @type {Record<string, number>} */
  const byAction = {};
  const calls = cloud.aws.ledger.after(before);
  for (const { action } of calls) byAction[action] = (byAction[action] ?? 0) + 1;
  const changing = calls.filter(({ isMutating }) => isMutating).length;
  return {
    calls: calls.length,
    changing,
    cloudSeconds: (cloud.clock.now() - begunMs) / 1_000,
    byAction,
  };
}

/** @param {number} count of clusters with one host each */
async function measured(count) {
  const cloud = new SimCloud({ quotas });
  const lives = Array.from(
    { length: count },
    (_, at) => new AwsLife(cloud, { cluster: `c${at}`, isSmall: true }),
  );
  const created = await counted(cloud, async () => {
    for (const life of lives) {
      for (const { phase, run } of life.steps()) {
        if (phase === "unchanged") break;
        await run();
      }
    }
  });
  const [first] = lives;
  const look = await counted(cloud, async () => first?.provider.owned?.(first.context));
  return {
    clusters: count,
    resourcesEach: first?.planned().length,
    creation: { calls: created.calls / count, changing: created.changing / count },
    look,
    callsPerHour: (look.calls * 3_600) / periodSeconds,
  };
}

for (const count of process.argv.slice(2).map(Number)) {
  process.stdout.write(`${JSON.stringify(await measured(count))}\n`);
}
