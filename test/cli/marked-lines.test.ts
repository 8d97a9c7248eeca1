import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import pc from "picocolors";
import { CapstanError } from "../../src/api/error.js";
import { linesOf, quoted, statementsOf } from "../../src/api/quoted.js";
import { makeProgress } from "../../src/cli/progress.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { watchLinesSink } from "../../src/cli/watch-lines.js";
import type { ResourceEvent } from "../../src/dynamic/resource-event.js";
import { callsFailed } from "../../src/engine/run/failures.js";
import { cleanEnv, commandLine } from "../scenario/sandbox.js";
import { FakeClock } from "../support/fake-clock.js";
import { timesOf } from "../support/times.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf } from "../support/manifests.js";

const failed: ResourceEvent = {
  kind: "Host",
  name: "cp-0",
  operation: "create",
  state: "failed",
  message: "403 Forbidden\r\nreason: quotaExceeded\nlimit: 8\n",
};

function paper(): { terminal: Terminal; written: () => string } {
  const colors = pc.createColors(false);
  let text = "";
  const write = (more: string) => void (text += more);
  const size = { columns: Infinity, rows: 24, live: false };
  return {
    terminal: {
      ...size,
      colors,
      errorColors: colors,
      write,
      error: write,
      draw: write,
      document: write,
    },
    written: () => text,
  };
}

describe("what is said in several lines", () => {
  it("is quoted further in, so that it is no statement of ours", () => {
    const { message } = callsFailed("default/prod", [failed, { ...failed, message: "no" }]);
    assert.equal(
      message,
      "cannot create Host cp-0: 403 Forbidden\n  reason: quotaExceeded\n  limit: 8\ncannot create Host cp-0: no",
    );
    assert.equal(statementsOf(message).length, 2);
  });

  it("has as many lines as it says, one for nothing", () => {
    assert.deepEqual(linesOf("a\r\nb\rc\n\n"), ["a", "b", "c"]);
    assert.deepEqual(linesOf(""), [""]);
    assert.equal(quoted("a"), "a");
  });

  it("has its time on each line where progress is told in lines", async () => {
    const plan = await new FakeEngine().plan(desiredOf([cluster()]));
    const { terminal, written } = paper();
    makeProgress(plan, terminal, timesOf(new FakeClock())).on({ kind: "resource", event: failed });
    assert.equal(
      written(),
      [
        "   0.0s  Host cp-0: create failed: 403 Forbidden",
        "   0.0s    reason: quotaExceeded",
        "   0.0s    limit: 8",
        "",
      ].join("\n"),
    );
  });

  it("has time and cluster on each line of watch, and is one line with --json", () => {
    const error = new CapstanError({
      code: "CLOUD_FAILED",
      source: "cloud",
      message: callsFailed("default/prod", [failed]).message,
      hint: "ask for more\nor wait",
    });
    const told = (json: boolean) => {
      const { terminal, written } = paper();
      const emit = (value: unknown) => terminal.write(`${JSON.stringify(value)}\n`);
      const clock = new FakeClock(0);
      const sink = watchLinesSink({ json, terminal, emit, suggest: (text) => text, clock });
      sink("default/prod", { kind: "failed", error });
      return written();
    };
    const lines = told(false).trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => /^00:00:00 {2}default\/prod: (.*)$/.exec(line)?.[1]),
      [
        "failed: cannot create Host cp-0: 403 Forbidden",
        "  reason: quotaExceeded",
        "  limit: 8",
        "hint: ask for more",
        "or wait",
      ],
    );
    assert.equal(told(true).split("\n").length, 2);
  });

  it("has its mark on each line of an error", () => {
    const args = [commandLine, "validate", "-f", "no-a", "-f", "no-b"];
    const ran = spawnSync(process.execPath, args, { env: cleanEnv(), encoding: "utf8" });
    const lines = ran.stderr.trimEnd().split("\n");
    assert.equal(lines.filter((line) => line.startsWith("error: ")).length, 2, ran.stderr);
    assert.ok(
      lines.every((line) => /^(error|hint): /.test(line)),
      ran.stderr,
    );
  });
});
