import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { seededDigits } from "../../../../providers/sim/core/ids.js";
import { matchesPattern } from "../../../../providers/sim/core/patterns.js";
import { StateFile } from "../../../../providers/sim/core/state-file.js";
import { takeTokens, type TokenLevel } from "../../../../providers/sim/core/token-bucket.js";
import { VirtualClock } from "../../../../providers/sim/core/virtual-clock.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { scratchFolder } from "../../../support/scratch.js";

describe("the parts of a simulated cloud", () => {
  it("a token bucket takes what it holds, and gets it back with time", () => {
    const rate = { capacity: 2, perSecond: 1 };
    const levels = [0, 0, 0, 999, 1_000, 10_000, 10_000, 10_000];
    let level: TokenLevel | undefined;
    const taken = levels.map((atMs) => {
      const after = takeTokens(rate, level, atMs);
      level = after ?? level;
      return after !== undefined;
    });
    assert.deepEqual(taken, [true, true, false, false, true, true, true, false]);
  });

  it("a virtual clock runs faster by a factor, is moved on by hand, and never goes back", () => {
    const clock = new FakeClock(1_000, "manual");
    const virtual = new VirtualClock(clock, 10, 5_000);
    assert.equal(virtual.now(), 5_000);
    clock.advance(100);
    assert.equal(virtual.now(), 6_000);
    virtual.advance(500);
    assert.equal(virtual.now(), 6_500);
  });

  it("a virtual clock of speed 0 stands still, and who waits for it waits as by the clock", async () => {
    const clock = new FakeClock(1_000);
    const virtual = new VirtualClock(clock, 0);
    await virtual.sleep(300);
    assert.deepEqual([clock.slept, virtual.now()], [[300], 1_000]);
    virtual.advance(5);
    assert.equal(virtual.now(), 1_005);
  });

  it("ids are the same for the same seed, and different for each name", () => {
    assert.equal(seededDigits(1, "a", 17), seededDigits(1, "a", 17));
    assert.notEqual(seededDigits(1, "a", 17), seededDigits(2, "a", 17));
    assert.notEqual(seededDigits(1, "a", 17), seededDigits(1, "b", 17));
    assert.match(seededDigits(1, "a", 17), /^[0-9a-f]{17}$/);
  });

  const patterns: readonly (readonly [string, string, boolean])[] = [
    ["ec2:Describe*", "ec2:DescribeVpcs", true],
    ["ec2:Describe*", "ec2:RunInstances", false],
    ["a?c", "abc", true],
    ["a?c", "abbc", false],
    ["a.c", "abc", false],
    ["*", "a\nb", true],
  ];
  for (const [pattern, text, want] of patterns) {
    it(`"${pattern}" ${want ? "fits" : "does not fit"} ${JSON.stringify(text)}`, () =>
      assert.equal(matchesPattern(pattern, text), want));
  }

  describe("a state file", () => {
    const scratch = scratchFolder();
    it("holds what was written last, and nothing where there is none", () => {
      const file = new StateFile<{ n: number }>(join(scratch.path, "state.json"));
      assert.equal(file.read(), undefined);
      file.write({ n: 1 });
      file.write({ n: 2 });
      assert.deepEqual(file.read(), { n: 2 });
    });

    it("that is no JSON is not taken for an empty one", () => {
      const path = join(scratch.path, "broken.json");
      writeFileSync(path, "{");
      assert.throws(() => new StateFile(path).read(), SyntaxError);
    });
  });
});
