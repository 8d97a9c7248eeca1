import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "./folders.js";

/** A fresh folder for each test of the suite that this is called in; gone after it. */
export function scratchFolder(): { readonly path: string } {
  const scratch = { path: "" };
  beforeEach(() => {
    scratch.path = mkdtempSync(join(tmpdir(), "capstan-"));
  });
  afterEach(() => removeFolder(scratch.path));
  return scratch;
}
