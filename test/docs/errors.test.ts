import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { diagnosticCodes } from "../../src/api/diagnostic-codes.js";
import { errorCodes } from "../../src/api/error.js";
import { exitCodes } from "../../src/cli/exit.js";

const page = join(fileURLToPath(import.meta.url), "..", "..", "..", "..", "docs", "errors.md");

function rows(codes: Readonly<Record<string, string>>): string {
  return Object.entries(codes)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([code, meaning]) => `| ${code} | ${meaning} |\n`)
    .join("");
}

/** docs/errors.md as the tables in the code want it. */
function errorsPage(): string {
  return `# Errors

A test makes this page from the tables in src/api: \`UPDATE_GOLDEN=1 npm test -- --grep errors.md\`. Codes are stable; messages
are not. With \`--json\` an error is an object with \`code\`, \`message\`, \`source\` (user, cloud or engine), \`hint\` and
\`retryable\`. Wrong manifests are one object with \`diagnostics\`, each with a code, severity, position, subject and path.

## Errors of commands

| code | meaning |
|---|---|
${rows(errorCodes)}
## Diagnostics of manifests

| code | meaning |
|---|---|
${rows(diagnosticCodes)}
## Exit codes

| name | code |
|---|---|
${Object.entries(exitCodes)
  .map(([name, code]) => `| ${name} | ${code} |\n`)
  .join("")}`;
}

describe("docs/errors.md", () => {
  it("lists every code of the tables, and nothing else", () => {
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(page, errorsPage());
    assert.equal(readFileSync(page, "utf8"), errorsPage());
  });
});
