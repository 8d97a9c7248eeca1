import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { programOf } from "../support/mutant.js";
import { attempt, type Result } from "./attempt.js";
import { type Boundary, boundaryText } from "./boundary.js";
import { ChaosStage, record } from "./campaign.js";
import type { ChaosFault } from "./chaos-fault.js";
import { makeMutant, type MutantName } from "./mutants.js";
import type { OperationName } from "./operation.js";
import type { NextCommand } from "./recovery.js";
import { hasPassed, resultLine } from "./report.js";
import { verdictProblems } from "./verdict.js";
import { removeFolder } from "../support/folders.js";

/** One aimed kill, and what chaos has to say about it. */
type Case = readonly [
  mutant: MutantName,
  scenario: string,
  killed: readonly [OperationName, ChaosFault],
  boundary: Boundary,
  next: NextCommand,
  want: RegExp,
];

const at = (side: Boundary["side"], what: string, name: string): Boundary => ({
  side,
  kind: "call",
  what,
  name,
  nth: 1,
});
const after = (what: string, name: string) => at("after", what, name);
const before = (what: string, name: string) => at("before", what, name);
const lagging = join(repository, "test", "chaos", "scenarios", "lagging");
const quickstart = join(repository, "examples", "quickstart");
const member = "cp-0-7ca2dcf0-1";
const worker = "workers-af5f5222-1-a830c4ef-1";
const third = "workers-af5f5222-2-a830c4ef-1";
const larger = "workers-1fe2a051-0-cf8ecad1-1";

// prettier-ignore
const cases: readonly Case[] = [
  ["tokenPerAttempt", lagging, ["create", "tree"], after("create", "network"), "same", /duplicates: \S+ LocalNetwork network/],
  ["noSearchAfterCrash", quickstart, ["scale", "tree"], after("create", third), "old", /orphans: workers-/],
  ["noEndOfEngine", quickstart, ["create", "frozen"], after("create", "api"), "same", /stuck: create exits with 5/],
  ["silentPlan", quickstart, ["replace", "tree"], after("create", larger), "same", /laws: "replace" terminates workers-af5f5222-/],
  ["backToNothing", quickstart, ["scale", "tree"], after("create", third), "rollback", /laws: "rollback" takes back and loses workers-/],
  ["backToNothing", quickstart, ["destroy", "tree"], after("terminate", worker), "rollback", /laws: "rollback" takes back and loses /],
  ["adoptionTakenForCreation", quickstart, ["adopt", "tree"], after("list", "api"), "rollback", /laws: "rollback" takes back and loses /],
  ["forgottenRollback", quickstart, ["rollback", "tree"], after("update", worker), "same", /unwanted: workers: 3 hosts, wanted 2/],
  ["noUndoLine", quickstart, ["upgrade", "tree"], after("update", member), "rollback", /stuck: rollback exits with .* has to refuse with 65/],
  ["noLockRelease", quickstart, ["scale", "tree"], after("create", third), "same", /stuck: scale exits with 5/],
  ["everybodysDestroy", quickstart, ["scale", "tree"], after("create", third), "destroy", /laws: terminate of neighbour\/quickstart /],
  ["forgetCarriesAllOut", quickstart, ["scale", "tree"], before("create", third), "forgetAmiss", /laws: "state forget \S+ after recordedDrift of \S+" did terminate /],
  ["forgetCommitsTooSoon", quickstart, ["scale", "tree"], after("create", third), "forgetAmiss", /stuck: up after .* after lostRecord of \S+: host \S+ ran before and is gone/],
  ["releaseDeletes", quickstart, ["scale", "tree"], after("create", third), "forget", /laws: "state forget \S+" did terminate /],
];

const shared = (name: string) => join(repository, "test", "chaos", "scenarios", name);

/** What is seen without any kill, in the ledger alone: in the end all is as it should be. */
const undisturbed: readonly (readonly [MutantName, string, OperationName, RegExp])[] = [
  [
    "everybodysName",
    quickstart,
    "shrink",
    /terminate of default\/quickstart workers-\S+, another's/,
  ],
  ["greedySurge", shared("rollouts"), "roll", /6 hosts of web, at most 5/],
  ["allMembersAtOnce", shared("rollouts"), "members", /hosts of the control plane, at most 4/],
  ["noneHasToServe", shared("rollouts"), "roll", /of web serve, at least 3 have to/],
  ["nobodyWaits", shared("booting"), "roll", /fewer machines? serves? than its plan has promised/],
];

describe("chaos against a command line without one protection", () => {
  /** The aimed kill, of a mutant or of the real one. */
  const aim = async (one: Case, installation: string): Promise<Result> => {
    const [, scenario, [name, fault], boundary, recovery] = one;
    const stage = new ChaosStage(scenario, () => ({ program: programOf(installation) }));
    try {
      const operation = stage.operations[name];
      const job = { aim: { operation, boundary, fault }, ways: [recovery] };
      const results = await attempt(await stage.sceneOf(operation, job.ways), job);
      assert.equal(results.length, 1);
      return results[0]!;
    } finally {
      await stage.close();
    }
  };

  for (const one of cases) {
    const [mutant, , [operation], boundary, , want] = one;
    it(`fails and names the boundary: ${mutant}, ${operation}`, async () => {
      const folder = makeMutant(mutant);
      try {
        const result = await aim(one, folder);
        assert.equal(hasPassed(result), false);
        assert.ok(resultLine(result).includes(boundaryText(boundary)));
        assert.match(verdictProblems(result.verdict).join("\n"), want);
      } finally {
        removeFolder(folder);
      }
    });
  }

  for (const [mutant, scenario, name, want] of undisturbed) {
    it(`fails without a kill: ${mutant}, ${name}`, async () => {
      const folder = makeMutant(mutant);
      const stage = new ChaosStage(scenario, () => ({ program: programOf(folder) }));
      try {
        const { problems } = await record(stage, stage.operations[name]);
        assert.match(problems.join("\n"), want);
      } finally {
        await stage.close();
        removeFolder(folder);
      }
    });
  }
});
