import { messageOf } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { conformanceCases, type ConformanceOptions } from "./run.js";
import {
  ConformanceFailure,
  type ConformanceSubject,
  type KindFailure,
  type WithoutVerdict,
} from "./subject.js";

/** What came of one case. */
export interface CaseReport {
  readonly name: string;
  readonly outcome: "passed" | "failed" | WithoutVerdict;
  /** Of a failure: what the provider must do and what it did. Otherwise why it was not checked, or not of some kinds. */
  readonly message?: string;
  readonly durationMs: number;
}

/** What came of a run, as JSON has it too. */
export interface ConformanceReport {
  readonly schemaVersion: 1;
  readonly provider: string;
  readonly passed: number;
  readonly failed: number;
  /** What the world could not show. */
  readonly notChecked: number;
  /** What the provider does not have. */
  readonly notOffered: number;
  /** The failure that came first in time, which others may follow from. Absent where nothing failed. */
  readonly firstFailure?: { readonly name: string } & KindFailure;
  readonly cases: readonly CaseReport[];
}

/** Runs all cases, one after the other. Rejects only where the subject itself cannot be opened. */
export async function runConformance(
  subject: ConformanceSubject,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const world = await subject.open();
  const provider = world.provider.name;
  await world.close?.();
  const cases: CaseReport[] = [];
  let firstFailure: ConformanceReport["firstFailure"];
  for (const { name, run } of conformanceCases(subject, options)) {
    const beginMs = performance.now();
    const told = await run().then(
      (checked) =>
        checked.outcome === "passed"
          ? { outcome: checked.outcome, message: checked.exceptFor.join("; ") }
          : { outcome: checked.outcome, message: checked.reason },
      (error: unknown) => {
        const [first] = error instanceof ConformanceFailure ? error.failures : [];
        firstFailure ??= first && { name, ...first };
        return { outcome: "failed" as const, message: messageOf(error) };
      },
    );
    const durationMs = Math.round(performance.now() - beginMs);
    const { outcome, message } = told;
    cases.push(
      omitUndefined({ name, outcome, message: message === "" ? undefined : message, durationMs }),
    );
  }
  const count = (outcome: CaseReport["outcome"]) =>
    cases.filter((one) => one.outcome === outcome).length;
  return omitUndefined({
    schemaVersion: 1 as const,
    provider,
    passed: count("passed"),
    failed: count("failed"),
    notChecked: count("notChecked"),
    notOffered: count("notOffered"),
    firstFailure,
    cases,
  });
}

const words: Readonly<Record<CaseReport["outcome"], string>> = {
  passed: "passed",
  failed: "FAILED",
  notChecked: "not checked",
  notOffered: "not offered",
};

/** A line for each case, with what is to be said about it below, and the numbers last. */
export function reportText({
  provider,
  cases,
  firstFailure,
  ...numbers
}: ConformanceReport): string {
  const width = Math.max(...Object.values(words).map(({ length }) => length));
  const lines = cases.flatMap(({ name, outcome, message }) => {
    const about = outcome === "passed" ? `not checked: ${message ?? ""}` : (message ?? "");
    return [
      `${words[outcome].padEnd(width)}  ${name}`,
      ...(message === undefined
        ? []
        : about.split("\n").map((line) => `${" ".repeat(width + 4)}${line}`)),
    ];
  });
  const first =
    firstFailure === undefined
      ? []
      : [`the first failure: ${firstFailure.kind}, ${firstFailure.name}`];
  return [`conformance of ${provider}`, ...lines, ...first, numbersText(numbers), ""].join("\n");
}

/** A badge for a provider's README, in Markdown. */
export function badgeLine(report: ConformanceReport): string {
  const color = report.failed > 0 ? "red" : report.notChecked > 0 ? "yellowgreen" : "brightgreen";
  const message = encodeURIComponent(numbersText(report)).replaceAll("-", "--");
  const label = "capstan conformance";
  return `![${label}: ${numbersText(report)}](https://img.shields.io/badge/${encodeURIComponent(label)}-${message}-${color})`;
}

function numbersText({
  passed,
  failed,
  notChecked,
  notOffered,
}: Pick<ConformanceReport, "passed" | "failed" | "notChecked" | "notOffered">): string {
  const others = [
    ...(notChecked > 0 ? [`${notChecked} not checked`] : []),
    ...(notOffered > 0 ? [`${notOffered} not offered`] : []),
  ];
  return [`${passed} passed`, `${failed} failed`, ...others].join(", ");
}
