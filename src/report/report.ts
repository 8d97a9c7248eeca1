import type { Plan } from "../plan/plan.js";

/** What one run of `capstan plan` found, for every format. */
export interface PlanReport {
  /** The release that planned. */
  readonly release: string;
  /** The words that name the manifests, to tell how the same plan is made again: "-f clusters/prod". */
  readonly manifests: string;
  /** In the order in which they are applied. */
  readonly plans: readonly Plan[];
  /** Clusters that left the manifests and are to be destroyed (--prune). */
  readonly destroyed: readonly DestroyedCluster[];
}

export interface DestroyedCluster {
  readonly stack: string;
  readonly cluster: string;
}

/** How many resources a plan creates, updates in place and deletes; machines are counted by their hosts. */
interface ChangeCounts {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
}

/** The same counts as in the plan's summary. Pure. */
export function countChanges({ steps, orphaned }: Plan): ChangeCounts {
  const count = (kind: keyof ChangeCounts) => steps.filter((step) => step.kind === kind).length;
  return {
    create: count("create"),
    update: count("update"),
    delete: count("delete") + orphaned.length,
  };
}

export function sumOfCounts(all: readonly ChangeCounts[]): ChangeCounts {
  const sum = (kind: keyof ChangeCounts) => all.reduce((total, one) => total + one[kind], 0);
  return { create: sum("create"), update: sum("update"), delete: sum("delete") };
}

/** Whether anything is to be done: what exit code 2 of `capstan plan` says. Pure. */
export function hasChanges({ plans, destroyed }: PlanReport): boolean {
  return destroyed.length > 0 || plans.some(({ empty }) => !empty);
}

/** Whether recovery only goes forward, already or from some step before the commit on. Pure. */
export function hasPointOfNoReturn({ undo, passed }: Plan): boolean {
  const passesOne = undo.some(
    ({ step, class: found }) => step !== "delete" && found === "pointOfNoReturn",
  );
  return passesOne || passed.length > 0;
}

/** "3 to create, 1 to update in place"; empty where nothing is counted. Pure. */
export function countsText(counts: ChangeCounts): string {
  const parts = [
    [counts.create, "to create"],
    [counts.update, "to update in place"],
    [counts.delete, "to delete"],
  ] as const;
  return parts
    .filter(([number]) => number > 0)
    .map(([number, what]) => `${number} ${what}`)
    .join(", ");
}
