import assert from "node:assert/strict";
import { terminalErrorOf } from "../../src/controller/terminal-error.js";
import { CapstanError, type ErrorCode, errorCodes } from "../../src/api/error.js";

const terminal: Partial<Record<ErrorCode, string>> = {
  INVALID_INPUT: "InvalidConfiguration",
  NOT_OWNER: "InvalidConfiguration",
  PROTECTED: "InvalidConfiguration",
  UNSUPPORTED_CHANGE: "UnsupportedChange",
  NOT_REVERSIBLE: "UnsupportedChange",
  AMBIGUOUS_OWNER: "CreateError",
  PERMISSION: "PermissionDenied",
  BAD_STATE: "UpdateError",
  SCHEMA_NEWER: "UpdateError",
  WRONG_CLOUD: "UpdateError",
};

describe("troubleOf", () => {
  for (const code of Object.keys(errorCodes) as ErrorCode[]) {
    const want = terminal[code];
    it(`${want === undefined ? "expects to heal" : `calls ${want}`}: ${code}`, () => {
      const error = new CapstanError({ code, source: "user", message: "cannot", hint: "do that" });
      assert.deepEqual(
        terminalErrorOf(error),
        want === undefined ? undefined : { reason: want, message: "cannot; do that" },
      );
    });
  }

  for (const code of Object.keys(terminal) as ErrorCode[]) {
    it(`expects to heal what may pass, whatever its code: ${code}`, () => {
      const details = { code, source: "engine", message: "no answer", retryable: true } as const;
      assert.equal(terminalErrorOf(new CapstanError(details)), undefined);
    });
  }
});
