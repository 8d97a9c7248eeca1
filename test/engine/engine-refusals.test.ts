import assert from "node:assert/strict";
import { engineFailed } from "../../src/engine/pulumi/engine-refusals.js";

describe("an engine run that has failed", () => {
  const saving =
    "error: failed to save snapshot: An IO error occurred while writing the new snapshot file: rename a.json.tmp a.json";
  const cases = [
    {
      name: "of a disk that fails",
      stderr: `${saving}: input/output error`,
      hint: /look at the disk/,
    },
    {
      name: "of a file system that is read-only",
      stderr: `${saving}: read-only file system`,
      hint: /writable/,
    },
    {
      name: "of a full disk",
      stderr: `${saving}: no space left on device`,
      hint: /free some room/,
    },
    { name: "of something else", stderr: "error: no permission denied here", hint: /^$/ },
  ];
  for (const { name, stderr, hint } of cases) {
    it(`${name} says so`, () => {
      const error = engineFailed("cannot apply default.demo", { code: 255, stdout: "", stderr });
      assert.match(error.hint ?? "", hint);
      assert.equal(error.code, "ENGINE_FAILED");
      assert.match(error.message, /^cannot apply default\.demo: /);
    });
  }

  it("of several things names each of them", () => {
    const stderr =
      "Diagnostics:\n  pulumi:pulumi:Stack:\n    error: 2 errors occurred:\n    \t* no plugin\n    \t* no state\n\n\nResources:\n";
    const { message } = engineFailed("cannot apply", { code: 255, stdout: "", stderr });
    assert.equal(message, "cannot apply: no plugin; no state");
  });
});
