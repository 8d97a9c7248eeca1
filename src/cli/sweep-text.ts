import type { LeftoverLook } from "../engine/leftovers.js";
import type { LeftOver } from "../engine/removal.js";
import type { SweepItem, SweepShare } from "../sweep/decide.js";
import { durationText } from "./describe-text.js";
import { fit } from "./fit.js";
import { table } from "./table.js";
import type { Terminal } from "./terminal.js";

/** What a sweep found, as people read it. */
export interface SweepReport {
  readonly look: LeftoverLook;
  readonly share: SweepShare;
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
  const doomed = look.items.filter(({ kind }) => kind === "sweep");
  const notes = [...leftAlone(look.items), ...notLookedAt(look)];
  const lines = (all: readonly string[]) => all.map((line) => `${fit(line, columns)}\n`).join("");
  return [
    doomed.length === 0 ? "" : `${colors.red(doomedTable(doomed, report.nowMs, columns))}\n`,
    notes.length === 0 ? "" : `${colors.yellow(lines(notes))}\n`,
    lines([sumText(report)]),
  ].join("");
}

function doomedTable(doomed: readonly SweepItem[], nowMs: number, columns: number): string {
  const rows = doomed.map(({ resource: { who, id, createdAtMs }, reason }) => [
    who.cluster,
    `${who.kind} ${who.name}`,
    id,
    createdAtMs === undefined ? "unknown" : durationText(nowMs - createdAtMs),
    reason,
  ]);
  return table(["CLUSTER", "RESOURCE", "ID", "AGE", "WHY"], rows, columns);
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
  return [...counts].map(([what, count]) => `Left alone: ${resources(count)} ${what}`);
}

function notLookedAt({ notListed, unreadable }: LeftoverLook): string[] {
  return [
    ...unreadable.map(({ stack, reason }) => `Stack ${stack}: ${reason}`),
    ...notListed.map(({ provider, kind, reason }) =>
      kind === "failed"
        ? `Provider ${provider} did not answer: ${reason}`
        : `Provider ${provider} cannot be swept: ${reason}`,
    ),
  ];
}

function sumText({ share: { doomed, owned }, look }: SweepReport): string {
  if (doomed > 0)
    return `To sweep: ${doomed} of ${resources(owned)} that this backend's clusters own`;
  const nothing = `Nothing to sweep among ${resources(owned)} that this backend's clusters own`;
  return isComplete(look) ? nothing : `${nothing}, but not everything could be looked at`;
}

/** A provider that can never be looked at does not count: it is told each time. */
export function isComplete({ unreadable, notListed }: LeftoverLook): boolean {
  return unreadable.length === 0 && notListed.every(({ kind }) => kind === "unable");
}

/** What a sweep that would delete too much is refused with. */
export function frozenText({ share: { doomed, owned }, maxSharePercent }: SweepReport): string {
  return `${doomed} of ${resources(owned)} is more than ${maxSharePercent} %, and a lost state looks exactly like that`;
}

/** What could not be deleted, each with what stood in the way. */
export function leftOverText(left: readonly LeftOver[]): string {
  return left
    .map(({ item: { resource }, reason }) => {
      const { who, id } = resource;
      return `  left: ${who.kind} ${who.name} (${id}): ${reason}\n`;
    })
    .join("");
}

function resources(count: number): string {
  return count === 1 ? "1 resource" : `${count} resources`;
}
