import type { AwsLife } from "./life.js";
import { tapped } from "./tap.js";

/** moto knows no status of instances: the clients of its tests answer that themselves. */
const answeredForMoto = "ec2:DescribeInstanceStatus";

/** The calls of each step of a life: by "create AwsVpc", and then by the resource. */
export type CallSequences = ReadonlyMap<string, readonly string[]>;

/**
 * Lives a life and notes which calls each step makes, in their order. What is done again
 * while it waits counts once.
 */
export async function sequencesOf(
  clients: Parameters<typeof tapped>[0],
  life: AwsLife,
): Promise<CallSequences> {
  let calls: string[] = [];
  tapped(clients, ({ action }, send) => {
    if (action !== answeredForMoto) calls.push(action);
    return send();
  });
  const sequences = new Map<string, readonly string[]>();
  for (const { phase, about, run } of life.steps()) {
    calls = [];
    await run();
    // Ids of machines' hosts hold the image, which is another one in each cloud.
    const name = about.replace(/-[0-9a-f]{8}-\d+/, "");
    // A listing asks for all kinds at once: which answer comes first is chance.
    sequences.set(`${phase} ${name}`, name === "the listing" ? calls.toSorted() : folded(calls));
  }
  return sequences;
}

/** Without what is done again at once, up to four calls long: so it is waited for what takes time. Pure. */
function folded(calls: readonly string[]): readonly string[] {
  for (let length = 1; length <= 4; length += 1) {
    for (let at = 0; at + 2 * length <= calls.length; at += 1) {
      const [once, again] = [
        calls.slice(at, at + length),
        calls.slice(at + length, at + 2 * length),
      ];
      if (once.join() === again.join()) {
        return folded([...calls.slice(0, at), ...calls.slice(at + length)]);
      }
    }
  }
  return calls;
}

/** Steps whose calls differ, with those of the one and of the other. */
export function differencesBetween(
  one: CallSequences,
  other: CallSequences,
): Readonly<Record<string, readonly [string, string]>> {
  const steps = [...new Set([...one.keys(), ...other.keys()])];
  const rows = steps.map((step) => {
    const told = (sequence: readonly string[] = []) =>
      sequence.map((call) => call.replace(/^\w+:/, "")).join(" ");
    return [step, [told(one.get(step)), told(other.get(step))] as const] as const;
  });
  return Object.fromEntries(rows.filter(([, [left, right]]) => left !== right));
}
