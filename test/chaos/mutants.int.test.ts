import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { attempt, type Result } from "./attempt.js";
import type { Boundary } from "./boundary.js";
import { Stage } from "./campaign.js";
import type { Disturbance } from "./disturbance.js";
import { makeMutant, type MutantName } from "./mutants.js";
import type { OperationName } from "./operation.js";
import type { Recovery } from "./recovery.js";
import { hasPassed, resultLine } from "./report.js";
import { verdictProblems } from "./verdict.js";

interface Case {
  readonly mutant: MutantName;
  readonly scenario: string;
  readonly operation: OperationName;
  readonly boundary: Boundary;
  readonly disturbance: Disturbance;
  readonly recovery: Recovery;
  /** What chaos has to say about it. */
  readonly want: RegExp;
}

const call = (side: Boundary["side"], what: string, name: string): Boundary => ({
  ...{ side, kind: "call", what, name, nth: 1 },
});
const scenarios = join(repository, "test", "chaos", "scenarios");

const cases: readonly Case[] = [
  {
    mutant: "tokenPerAttempt",
    scenario: join(scenarios, "lagging"),
    operation: "create",
    boundary: call("after", "create", "network"),
    disturbance: "tree",
    recovery: "same",
    want: /duplicates: \S+ LocalNetwork network/,
  },
  {
    mutant: "noSearchAfterCrash",
    scenario: join(repository, "examples", "quickstart"),
    operation: "scale",
    boundary: call("after", "create", "workers-af5f5222-2-a830c4ef-1"),
    disturbance: "tree",
    recovery: "old",
    want: /orphans: workers-/,
  },
  {
    mutant: "noEndOfEngine",
    scenario: join(repository, "examples", "quickstart"),
    operation: "create",
    boundary: call("after", "create", "api"),
    disturbance: "frozen",
    recovery: "same",
    want: /stuck: same exits with 5/,
  },
];

describe("chaos against a command line without one protection", function () {
  this.timeout(120_000);

  /** One aimed kill of a mutant, or of the real one. */
  const aim = async (one: Case, installation: string): Promise<Result> => {
    const stage = new Stage(one.scenario, () => ({ installation }));
    try {
      const operation = stage.operations[one.operation];
      const { boundary, disturbance, recovery } = one;
      const baseline = await stage.baseline(operation.baseline);
      const job = { aim: { operation, boundary, disturbance }, ways: [recovery] };
      const results = await attempt(baseline, stage.stack, job);
      assert.equal(results.length, 1);
      return results[0] as Result;
    } finally {
      await stage.close();
    }
  };

  for (const one of cases) {
    it(`fails and names the boundary: ${one.mutant}`, async () => {
      const folder = makeMutant(one.mutant);
      try {
        const result = await aim(one, folder);
        assert.equal(hasPassed(result), false);
        assert.ok(
          resultLine(result).includes(`${one.boundary.what} ${one.boundary.name ?? ""} #1`),
        );
        assert.match(verdictProblems(result.verdict).join("\n"), one.want);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
