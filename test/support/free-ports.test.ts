import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { promisify } from "node:util";
import { freePorts } from "./free-ports.js";

const run = promisify(execFile);
const module = new URL("./free-ports.js", import.meta.url).href;

describe("free ports", () => {
  it("are of one process alone, also while nothing listens there", async () => {
    const first = randomInt(15_000, 16_000) * 2;
    // Eight ports in all: who takes no notice of others takes one of theirs.
    const range = [first, first + 16] as const;
    const ours = await freePorts(4, range);
    const script = `
      import { freePorts } from ${JSON.stringify(module)};
      console.log(JSON.stringify(await freePorts(4, ${JSON.stringify(range)})));
    `;
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", script]);
    const all = [...ours, ...(JSON.parse(stdout) as number[])];
    assert.equal(new Set(all).size, 8, all.join());
  });
});
