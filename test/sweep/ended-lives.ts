import fc from "fast-check";
import { viewOf } from "../../src/sweep/stack-view.js";
import { knownClusters } from "../../src/sweep/clusters.js";
import { decideSweep, type SweepKind } from "../../src/sweep/decide.js";
import { standingOf } from "../../src/transaction/lifecycle.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine } from "../support/fake-engine.js";
import type { CommandFault } from "../support/faults.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";
import { noConsent } from "./world.js";

// Lives of clusters whose end is killed somewhere, and what a sweep would make of them.

const desired = desiredOf([
  cluster(),
  machine("cp-0", { controlPlane: "1.34.2" }),
  machine("db", { dataVolume: { gib: 1, whenHostGoes: "keep" } }),
]);
const stack = "default.prod";

/** How a life comes to its end. */
export interface End {
  /** A destroy, or the rollback of a first up that an engine was killed in. */
  readonly by: "destroy" | "rollback";
  readonly fault: CommandFault;
}

export const ends: fc.Arbitrary<End> = fc.record({
  by: fc.constantFrom("destroy", "rollback"),
  fault: fc.oneof(
    fc.record({
      at: fc.constant("call" as const),
      number: fc.nat({ max: 10 }),
      what: fc.constantFrom("killBefore" as const, "killAfter" as const, "killLate" as const),
    }),
    fc.record({
      at: fc.constant("write" as const),
      number: fc.nat({ max: 30 }),
      what: fc.constantFrom("killBefore" as const, "killAfter" as const),
    }),
  ),
});

/** Defects of a sweep after a life whose end may have been killed, and after the next try has ended it. */
export async function breachesOf({ by, fault }: End): Promise<{
  readonly hasEnded: boolean;
  readonly breaches: readonly string[];
}> {
  const engine = new FakeEngine({ traits: plainWorld });
  if (by === "destroy") await engine.settle(desired);
  else await engine.up(desired, [{ at: "call", number: 4, what: "killAfter" }]);
  const end = (...faults: CommandFault[]) =>
    by === "destroy" ? engine.destroy(faults) : engine.rollback(faults);
  await end(fault);
  const hasEnded = isEnded(engine);
  const breaches = breachesAt(engine, "after the first try");
  if (standingOf(engine.prior) !== "absent") await end();
  if (!isEnded(engine)) breaches.push("the next try does not record the end");
  return { hasEnded, breaches: [...breaches, ...breachesAt(engine, "after the next try")] };
}

/** The same of many ends, which are always the same. */
export async function breachesOfMany(): Promise<string[]> {
  const found: string[] = [];
  for (const end of fc.sample(ends, { numRuns: 40, seed: 1 })) {
    found.push(...(await breachesOf(end)).breaches);
  }
  return found;
}

function isEnded({ noted }: FakeEngine): boolean {
  return noted.every(({ endedAtMs }) => endedAtMs !== undefined);
}

/** Whatever is alive, and a host that a late answer makes, is garbage once the end was recorded, and not before. */
function breachesAt(engine: FakeEngine, when: string): string[] {
  const hasEnded = isEnded(engine);
  const alive = engine.alive();
  const breaches: string[] = [];
  if (hasEnded && alive.length > 0) breaches.push(`${when}: it has ended and ${alive.length} live`);
  for (const lost of [false, true]) {
    // A stack that is lost must look no more like garbage than one that is there.
    const kinds = decisionsOn(engine, lost);
    const wrong = kinds.filter((kind) => (kind === "sweep") !== hasEnded);
    // Before its records go, an end that was recorded is not acted on while they are there.
    const isThere = !lost && engine.prior.transaction !== undefined;
    if (!isThere && wrong.length > 0) breaches.push(`${when}: ${wrong.join(", ")}`);
    if (isThere && kinds.includes("sweep")) breaches.push(`${when}: swept of an open transaction`);
  }
  return breaches;
}

function decisionsOn(engine: FakeEngine, isStackLost: boolean): SweepKind[] {
  const { hostKind, name: provider } = engine.provider;
  const views = isStackLost ? [] : [viewOf(stack, engine.prior, { hostKind })];
  const clusters = knownClusters(engine.noted, "own", views);
  const late = clusters.map(({ clusterUid, cluster: name }) => ({
    id: "late",
    who: { cluster: name, clusterUid, kind: hostKind, name: "db-0123abcd-9", token: "late" },
    phase: "ready" as const,
    spec: {},
    status: {},
  }));
  const resources = [...engine.alive(), ...late];
  const listings = [{ provider, resources }];
  const input = { nowMs: 0, graceMs: 0, consent: noConsent, clusters, views, listings };
  return decideSweep(input).map(({ kind }) => kind);
}
