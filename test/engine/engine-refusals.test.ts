import assert from "node:assert/strict";
import { engineFailed, metPassingLock } from "../../src/engine/pulumi/engine-refusals.js";

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

  it("of an error with its cause names both", () => {
    const stderr = "error: 2 errors occurred:\n    1) no such key\n    2) NotFound\n";
    const { message } = engineFailed("cannot apply", { code: 1, stdout: "", stderr });
    assert.equal(message, "cannot apply: no such key; NotFound");
  });
});

describe("a lock that goes between its listing and its reading", () => {
  const cases = [
    {
      name: "of files",
      stderr:
        "error: 2 errors occurred:\n    1) stat /b/.pulumi/locks/organization/p/s/1.json: no such file or directory\n    2) NotFound\n",
      want: true,
    },
    {
      name: "of PostgreSQL",
      stderr:
        "error: 2 errors occurred:\n    1) key not found: sql: no rows in result set\n    2) NotFound\n",
      want: true,
    },
    {
      name: "of PostgreSQL, before the listing has ended",
      stderr: "error: could not list bucket: blob (code=NotFound): sql: no rows in result set\n",
      want: true,
    },
    {
      name: "that is half written",
      stderr: "error: unexpected end of JSON input\n",
      want: true,
    },
    {
      name: "is not what two other errors are",
      stderr: "error: 2 errors occurred:\n    1) no plugin\n    2) no state\n",
      want: false,
    },
  ];
  for (const { name, stderr, want } of cases) {
    it(name, () => assert.equal(metPassingLock({ code: 1, stdout: "", stderr }), want));
  }
});
