// A process that contends for a Lease, for tests: `lease-contender.js KUBECONFIG NAME`. Prints its news
// as JSON lines, and `{ "kind": "deed" }` for each thing that it does as leader. SIGTERM: gracefully.

import { KubeConfig } from "@kubernetes/client-node";
import { Leadership, type Term } from "../../src/kube/lease.js";
import { leaseClock } from "../../src/kube/lease-clock.js";
import { leaseInApiServer } from "../../src/kube/lease-store.js";
import { contenderTiming } from "./lease-timing.js";

const [kubeconfig = "", me = ""] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const shutdown = new AbortController();
process.once("SIGTERM", () => shutdown.abort());

function say(line: object): void {
  process.stdout.write(`${JSON.stringify({ ...line, atMs: Date.now() })}\n`);
}

async function lead({ lost, assertLeader }: Term): Promise<void> {
  const clock = leaseClock();
  while (!shutdown.signal.aborted && !lost.aborted) {
    assertLeader();
    say({ kind: "deed" });
    await clock.sleep(50, AbortSignal.any([lost, shutdown.signal])).catch(() => undefined);
  }
}

await new Leadership({
  store: leaseInApiServer(config, { namespace: "default", name: "capstan" }),
  me,
  clock: leaseClock(),
  timing: contenderTiming,
  tell: (news) => say(news.kind === "trouble" ? { kind: news.kind } : news),
  overrun: () => process.exit(9),
}).run(shutdown.signal, lead);
