import assert from "node:assert/strict";
import { join } from "node:path";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { lockedByPulumi, unlockHint } from "../../src/engine/pulumi/engine-refusals.js";
import { scratchFolder } from "../support/scratch.js";

describe("the hint at what unlocks a stack", () => {
  const scratch = scratchFolder();
  const hintOn = (backend: string | undefined) => {
    const stateDir = join(scratch.path, "state");
    const workspace = new Workspace({
      stateDir,
      pulumiBinDir: scratch.path,
      env: {},
      ...(backend !== undefined && { backend }),
    });
    return unlockHint("default.demo", workspace);
  };

  for (const backend of [undefined, "file:///srv/stacks", "s3://bucket?region=r", "postgres://h/d"])
    it(`is our own verb in ${backend ?? "a state folder"}`, () => {
      assert.equal(hintOn(backend), "run capstan unlock default.demo");
    });

  for (const backend of ["gs://bucket", "azblob://container", "https://api.example.com"])
    it(`is Pulumi's in ${backend}, where that sees no lock`, () => {
      const hint = hintOn(backend);
      assert.match(hint, /^run pulumi cancel --stack default\.demo: in this backend /);
      const lock = { pid: 7, user: "ann", host: "laptop", since: "2026-01-01T00:00:00Z" };
      assert.match(lockedByPulumi("x", lock, { unlock: hint }).hint ?? "", /run pulumi cancel/);
      assert.match(lockedByPulumi("x", lock, { unlock: hint, lives: true }).hint ?? "", /^wait/);
    });
});
