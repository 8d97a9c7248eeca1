import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

/** Compares a text with test/golden/<name>.txt; UPDATE_GOLDEN=1 writes the file instead. */
export function assertGolden(name: string, text: string): void {
  const file = fileURLToPath(new URL(`../../../test/golden/${name}.txt`, import.meta.url));
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  assert.equal(
    text,
    readFileSync(file, "utf8"),
    `differs from ${name}.txt; UPDATE_GOLDEN=1 rewrites`,
  );
}
