import assert from "node:assert/strict";
import pc from "picocolors";
import { visible, visiblePainted } from "../../src/api/visible.js";

/** Sequences by what they would do. */
const steering = {
  "hides the rest": "\u001b[8mhidden",
  "erases the line": "\u001b[2K\r",
  "moves up": "\u001b[1A",
  "sets the title": "\u001b]0;title\u0007",
  "begins a sequence in one character": "\u009b2J",
  "turns the direction": "\u202egpj.exe",
  "isolates a direction": "\u2066admin\u2069",
  "marks a direction": "\u200f\u061c",
  "breaks a line": "a\u2028b\u2029c",
  "goes back": "abc\b\b\bxyz",
  "has no width": "pay\u200bpal \u2060\ufeff",
  "joins what needs no joiner": "a\u200db \u200c",
  "is a soft hyphen": "pass\u00adword",
  "is a filler": "a\u3164b\u115f\uffa0\u034f",
  "writes in tags": "ok\u{e0049}\u{e0020}\u{e007f}",
  "selects variations": "a\ufe0f\u{e0100}",
};

const raw =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]|\u034f|\ufe0f|\u{e0100}/u;

describe("text of others that people read", () => {
  for (const [what, text] of Object.entries(steering)) {
    it(`${what} in no terminal, and is seen`, () => {
      for (const shown of [visible(text), visiblePainted(text)]) {
        assert.doesNotMatch(shown, raw);
        assert.match(shown, /\\u[0-9a-f]{4}/);
        assert.equal(JSON.parse(`"${shown}"`), text, "it says which characters they are");
      }
    });
  }

  it("gives CI systems no command, at the beginning of any line", () => {
    const words =
      "no size\n::error::a\n \t::set-output name=x::1\n##vso[task.complete]\nx ##[error]y";
    const lines = visible(words).split("\n");
    assert.deepEqual(lines, [
      "no size",
      "\\u003a:error::a",
      " \t\\u003a:set-output name=x::1",
      "\\u0023#vso[task.complete]",
      "x \\u0023#[error]y",
    ]);
  });

  it("stays as it is where it steers nothing", () => {
    const text =
      "urn:pulumi:a::b::c\n\t## Plan [1]\nnaïve 計画 👩‍🚀 ✔\ufe0f می\u200cخواهم क्\u200dष · …\n";
    assert.equal(visible(text), text);
    assert.equal(visiblePainted(text), text);
  });

  it("stays the same JSON", () => {
    const value = { "\u202ename": ["\u009b2J", "::error::", "##[group]", "\u2028", "\u001b[8m"] };
    const text = visible(JSON.stringify(value));
    assert.doesNotMatch(text, raw);
    assert.deepEqual(JSON.parse(text), value);
  });

  it("keeps our colours where it was painted, and no others' sequences", () => {
    const { red, bold, dim, yellow } = pc.createColors(true);
    const painted = `${red("error")}: ${bold(dim("a"))} ${yellow("b")}`;
    assert.equal(visiblePainted(painted), painted);
    assert.equal(
      visiblePainted(`${red("x\u001b[8my")}\u001b[31;8m`),
      `${red("x\\u001b[8my")}\\u001b[31;8m`,
    );
  });
});
