import fc from "fast-check";
import { isCapstanError } from "../../../src/api/error.js";
import { nodeName } from "../../../src/graph/graph.js";
import type { Target } from "../../../src/records/target.js";
import {
  annotated,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";
import type { CommandFault } from "../../support/faults.js";

/** Manifests at one time: files come and go, numbers change, nobody thinks of what is lost. */
export interface Moment {
  /** Of cp-0 to cp-4, which there are. */
  readonly members: readonly string[];
  readonly size: "small" | "large";
  readonly workers: readonly string[];
  /** Machines of the MachineDeployment web; undefined: it is gone. */
  readonly web: number | undefined;
  readonly protects: readonly string[];
  readonly allows: string | undefined;
  /** After which call to the cloud whoever brings it about is killed; undefined: after none. */
  readonly killedAfter: number | undefined;
}

const memberNames = ["cp-0", "cp-1", "cp-2", "cp-3", "cp-4"];
const workerNames = ["db", "gpu"];

const moments: fc.Arbitrary<Moment> = fc.record({
  members: fc.subarray(memberNames),
  size: fc.constantFrom("small", "large"),
  workers: fc.subarray(workerNames),
  web: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
  protects: fc.oneof(fc.constant([]), fc.subarray(["cp-0", "db", "web"])),
  allows: fc.constantFrom(
    undefined,
    undefined,
    "control-plane",
    "workers",
    "control-plane,workers",
  ),
  killedAfter: fc.option(fc.nat({ max: 8 }), { nil: undefined, freq: 4 }),
});

export const pasts = fc.array(moments, { minLength: 2, maxLength: 5 });

function manifestsOf({ members, size, workers, web, protects, allows }: Moment): Manifest[] {
  const guarded = (name: string, object: Manifest) =>
    protects.includes(name) ? annotated({ "capstan.dev/protect": "true" }, object) : object;
  return [
    allows === undefined
      ? cluster()
      : annotated({ "capstan.dev/allow-removal": allows }, cluster()),
    ...members.map((name) => guarded(name, machine(name, { controlPlane: "1.34.2", size }))),
    ...workers.map((name) => guarded(name, machine(name))),
    ...(web === undefined ? [] : [guarded("web", machineDeployment("web", web))]),
  ];
}

/** What a cluster of this revision would lose by accident, told from the manifests alone. */
function lossesOf(
  { machines, objects }: Pick<Target, "machines" | "objects">,
  next: Moment,
): string[] {
  const names = (isMember: boolean) =>
    machines.filter(({ controlPlane }) => controlPlane === isMember).map(({ name }) => name);
  const members = names(true);
  const left = members.filter((name) => next.members.includes(name)).length;
  const isBelow = left < members.length && 2 * left <= members.length;
  const hasWorkers = names(false).length > 0;
  const isBare = next.workers.length === 0 && (next.web ?? 0) === 0;
  const isScaled = next.web === 0 && names(false).every((name) => name.startsWith("web-"));
  const wanted = [...next.members, ...next.workers, ...(next.web === undefined ? [] : ["web"])];
  const allowed = next.allows?.split(",") ?? [];
  return [
    ...(isBelow && !allowed.includes("control-plane") ? ["control plane"] : []),
    ...(hasWorkers && isBare && !isScaled && !allowed.includes("workers") ? ["workers"] : []),
    ...objects
      .filter(({ metadata }) => metadata.annotations?.["capstan.dev/protect"] === "true")
      .map(({ metadata }) => metadata.name)
      .filter((name) => !wanted.includes(name)),
  ];
}

/** What must be refused, and what may: of what was begun and never committed nobody has to lose what is not there. */
function lossesNow({ prior, cloud }: FakeEngine, next: Moment): { must: string[]; may: string[] } {
  const { revision, transaction } = prior;
  if (revision !== undefined) {
    const losses = lossesOf(revision.target, next);
    return { must: losses, may: losses };
  }
  if (transaction === undefined) return { must: [], may: [] };
  const { machines, objects } = transaction.target;
  const withHosts = (hosts: readonly string[]) => {
    const there = machines.filter(({ name }) => hosts.some((host) => host.startsWith(`${name}-`)));
    return lossesOf({ machines: there, objects }, next);
  };
  const alive = cloud.alive().map(({ who }) => who.name);
  const perhaps = prior.pending.map(({ key }) => nodeName(key));
  return { must: withHosts(alive), may: withHosts([...alive, ...perhaps]) };
}

/**
 * Brings one moment about after the other without a flag, and tells where the law is broken: a step that
 * loses something by accident is refused and touches nothing, every other one is made.
 */
export async function breachesOfProtection(past: readonly Moment[]): Promise<string[]> {
  const engine = new FakeEngine({ allow: [] });
  const breaches: string[] = [];
  for (const moment of past) {
    const { must, may } = lossesNow(engine, moment);
    const calls = engine.calls.length;
    const { killedAfter: number } = moment;
    const faults: CommandFault[] =
      number === undefined ? [] : [{ at: "call", number, what: "killAfter" }];
    const outcome = await engine.up(desiredOf(manifestsOf(moment)), faults);
    const isRefused =
      outcome.kind === "broke" &&
      isCapstanError(outcome.error) &&
      outcome.error.code === "PROTECTED";
    const isOver = outcome.kind === "done" || (outcome.kind === "killed" && number !== undefined);
    if (!isRefused && !isOver) breaches.push(`ended as ${JSON.stringify(outcome)}`);
    if (isRefused && may.length === 0) breaches.push("refused, and nothing is lost");
    if (!isRefused && must.length > 0) breaches.push(`made, it loses [${must.join(", ")}]`);
    if (isRefused && engine.calls.length !== calls) breaches.push("refused, and something done");
  }
  return breaches;
}
