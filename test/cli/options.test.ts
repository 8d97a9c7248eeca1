import assert from "node:assert/strict";
import { seconds } from "../../src/cli/verbs/options.js";

describe("a time on the command line", () => {
  const cases: { given: string; want: number }[] = [
    { given: "30", want: 30 },
    { given: "30s", want: 30 },
    { given: "5m", want: 300 },
    { given: "2h", want: 7_200 },
    { given: "0", want: 0 },
  ];
  for (const { given, want } of cases) {
    it(`${given} is ${want} seconds`, () => assert.equal(seconds(given), want));
  }

  for (const wrong of ["", "s", "-1", "1.5s", "30 s", "30sec", "1d"]) {
    it(`"${wrong}" is none`, () => {
      assert.throws(() => seconds(wrong), /expected seconds, or a time such as 30s, 5m or 1h/);
    });
  }
});
