import {
  type CloudRow,
  type Deployment,
  judge,
  type Judgement,
  nothingWrong,
} from "../scenario/ledger-judge.js";
import { judgeWanted } from "../scenario/wanted-judge.js";
import type { Place } from "./place.js";
import type { LocalScene } from "./local-scene.js";
import { wantedMachines } from "./targets.js";

/** What is wrong after a recovery. All empty: nothing is. */
export interface PlaceVerdict extends Judgement {
  /** Other than the target that should be there wants it. */
  readonly unwanted: readonly string[];
  /** A command that did not end, or not as it should. */
  readonly stuck: readonly string[];
  /** What the ledger shows that no picture does; docs/chaos.md lists the laws. */
  readonly laws: readonly string[];
}

/** Holds the local cloud, state and a place against each other. */
export async function judgePlace(scene: LocalScene, place: Place): Promise<PlaceVerdict> {
  const own = scene.own();
  const deployment = await scene.sandbox.deployment(scene.stack);
  const judgement = judge(own, deployment);
  const verdict = (unwanted: readonly string[], more: Partial<Judgement> = {}): PlaceVerdict => ({
    ...judgement,
    ...more,
    unwanted,
    stuck: [],
    laws: [],
  });
  switch (place.kind) {
    case "manifests":
      return verdict(judgeWanted(own, wantedMachines(place.objects)));
    case "nothing":
      return verdict(scene.alive().map(({ name, id }) => `${name} (${id}) lives, nothing should`));
    case "found":
      return verdict(
        unlike(scene.alive(scene.before), scene.alive()),
        isEmpty(deployment) ? { ...nothingWrong, duplicates: judgement.duplicates } : {},
      );
    case "open":
      // What is on its way agrees with no target yet; the way on shows whether it is lost.
      return { ...stuckWith(), duplicates: judgement.duplicates };
  }
}

/** The end of a host's name; what lives with the host has its own name behind it. */
const incarnation = /-\d+(?=$|-api$|-data$)/;

/** Name and content. Whatever lives with a host names it by its id, which another incarnation has not. */
function textsOf(rows: readonly CloudRow[]): ReadonlySet<string> {
  const nameless = (name: string) => name.replace(incarnation, "");
  const hosts = new Map(rows.map(({ id, name }) => [id, nameless(name)]));
  return new Set(
    rows.map(({ name, spec }) => {
      const { hostId } = spec;
      const host = typeof hostId === "string" ? { hostId: hosts.get(hostId) ?? hostId } : {};
      return `${nameless(name)} ${JSON.stringify({ ...spec, ...host })}`;
    }),
  );
}

/**
 * What is no longer as it was found, in existence and content. A host that its change had deleted is made
 * anew under the next incarnation, with what lives with it; that an adoption alone changes nothing is a law of the
 * histories.
 */
function unlike(before: readonly CloudRow[], after: readonly CloudRow[]): string[] {
  const was = textsOf(before);
  const is = textsOf(after);
  return [
    ...[...was].filter((one) => !is.has(one)).map((one) => `${one} was found and is gone`),
    ...[...is].filter((one) => !was.has(one)).map((one) => `${one} was not found there`),
  ];
}

function isEmpty({ resources = [] }: Deployment): boolean {
  return !resources.some(({ type }) => type.includes("capstan:Local"));
}

export function stuckWith(...stuck: string[]): PlaceVerdict {
  return { ...nothingWrong, unwanted: [], stuck, laws: [] };
}

/** "orphans 0, duplicates 0, wrong 0, stuck 0, laws 0": each is counted with the nearest of them. */
export function verdictCounts(verdict: PlaceVerdict): string {
  const { orphans, duplicates, missing, wrongContent, unwanted, pending, stuck, laws } = verdict;
  const wrong = missing.length + wrongContent.length + unwanted.length;
  const hanging = pending.length + stuck.length;
  return `orphans ${orphans.length}, duplicates ${duplicates.length}, wrong ${wrong}, stuck ${hanging}, laws ${laws.length}`;
}

export function verdictProblems(verdict: PlaceVerdict): string[] {
  return Object.entries(verdict).flatMap(([what, all]) =>
    (all as readonly string[]).map((one) => `${what}: ${one}`),
  );
}
