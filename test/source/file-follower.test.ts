import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../src/provider/clock.js";
import { followFiles } from "../../src/source/file-follower.js";
import type { Refreshed } from "../../src/source/file-source.js";
import { until } from "../scenario/until.js";
import { FakeClock } from "../support/fake-clock.js";

describe("following files", () => {
  let folder: string;
  let stop: AbortController;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-follow-"));
    stop = new AbortController();
  });
  afterEach(() => {
    stop.abort();
    rmSync(folder, { recursive: true, force: true });
  });

  it("looks each period, and soon again at what may still be being written", async () => {
    const clock = new FakeClock();
    const answers: Refreshed[] = ["unsettled", "accepted", "same", "unreadable"];
    const source = {
      refresh: (): Refreshed => {
        const answer = answers.shift();
        if (answers.length === 0) stop.abort();
        return answer ?? "same";
      },
    };
    const paths = [join(folder, "none", "*.yaml")];
    await followFiles(source, { paths, clock, periodMs: 30_000 }, stop.signal);
    assert.deepEqual(clock.slept, [250, 30_000, 30_000]);
  });

  const places: readonly { readonly name: string; readonly path: string }[] = [
    { name: "a folder", path: "." },
    { name: "a file", path: "a.yaml" },
    { name: "a pattern", path: "*.yaml" },
  ];
  for (const { name, path } of places) {
    it(`looks at once when the file system tells of a change in ${name}`, async () => {
      writeFileSync(join(folder, "a.yaml"), "");
      let looks = 0;
      const source = {
        refresh: (): Refreshed => {
          looks += 1;
          return "same";
        },
      };
      const how = { paths: [join(folder, path)], clock: systemClock, periodMs: 3_600_000 };
      const following = followFiles(source, how, stop.signal);
      await until("it looks for the first time", () => looks === 1);
      writeFileSync(join(folder, "a.yaml"), "b: 1");
      await until("it looks again", () => looks > 1);
      stop.abort();
      await following;
    });
  }
});
