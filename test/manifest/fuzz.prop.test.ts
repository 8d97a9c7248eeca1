import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { makeProviders } from "../../providers/index.js";
import { isCapstanError } from "../../src/api/error.js";
import { readDesired } from "../../src/manifest/desired.js";
import type { Desired } from "../../src/api/types.js";
import { systemClock } from "../../src/provider/clock.js";
import { firstPlan } from "../support/first-plan.js";
import { assertLaw, timesSeen } from "../support/laws.js";

const examples = join(fileURLToPath(import.meta.url), "..", "..", "..", "..", "examples");
const seeds = ["quickstart/cluster.yaml", "quickstart/workers.yaml", "broken/machine.yaml"].map(
  (file) => readFileSync(join(examples, file), "utf8"),
);
const providers = makeProviders("unused", systemClock).all;

/** Texts that hurt parsers and validators, to be put in anywhere. */
const nasty = [
  "",
  "null",
  "~",
  "[]",
  "{}",
  "[[[[",
  "}}",
  "- ",
  "? ",
  "&a",
  "*a",
  "<<: *a",
  "!!binary x",
  "|",
  ">",
  "\t",
  "\u0000",
  "\ufeff",
  "'",
  '"',
  "#",
  "---",
  "...",
  "%YAML 9.9",
  "1e400",
  "-0",
  ".nan",
  "0x10",
  "yes",
  "2001-01-01",
  "__proto__: {a: 1}",
  "constructor",
  "toString",
  "🐙",
  "a".repeat(5_000),
  "999999999999999999999",
];

/** One change to a text: cut, double, swap or overwrite lines, or put something nasty in. */
const mutation = fc.record({
  kind: fc.constantFrom("cut", "double", "swap", "insert", "replace", "indent" as const),
  at: fc.nat(60),
  other: fc.nat(60),
  column: fc.nat(40),
  text: fc.oneof(fc.constantFrom(...nasty), fc.string({ maxLength: 12 })),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(text: string, { kind, at, other, column, text: put }: Mutation): string {
  const lines = text.split("\n");
  const line = at % lines.length;
  const current = lines[line] ?? "";
  switch (kind) {
    case "cut":
      lines.splice(line, 1 + (other % 3));
      break;
    case "double":
      lines.splice(line, 0, current);
      break;
    case "swap":
      lines[line] = lines[other % lines.length] ?? "";
      lines[other % lines.length] = current;
      break;
    case "insert":
      lines[line] = current.slice(0, column) + put + current.slice(column);
      break;
    case "replace":
      lines[line] = current.replace(/:.*$/, () => `: ${put}`);
      break;
    case "indent":
      lines[line] = " ".repeat(column % 9) + current.trimStart();
      break;
  }
  return lines.join("\n");
}

describe("fuzzed manifests", () => {
  it("10,000 of them: never a crash, always positions, and what is accepted can be planned", () => {
    let accepted = 0;
    let refused = 0;
    assertLaw(
      fc.property(
        fc.array(fc.constantFrom(...seeds), { minLength: 1, maxLength: 2 }),
        fc.array(mutation, { maxLength: 5 }),
        (texts, mutations) => {
          const text = mutations.reduce(mutate, texts.join("\n---\n"));
          const { clusters, diagnostics } = readDesired([{ file: "fuzz.yaml", text }], providers);
          for (const { position, summary, severity } of diagnostics) {
            assert.ok((position.line ?? 0) >= 1 && (position.column ?? 0) >= 1, summary);
            assert.ok(summary.length > 0 && summary.length < 400, summary);
            assert.doesNotMatch(summary, /\n|at .*\.js:\d+|undefined|\[object/, severity);
          }
          if (diagnostics.some(({ severity }) => severity === "error")) refused += 1;
          else for (const desired of clusters) accepted += planned(desired);
        },
      ),
      10_000,
    );
    // The generator has to reach both sides, otherwise the law says nothing.
    const isBoth = accepted > timesSeen(300) && refused > timesSeen(3_000);
    assert.ok(isBoth, `${accepted} accepted, ${refused} refused`);
  }).timeout(180_000);
});

/** Plans a first creation; only errors of ours may come out. */
function planned(desired: Desired): number {
  const provider = providers[0];
  assert.ok(provider !== undefined);
  try {
    const plan = firstPlan(desired, provider);
    assert.ok(plan.target.nodes.length > 0);
  } catch (error) {
    assert.ok(isCapstanError(error), String(error));
  }
  return 1;
}
