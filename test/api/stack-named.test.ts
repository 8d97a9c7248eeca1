import assert from "node:assert/strict";
import { stackNamed, stackNameOf } from "../../src/api/types.js";
import { failsWith } from "../support/errors.js";

/** Namespace and name have more characters together than a stack. */
const long = "n".repeat(63);

describe("the name of a stack, as somebody writes it", () => {
  for (const [word, name] of [
    ["default/prod", "default.prod"],
    ["default.prod", "default.prod"],
    ["my_stack-2", "my_stack-2"],
    [`${long}/${long}`, stackNameOf({ metadata: { namespace: long, name: long } })],
    [`${long}.${long}`, stackNameOf({ metadata: { namespace: long, name: long } })],
  ] as const) {
    it(`is read: ${word}`, () => assert.equal(stackNamed(word), name));
  }

  // It becomes a part of paths and of keys in a backend.
  for (const word of ["X/../../stacks/capstan", "..", "../prod", "a/b/c", "", "a b", "*", "a\\b"]) {
    it(`is refused: ${JSON.stringify(word)}`, () =>
      assert.throws(() => stackNamed(word), failsWith("BAD_USAGE", /is no name of a stack/)));
  }
});
