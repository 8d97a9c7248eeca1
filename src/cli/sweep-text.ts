import { counted } from "../api/counted.js";
import type { LeftoverReport } from "../engine/sweep/leftovers.js";
import type { LeftOver } from "../engine/sweep/removal.js";
import { type SweepItem, sweepName } from "../sweep/decide.js";
import type { DeletionShare } from "../sweep/limits.js";
import { leftoverName, makerText } from "../provider/leftovers.js";
import { fit, leastRoom, rowLines, wrap } from "./fit.js";
import { aligned } from "./table.js";
import type { Terminal } from "./terminal.js";
import { durationText } from "./time-text.js";

/** What a sweep found, as people read it. */
export interface SweepReport {
  readonly look: LeftoverReport;
  readonly share: DeletionShare;
  readonly maxSharePercent: number;
  readonly frozen: boolean;
  readonly nowMs: number;
}

/** What would go, what is left alone and why, and the sum; ends with a line end. */
export function sweepText(
  report: SweepReport,
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const { look } = report;
  const toDelete = look.items.filter(({ kind }) => kind === "sweep");
  const notes = [
    ...leftAlone(look.items),
    ...madeByControllers(look.byControllers),
    ...notLookedAt(look),
  ];
  const blocks = [
    ...[...groupsOf(toDelete)].map(([head, items]) => [
      ...folded(head, columns),
      "",
      ...toDeleteRows(items, report.nowMs, columns).map((line) => colors.red(line)),
    ]),
    notes.flatMap((note) => folded(note, columns)).map((line) => colors.yellow(line)),
    folded(sumText(report), columns),
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join("\n")}\n`)
    .join("\n");
}

/** By life of a cluster: what they have in common goes above them. */
function groupsOf(toDelete: readonly SweepItem[]): Map<string, SweepItem[]> {
  const groups = new Map<string, SweepItem[]>();
  for (const item of toDelete) {
    const { cluster, clusterUid } = item.resource.who;
    const head = `Cluster ${cluster} (${clusterUid}): ${item.reason}`;
    groups.set(head, [...(groups.get(head) ?? []), item]);
  }
  return groups;
}

function toDeleteRows(items: readonly SweepItem[], nowMs: number, columns: number): string[] {
  const heads = aligned(items.map((item) => [`  - ${sweepName(item)}`]));
  return items.flatMap(({ resource: { id, createdAtMs } }, index) => {
    const age =
      createdAtMs === undefined ? "age unknown" : `${durationText(nowMs - createdAtMs)} old`;
    const head = heads[index] ?? "";
    return rowLines({ branch: "    ", head, detail: `${id}   ${age}` }, columns);
  });
}

/** A sentence in lines that fit, those after the first further in. */
function folded(text: string, columns: number): string[] {
  if (columns < leastRoom) return [fit(text, columns)];
  return wrap(text, columns - 2).map((line, index) => (index === 0 ? line : `  ${line}`));
}

/** One line for each cluster and reason; somebody else's are counted and not told apart. */
function leftAlone(items: readonly SweepItem[]): string[] {
  const counts = new Map<string, number>();
  for (const { kind, resource, reason } of items) {
    if (kind === "sweep" || kind === "wanted") continue;
    const what =
      kind === "foreign"
        ? "of clusters that are not of this backend"
        : `of ${resource.who.cluster}: ${reason}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, count]) => `Left alone: ${counted(count, "resource")} ${what}`);
}

/** Nothing but tags says whose it was, so people decide. */
function madeByControllers(found: LeftoverReport["byControllers"]): string[] {
  return found.map(({ cluster, leftover }) => {
    const doubt = leftover.doubt === undefined ? "" : `; ${leftover.doubt}`;
    return `Left of ${cluster}, which is gone, and not swept: ${leftoverName(leftover)}, ${makerText(leftover)}${doubt}`;
  });
}

function notLookedAt({ notListed, unreadable }: LeftoverReport): string[] {
  return [
    ...unreadable.map(({ stack, reason }) => `Stack ${stack}: ${reason}`),
    ...notListed.map(({ provider, kind, reason }) =>
      kind === "failed"
        ? `Provider ${provider} did not answer: ${reason}`
        : `Provider ${provider} cannot be swept: ${reason}`,
    ),
  ];
}

function sumText({ share: { toDelete, owned }, look }: SweepReport): string {
  if (toDelete > 0)
    return `To sweep: ${toDelete} of ${counted(owned, "resource")} that this backend's clusters own`;
  const nothing = `Nothing to sweep among ${counted(owned, "resource")} that this backend's clusters own`;
  return isComplete(look) ? nothing : `${nothing}, but not everything could be looked at`;
}

/** A provider that can never be looked at does not count: it is told each time. */
export function isComplete({ unreadable, notListed }: LeftoverReport): boolean {
  return unreadable.length === 0 && notListed.every(({ kind }) => kind === "unable");
}

/** How a person consents to the deletion of lost clusters and of data; empty where neither was found. Ends with a line end. */
export function consentText(waits: readonly SweepItem[]): string {
  const lost = new Set(
    waits.filter(({ kind }) => kind === "lost").map(({ resource }) => resource.who.cluster),
  );
  const lines = [...lost].map(
    (cluster) =>
      `Cluster ${cluster} may run: bring its stack back, take it over with capstan up --adopt, or see what capstan sweep --lost-cluster ${cluster} would delete`,
  );
  if (waits.some(({ kind }) => kind === "kept"))
    lines.push("Volumes that may be kept: see what capstan sweep --kept-data would delete");
  return lines.map((line) => `${line}\n`).join("");
}

/** What a sweep that would delete too much is refused with. */
export function frozenText({ share: { toDelete, owned }, maxSharePercent }: SweepReport): string {
  return `${toDelete} of ${counted(owned, "resource")} is more than ${maxSharePercent} %, and a damaged state looks exactly like that`;
}

/** How a sweep ended: numbers, and what could not be deleted with what stood in the way. */
export function sweptText(deleted: number, left: readonly LeftOver[], columns: number): string {
  const lines = left.flatMap(({ item, reason }) =>
    folded(`left: ${sweepName(item)} (${item.resource.id}): ${reason}`, columns),
  );
  const end = left.length === 0 ? [] : [...lines, "The same command goes on with what is left."];
  return `\n${[`Swept: ${counted(deleted, "resource")} deleted, ${left.length} left`, ...end].join("\n")}\n`;
}
