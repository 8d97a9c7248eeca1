import assert from "node:assert/strict";
import { join } from "node:path";
import { addTwin, clearFaults } from "../scenario/cloud-faults.js";
import { repository, type Sandbox } from "../scenario/sandbox.js";
import { programOf } from "../support/mutant.js";
import { type Boundary, startUpTo } from "./boundary.js";
import { ChaosStage } from "./campaign.js";
import { killAt } from "./chaos-fault.js";
import { makeMutant } from "./mutants.js";
import { startRollback, startUp } from "./operation.js";
import { placeOf } from "./place.js";
import { judgeAt } from "./recovery.js";
import { LocalScene } from "./local-scene.js";
import { exitCodeOf } from "./scene.js";
import { verdictProblems } from "./verdict.js";
import { removeFolder } from "../support/folders.js";

/** How a rollback ends, what is wrong then, and the same of the command that comes after it. */
interface RolledBack {
  readonly code: number | null | undefined;
  readonly said: string;
  /** One thing a line; empty: nothing. */
  readonly left: string;
  readonly next: { readonly code: number | null | undefined; readonly left: string };
}

const host = "workers-af5f5222-2-a830c4ef-1";

/**
 * The one thing that only a second look can see: the cloud carries out a create of the killed run
 * after the rollback has looked, and before it says that it is done.
 */
describe("a create that comes while a rollback is verified", () => {
  /** A rollback that meets it before the second of the listings that have to agree, and the command that comes after it. */
  const rollBack = async (installation: string): Promise<RolledBack> => {
    const stage = new ChaosStage(join(repository, "examples", "quickstart"), () => ({
      program: programOf(installation),
    }));
    const { stack } = stage;
    const operation = stage.operations.scale;
    const start = (sandbox: Sandbox) => startRollback(sandbox, stack);
    const sandbox = (await stage.baseline("first")).copy();
    const place = placeOf("previous", operation.previous);
    const problems = async () => {
      const { verdict } = await judgeAt(LocalScene.in(sandbox, stack), place);
      return verdictProblems(verdict).join("\n");
    };
    try {
      const create: Boundary = { side: "before", kind: "call", what: "create", name: host, nth: 1 };
      await killAt(sandbox, operation, create, "tree");
      // After the two that have to agree, one more decides that all is done.
      const nth = (await listingsOf(sandbox.copy(), start)) - 1;
      const last: Boundary = { side: "before", kind: "call", what: "list", name: null, nth };
      const command = await startUpTo(sandbox, last, () => start(sandbox), { how: "late" });
      const like = { cluster: stack.replace(".", "/"), name: "workers-af5f5222-0-a830c4ef-1" };
      addTwin(sandbox.cloudFile, like, host);
      clearFaults(sandbox.cloudFile);
      const code = await exitCodeOf(command);
      const left = await problems();
      const next = startUp(sandbox, stage.targets.first);
      const nextCode = await exitCodeOf(next);
      return { code, said: command.said, left, next: { code: nextCode, left: await problems() } };
    } finally {
      await sandbox.close();
      await stage.close();
    }
  };

  /** How often an undisturbed rollback lists the whole cluster. */
  const listingsOf = async (
    sandbox: Sandbox,
    start: (sandbox: Sandbox) => ReturnType<typeof startRollback>,
  ): Promise<number> => {
    try {
      const begin = sandbox.ledgerEnd();
      const command = start(sandbox);
      assert.equal(await exitCodeOf(command), 0, command.said);
      const listings = ({ call, name }: { call: string; name: string | null }) =>
        call === "list" && name === null;
      return sandbox.ledger(begin).filter(listings).length;
    } finally {
      await sandbox.close();
    }
  };

  it("is taken back as well, or named and taken back by the next command", async () => {
    const { code, said, left, next } = await rollBack(repository);
    if (code === 0) assert.equal(left, "");
    else {
      assert.equal(code, 3, said);
      assert.match(said, new RegExp(host));
    }
    assert.deepEqual(next, { code: 0, left: "" });
  });

  it("is an orphan where nothing is verified", async () => {
    const folder = makeMutant("noVerification");
    try {
      const { code, left } = await rollBack(folder);
      assert.equal(code, 0);
      assert.match(left, new RegExp(`orphans: ${host}`));
    } finally {
      removeFolder(folder);
    }
  });

  it("is left for good where it is only told of", async () => {
    const folder = makeMutant("toldOnly");
    try {
      const { next } = await rollBack(folder);
      assert.match(next.left, new RegExp(`orphans: ${host}`));
    } finally {
      removeFolder(folder);
    }
  });
});
