import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A fresh folder for each test of the suite that this is called in; gone after it. */
export function scratchFolder(): { readonly path: string } {
  const scratch = { path: "" };
  beforeEach(() => {
    scratch.path = mkdtempSync(join(tmpdir(), "capstan-"));
  });
  afterEach(() => rmSync(scratch.path, { recursive: true, force: true }));
  return scratch;
}
