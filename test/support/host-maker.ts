// Run as a process of its own: makes hosts in a local cloud file that others write to as well.
// Arguments: file, prefix of the names, number of hosts, id of the network.

import { LocalCloud } from "../../providers/local/cloud.js";
import { systemClock } from "../../src/provider/clock.js";

const [path = "", prefix = "", count = "0", networkId = ""] = process.argv.slice(2);
const cloud = new LocalCloud(path, systemClock);
const ids: string[] = [];
for (let index = 0; index < Number(count); index += 1) {
  const name = `${prefix}-${index}`;
  const who = { cluster: "default/prod", clusterUid: "u", kind: "LocalHost", name, token: name };
  const made = await cloud.create("LocalHost", who, { networkId, zone: "a", bootMs: 0 });
  ids.push(made.id);
}
cloud.close();
process.stdout.write(JSON.stringify(ids));
