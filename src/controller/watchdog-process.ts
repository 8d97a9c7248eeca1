import { createInterface } from "node:readline";
import { isJsonObject, type Json } from "../api/json.js";
import {
  isIdentity,
  livenessOf,
  type ProcessIdentity,
  signalGroup,
} from "../engine/locks/process-identity.js";
import { leaseClock, saidAgoMs } from "../kube/lease-clock.js";

// Runs beside a controller that leads, and ends its engines once the lease is about to: also where the controller itself
// does not run at that time (SIGSTOP), and when it has died. It is told, a JSON object a line:
//   {"leftMs": 11500, "said": {"steadyMs": ..., "wallMs": ...}}  the engines may run for so long from when it was said, by the clocks of both
//   {"begins": <identity>}   an engine that is about to begin; answered with its pid once it is one of those
//   {"ended": <pid>}
// It ends once there is nobody to tell it anything and nothing to end.

/** How late it sees that the time is over, milliseconds, also on a machine that was suspended. */
const tickMs = 50;

const clock = leaseClock();
const engines = new Map<number, ProcessIdentity>();
/** Nothing may run before the first word. */
let endsAtMs = 0;

function hear(line: string): void {
  const told = JSON.parse(line) as Json;
  if (!isJsonObject(told)) return;
  const { leftMs, said, begins, ended } = told;
  if (typeof leftMs === "number") endsAtMs = clock.cautiousMs() + leftMs - saidAgoMs(said);
  if (isIdentity(begins)) {
    engines.set(begins.pid, begins);
    process.stdout.write(`${begins.pid}\n`);
  }
  if (typeof ended === "number") engines.delete(ended);
}

/** An engine runs in a process group of its own. */
function endAll(): void {
  for (const [pid, engine] of engines) {
    if (livenessOf(engine) === "dead") engines.delete(pid);
    else signalGroup(pid, "SIGKILL");
  }
}

setInterval(() => {
  if (clock.cautiousMs() >= endsAtMs) endAll();
}, tickMs);

const lines = createInterface({ input: process.stdin });
lines.on("line", hear);
lines.once("close", () => {
  endsAtMs = 0;
  setInterval(() => {
    endAll();
    if (engines.size === 0) process.exit(0);
  }, tickMs);
});
