import assert from "node:assert/strict";
import { saidAgoMs } from "../../src/kube/lease-clock.js";

describe("when something was said by another process", () => {
  const now = { steadyMs: 10_000, wallMs: 50_000 };
  const cases = [
    { name: "just now", said: now, want: 0 },
    {
      name: "while this process was frozen",
      said: { steadyMs: 4_000, wallMs: 44_000 },
      want: 6_000,
    },
    {
      name: "before the machine was suspended",
      said: { steadyMs: 9_900, wallMs: 20_000 },
      want: 30_000,
    },
    {
      name: "before the clock was set back",
      said: { steadyMs: 9_000, wallMs: 90_000 },
      want: 1_000,
    },
    { name: "nobody tells when", said: {}, want: Infinity },
  ];
  for (const { name, said, want } of cases) {
    it(`is ${want} ms ago: ${name}`, () => assert.equal(saidAgoMs(said, now), want));
  }
});
