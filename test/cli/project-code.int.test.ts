import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository, Sandbox } from "../scenario/sandbox.js";

const mark = "code of the project ran";
const quiet = ["__complete", "completion", "version", "--help"] as const;

describe("code of the project that a command is run in", () => {
  let sandbox: Sandbox;

  before(async () => {
    sandbox = await Sandbox.make({ machines: { "cp-0": { controlPlane: true } } });
    const throwing = join(sandbox.folder, "throwing.cjs");
    writeFileSync(throwing, `console.error(${JSON.stringify(mark)}); throw new Error("at once");`);
    const named = { capstan: { providers: ["./throwing.cjs"] } };
    writeFileSync(join(sandbox.folder, "package.json"), JSON.stringify(named));
  });
  after(() => sandbox.close());

  const saidBy = async (code: number, ...args: string[]): Promise<string> => {
    const { stdout, stderr } = await sandbox.capstan(code, ...args);
    return stdout + stderr;
  };

  it("is not run by who presses a key, or asks for the program itself", async () => {
    for (const words of [
      ["__complete", ""],
      ["__complete", "explain", "Machine.spec."],
      ["__complete", "history", "show", "1", ""],
      ["__complete", "--", "plan", "-f", ""],
      ["completion", "bash"],
      ["version"],
      ["--help"],
    ]) {
      assert.doesNotMatch(await saidBy(0, ...words), new RegExp(mark), words.join(" "));
    }
  });

  it("is told of once, before it runs, with --verbose, and not without", async () => {
    const validate = ["validate", "-f", sandbox.manifests];
    const loud = await saidBy(65, ...validate, "--verbose");
    const told = `verbose: runs code of the project: ./throwing.cjs, seen from ${sandbox.folder}\n`;
    assert.equal(loud.split(told).length, 2, loud);
    assert.ok(loud.indexOf(told) < loud.indexOf(mark), loud);
    const plain = await saidBy(65, ...validate);
    assert.ok(plain.includes(mark) && !plain.includes("verbose:"), plain);
  });

  it("is named by the docs with the verbs that run none", () => {
    const text = readFileSync(join(repository, "docs", "cli.md"), "utf8");
    const [, listed = ""] = /These verbs run none of it: ([^.]+)\./.exec(text) ?? [];
    for (const verb of quiet) assert.ok(listed.includes(`\`${verb}\``), verb);
  });
});
