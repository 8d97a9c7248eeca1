import type { ChangeLine } from "../plan/changes/tree.js";

/** One line of the tree, or machines of one set that are all changed alike. Never empty. */
export type Entry =
  | { readonly kind: "single"; readonly line: ChangeLine }
  | { readonly kind: "alike"; readonly lines: readonly ChangeLine[] };

/** Fewer than these are shown one by one. */
const leastAlike = 4;

/**
 * Lines with those that say the same of a machine put together, in the order in which the first of
 * each kind comes: a thousand machines that are created are one entry. No line is lost. Pure.
 */
export function groupAlike(lines: readonly ChangeLine[]): Entry[] {
  const groups = new Map<string, ChangeLine[]>();
  for (const line of lines) {
    const key = alikeKey(line);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [line]);
    else group.push(line);
  }
  return [...groups.values()].flatMap((group): Entry[] =>
    group.length < leastAlike
      ? group.map((line) => ({ kind: "single", line }))
      : [{ kind: "alike", lines: group }],
  );
}

/** What has to be the same; other things than machines stay by themselves. */
function alikeKey(line: ChangeLine): string {
  const { label, kind, described, key = "" } = line;
  if (!isMachineLine(line)) return `${key} ${label}`;
  return JSON.stringify([kind, described]);
}

const machinePrefix = "Machine ";

export function isMachineLine({ label }: ChangeLine): boolean {
  return label.startsWith(machinePrefix);
}

/** The name of a machine, without its kind. */
export function machineName({ label }: ChangeLine): string {
  return label.slice(machinePrefix.length);
}

/** "Machines web-0 … web-999 (1,000)" of an entry of several, the label of a single one. */
export function entryLabel(entry: Entry): string {
  return entry.kind === "single" ? entry.line.label : `Machines ${alikeNames(entry.lines)}`;
}

/** "web-0 … web-999 (1,000)". */
export function alikeNames(lines: readonly ChangeLine[]): string {
  return `${rangesText(nameRanges(lines.map(machineName)))} (${withThousands(lines.length)})`;
}

/** What all lines of an entry say; whose place each takes is left to the single lines. */
export function entryDetail(entry: Entry): string {
  if (entry.kind === "single") return entry.line.detail;
  const { described } = firstLine(entry);
  const replaced = entry.lines.some(({ supersedes }) => supersedes !== undefined);
  return replaced
    ? ["each of an older one", described].filter((part) => part !== "").join(": ")
    : described;
}

export function firstLine(entry: Entry): ChangeLine {
  const [line] = entry.kind === "single" ? [entry.line] : entry.lines;
  if (line === undefined) throw new Error("an entry has at least one line");
  return line;
}

/** Names that differ in a number at the end only, and follow each other. */
interface NameRange {
  readonly first: string;
  readonly last: string;
  readonly size: number;
}

/** Runs of names such as web-0, web-1, web-2, in the order given. Pure. */
export function nameRanges(names: readonly string[]): NameRange[] {
  const ranges: NameRange[] = [];
  for (const name of names) {
    const range = ranges.at(-1);
    if (range !== undefined && isNext(range.last, name)) {
      ranges[ranges.length - 1] = { ...range, last: name, size: range.size + 1 };
    } else {
      ranges.push({ first: name, last: name, size: 1 });
    }
  }
  return ranges;
}

/** More than these are counted only. */
const mostRanges = 6;

/** "web-0 … web-9, web-12 and 3 more", where what is more is counted in names. Pure. */
export function rangesText(ranges: readonly NameRange[]): string {
  const shown = ranges.slice(0, mostRanges).map(({ first, last, size }) => {
    if (size === 1) return first;
    return size === 2 ? `${first}, ${last}` : `${first} … ${last}`;
  });
  const more = ranges.slice(mostRanges).reduce((total, { size }) => total + size, 0);
  return `${shown.join(", ")}${more === 0 ? "" : ` and ${withThousands(more)} more`}`;
}

/** "12,345". Pure, and the same whatever the machine's locale. */
export function withThousands(number: number): string {
  return number.toLocaleString("en-US");
}

function isNext(last: string, name: string): boolean {
  const [before, after] = [numbered(last), numbered(name)];
  return before !== undefined && after?.stem === before.stem && after.number === before.number + 1;
}

/** Numbers with a leading zero are spelled otherwise than they would be counted. */
function numbered(name: string): { stem: string; number: number } | undefined {
  const [, stem = "", digits = ""] = /^(|.*\D)(0|[1-9]\d{0,8})$/s.exec(name) ?? [];
  return digits === "" ? undefined : { stem, number: Number(digits) };
}
