import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";

const folder = join(repository, "docs", "adr");
const sections = ["Context", "Decision", "Rejected alternatives", "Consequences"];

describe("decision records", () => {
  for (const [index, name] of readdirSync(folder).sort().entries()) {
    it(`${name}: number, status, date, and what was rejected`, () => {
      const text = readFileSync(join(folder, name), "utf8");
      assert.equal(Number(name.slice(0, 4)), index + 1);
      assert.match(text, new RegExp(`^# ${index + 1}\\. \\S`));
      assert.match(text.replaceAll("\n", " "), /Status: accepted\b.*? Date: \d{4}-\d{2}-\d{2} /);
      const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
      assert.deepEqual(headings, sections);
    });
  }
});
