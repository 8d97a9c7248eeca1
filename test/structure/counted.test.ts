import assert from "node:assert/strict";
import { sourcesIn } from "./sources.js";

/** What messages count. */
const nouns = [
  "cluster",
  "error",
  "field",
  "host",
  "item",
  "line",
  "machine",
  "member",
  "note",
  "object",
  "resource",
  "step",
  "wave",
  "worker",
];

/** Always more than one, or a limit that nobody sets to one. */
const several = [
  // Only of several members.
  "point.members.length} members",
  "one.members.length} members",
  // Only of several objects, in their own places of the same sentence.
  "objects.length} objects",
  // A title of several clusters.
  "number} clusters",
  // No numbers.
  "kind} objects",
  // A group of several lines.
  "adjectives[kindOf(group)]} machines",
  "names.length)} hosts",
  "keys.length)} resources",
  "uids.length} clusters",
];

describe("numbers in messages", () => {
  it("are worded by `counted`, so that there is no '1 machines'", () => {
    const bare = new RegExp(`[\\w.()[\\]]+\\} (?:more |new )?(?:${nouns.join("|")})s\\b`, "g");
    const found = [...sourcesIn(["src", "providers"])].flatMap(([path, text]) =>
      [...text.matchAll(bare)]
        .map(([words]) => words)
        .filter((words) => !several.some((one) => words.endsWith(one)))
        .map((words) => `${path}: ${words}`),
    );
    assert.deepEqual(found, []);
  });
});
