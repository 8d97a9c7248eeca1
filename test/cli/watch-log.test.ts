import assert from "node:assert/strict";
import { watchLog } from "../../src/cli/watch-log.js";
import type { Voice } from "../../src/cli/context.js";

/** What a controller writes, on a terminal or elsewhere. */
function written(json: boolean, live: boolean): string {
  let text = "";
  const terminal = { live, error: (line: string) => (text += line) };
  const secrets = { scrub: (line: string) => line };
  const voice = { json, terminal, secrets } as unknown as Voice;
  watchLog("info", voice).info("leads", { cluster: "default/prod", revision: 3 });
  return text;
}

describe("the log of capstan watch", () => {
  for (const live of [true, false]) {
    const where = live ? "on a terminal" : "in a file";
    it(`is text ${where}`, () => {
      assert.match(written(false, live), /^\d\d:\d\d:\d\d default\/prod leads revision=3\n$/);
    });

    it(`is JSON lines ${where} where they are asked for`, () => {
      const line = JSON.parse(written(true, live)) as Record<string, unknown>;
      assert.deepEqual(
        [line["message"], line["cluster"], line["revision"]],
        ["leads", "default/prod", 3],
      );
    });
  }
});
