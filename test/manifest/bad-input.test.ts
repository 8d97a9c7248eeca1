import assert from "node:assert/strict";
import { BadInput } from "../../src/manifest/bad-input.js";
import type { Diagnostic } from "../../src/manifest/diagnostic.js";

function diagnostic(line: number, severity: Diagnostic["severity"]): Diagnostic {
  const position = { file: "a.yaml", line, column: 1 };
  return { code: "YAML", severity, position, summary: `problem ${line}` };
}

describe("manifests with many problems", () => {
  it("are told with the first errors, and how much more there is", () => {
    const warnings = Array.from({ length: 25 }, (_, at) => diagnostic(at + 1, "warning"));
    const errors = Array.from({ length: 51 }, (_, at) => diagnostic(at + 100, "error"));
    const error = new BadInput([...errors, ...warnings]);
    const lines = error.message.split("\n");
    assert.equal(lines.length, 32);
    assert.equal(lines[0], "a.yaml:100:1: error: problem 100");
    assert.deepEqual(lines.slice(-2), [
      "... and 46 more; --json has all of them",
      "51 errors; nothing was touched",
    ]);
    assert.equal(error.diagnostics.length, 76);
  });

  it("are told in full where they are few", () => {
    const { message } = new BadInput([diagnostic(2, "error"), diagnostic(1, "warning")]);
    assert.deepEqual(message.split("\n"), [
      "a.yaml:1:1: warning: problem 1",
      "a.yaml:2:1: error: problem 2",
      "1 error; nothing was touched",
    ]);
  });
});
