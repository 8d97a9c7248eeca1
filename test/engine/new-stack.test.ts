import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { Engine } from "../../src/engine/pulumi/engine.js";
import { emptyState } from "../../src/records/prior-state.js";
import { failsWith } from "../support/errors.js";
import { onlyLocal } from "../support/manifests.js";
import { scratchFolder } from "../support/scratch.js";

describe("a new stack that two commands make at once", () => {
  const scratch = scratchFolder();
  const missing = { ...emptyState, foreign: [] };

  /** An engine whose Pulumi knows the stack once another command has made it: before, or instead of, `stack init`. */
  const engineFor = (stacksBefore: string, init: string): Engine => {
    const pulumi = join(scratch.path, "pulumi");
    const made = join(scratch.path, "made");
    const listing = `if [ -e '${made}' ]; then echo '[{"name":"default.demo"}]'; else echo '${stacksBefore}'; fi`;
    writeFileSync(
      pulumi,
      `#!/bin/sh\ncase "$1 $2" in\n"stack ls") ${listing} ;;\n"stack init") touch '${made}'; ${init} ;;\nesac\n`,
    );
    chmodSync(pulumi, 0o755);
    const workspace = new Workspace({
      stateDir: scratch.path,
      // Only Pulumi reads it.
      backend: "https://api.example.com",
      pulumiBinDir: scratch.path,
      env: { PATH: process.env["PATH"] },
    });
    workspace.prepare();
    return new Engine({ pulumi, workspace, providers: onlyLocal });
  };

  it("is LOCKED for the one that comes second, whatever Pulumi says of it", async () => {
    const init = "echo 'error: stack already exists' >&2; exit 255";
    const engine = engineFor("[]", init);
    await assert.rejects(engine.ensureStack("default.demo", missing), failsWith("LOCKED"));
  });

  it("is LOCKED also when the other one has made it before, and after it was read", async () => {
    const engine = engineFor('[{"name":"default.demo"}]', "exit 255");
    await assert.rejects(engine.ensureStack("default.demo", missing), failsWith("LOCKED"));
  });

  it("is made for the one that is alone", async () => {
    await engineFor("[]", "exit 0").ensureStack("default.demo", missing);
  });
});
