import assert from "node:assert/strict";
import { nearest } from "../../src/api/validate.js";

const keys = ["Machine/cp-0", "Machine/web-0", "LocalHost/web-0-a830c4ef-1"];

const cases: readonly { word: string; known: readonly string[]; want: string | undefined }[] = [
  { word: "Machine/wbe-0", known: keys, want: "Machine/web-0" },
  { word: "machine/cp-0", known: keys, want: "Machine/cp-0" },
  { word: "Machien/cp-0", known: keys, want: "Machine/cp-0" },
  { word: "Machine/nope", known: keys, want: undefined },
  { word: "nope", known: keys, want: undefined },
  { word: "default.staging", known: ["default.prod", "default.dev"], want: undefined },
  { word: "default.stagin", known: ["default.prod", "default.staging"], want: "default.staging" },
  { word: "replica", known: ["replicas", "selector"], want: "replicas" },
  { word: "x", known: ["a"], want: undefined },
  { word: "", known: ["a"], want: undefined },
];

describe("the word that was meant", () => {
  for (const { word, known, want } of cases) {
    it(`for "${word}" is ${want ?? "none of those there are"}`, () => {
      assert.equal(nearest(word, known), want);
    });
  }
});
