import assert from "node:assert/strict";
import { isCapstanError } from "../../src/api/error.js";
import {
  fencepostsOf,
  maxSurgeOf,
  maxUnavailableOf,
  minAvailableOf,
  resolveFenceposts,
  type RolloutBounds,
} from "../../src/sets/fenceposts.js";

describe("bounds of a rollout", () => {
  const rolling = (
    replicas: number,
    maxSurge?: number | string,
    maxUnavailable?: number | string,
  ) => ({
    replicas,
    strategy: {
      type: "RollingUpdate" as const,
      rollingUpdate: {
        ...(maxSurge !== undefined && { maxSurge }),
        ...(maxUnavailable !== undefined && { maxUnavailable }),
      },
    },
  });
  const onDelete: RolloutBounds = { replicas: 5, strategy: { type: "OnDelete" } };
  const cases: { name: string; given: RolloutBounds; want: [number, number, number] }[] = [
    { name: "one above and none missing without any", given: { replicas: 3 }, want: [1, 0, 3] },
    { name: "round surge up and missing down", given: rolling(10, "25%", "25%"), want: [3, 2, 8] },
    {
      name: "take whole percentages exactly",
      given: rolling(300, "7%", "29%"),
      want: [21, 87, 213],
    },
    {
      name: "let one be missing where nothing could move",
      given: rolling(4, 0, "24%"),
      want: [0, 1, 3],
    },
    { name: "let no more be missing than there are", given: rolling(4, 0, 9), want: [0, 4, 0] },
    { name: "let nothing be missing of nothing", given: rolling(0, 0, 0), want: [0, 0, 0] },
    { name: "know neither when users delete", given: onDelete, want: [0, 0, 5] },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => {
      assert.deepEqual([maxSurgeOf(given), maxUnavailableOf(given), minAvailableOf(given)], want);
    });
  }

  for (const value of ["5", "10.5%", "%", "", "five%", 1.5, NaN]) {
    it(`are not ${JSON.stringify(value)}`, () => {
      const invalid = { kind: "invalid", field: "maxSurge", value: String(value) };
      assert.deepEqual(resolveFenceposts(value, 0, 10), invalid);
      assert.throws(
        () => fencepostsOf(rolling(10, 1, value)),
        (error) =>
          isCapstanError(error) &&
          error.code === "INVALID_INPUT" &&
          error.message.includes("maxUnavailable"),
      );
    });
  }
});
