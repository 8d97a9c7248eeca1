import fc from "fast-check";
import { outcomeText, FakeEngine } from "./fake-engine.js";
import { plainWorld } from "./fake-cloud.js";
import { faults } from "./histories.js";
import type { CommandFault } from "./faults.js";
import { cluster, desiredOf, machine } from "./manifests.js";

// Members of etcd that fall ill while their control plane is changed.

/** How long a member is ill, in milliseconds of a change; for ever without an end. */
interface Illness {
  readonly member: number;
  readonly fromMs: number;
  readonly forMs?: number;
}

export interface EtcdHistory {
  readonly members: number;
  /** `size` makes new hosts, `version` changes those that are there. */
  readonly change: "size" | "version";
  readonly illnesses: readonly Illness[];
  /** One of each command that comes before the last ones. */
  readonly faults: readonly CommandFault[];
}

export const etcdHistories: fc.Arbitrary<EtcdHistory> = fc.record({
  members: fc.constantFrom(3, 3, 5),
  change: fc.constantFrom("size", "size", "version"),
  illnesses: fc.array(
    fc.record(
      {
        member: fc.nat({ max: 4 }),
        fromMs: fc.constantFrom(0, 0, 50, 100, 200, 400, 1_000),
        forMs: fc.constantFrom(100, 700, 2_000),
      },
      { requiredKeys: ["member", "fromMs"] },
    ),
    { minLength: 1, maxLength: 3 },
  ),
  faults: fc.array(faults, { maxLength: 2 }),
});

export const cpNames = (count: number) => Array.from({ length: count }, (_, at) => `cp-${at}`);

export function membersOf(count: number, fields: { size?: string; version?: string } = {}) {
  const { size = "small", version = "1.34.2" } = fields;
  return desiredOf([
    cluster(),
    ...cpNames(count).map((name) =>
      machine(name, { controlPlane: version, kubelet: version, size }),
    ),
  ]);
}

/** What laws say of one history, and how its commands ended. */
export interface EtcdCourse {
  readonly violations: readonly string[];
  readonly outcomes: readonly string[];
}

/** Commands that change a control plane, killed at some places, while members fall ill; at the end all are well. */
export async function courseOf(drawn: EtcdHistory): Promise<EtcdCourse> {
  const engine = await FakeEngine.running(membersOf(drawn.members), {
    traits: { ...plainWorld, joins: true },
  });
  const wanted = membersOf(
    drawn.members,
    drawn.change === "size" ? { size: "large" } : { version: "1.34.3" },
  );
  const beganMs = engine.clock.now();
  // The hosts that there are now: those that take their places are well.
  const firstHosts = engine.hosts().map(({ who }) => who.name);
  const { hosts } = engine.cloud;
  hosts.ails = (host) => {
    const sinceMs = engine.clock.now() - beganMs;
    const isIll = drawn.illnesses.some(
      ({ member, fromMs, forMs = Infinity }) =>
        firstHosts[member] === host && sinceMs >= fromMs && sinceMs < fromMs + forMs,
    );
    return isIll ? "it is ill" : undefined;
  };
  const outcomes: string[] = [];
  for (const fault of drawn.faults) {
    outcomes.push(outcomeText(await engine.up(wanted, [fault])));
  }
  outcomes.push(outcomeText(await engine.up(wanted)));
  hosts.ails = () => undefined;
  for (let round = 0; round < 3; round += 1) {
    outcomes.push(outcomeText(await engine.up(wanted)));
  }
  return { violations: engine.cloud.watch.violations, outcomes };
}
