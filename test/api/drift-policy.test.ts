import assert from "node:assert/strict";
import {
  boundOf,
  isFingerprint,
  nearestDriftPolicy,
  parseBound,
  parseFreezeTime,
} from "../../src/api/drift-policy.js";

describe("a bound on machines", () => {
  const cases: readonly [text: string, total: number, want: number | undefined][] = [
    ["0", 10, 0],
    ["3", 2, 3],
    ["0%", 10, 0],
    ["40%", 10, 4],
    ["40%", 4, 1],
    ["25%", 3, 1],
    ["100%", 7, 7],
    ["101%", 7, undefined],
    ["-1", 7, undefined],
    ["1.5", 7, undefined],
    ["", 7, undefined],
    ["half", 7, undefined],
    ["1234567", 7, undefined],
  ];
  for (const [text, total, want] of cases) {
    it(`"${text}" of ${total}: ${want ?? "no bound"}`, () => {
      const bound = parseBound(text);
      assert.equal(bound && boundOf(bound, total), want);
    });
  }
});

describe("a time to stay frozen", () => {
  const cases: readonly [text: string, want: unknown][] = [
    ["never", { kind: "never" }],
    ["90s", { kind: "after", ms: 90_000 }],
    ["30m", { kind: "after", ms: 1_800_000 }],
    ["2h", { kind: "after", ms: 7_200_000 }],
    ["0s", { kind: "after", ms: 0 }],
    ["2d", undefined],
    ["30", undefined],
    ["", undefined],
  ];
  for (const [text, want] of cases) {
    it(`"${text}": ${JSON.stringify(want) ?? "none"}`, () => {
      assert.deepEqual(parseFreezeTime(text), want);
    });
  }
});

it("a fingerprint is what a report shows, and nothing else", () => {
  assert.ok(isFingerprint("6a03103fa273"));
  for (const text of ["6a03103fa27", "6A03103FA273", "6a03103fa2731", "true"]) {
    assert.equal(isFingerprint(text), false, text);
  }
});

it("of several drift policies the nearest counts, and correct without any that there is", () => {
  const asking = (value: string) => ({ "capstan.dev/drift-policy": value });
  assert.equal(nearestDriftPolicy([undefined, {}, asking("report"), asking("ignore")]), "report");
  assert.equal(nearestDriftPolicy([undefined, {}]), "correct");
  assert.equal(nearestDriftPolicy([asking("nonsense"), asking("ignore")]), "ignore");
  assert.equal(nearestDriftPolicy([asking("nonsense")]), "correct");
});
