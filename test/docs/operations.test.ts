import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { metricTable, type MetricDefinition } from "../../src/controller/metric-table.js";
import { defaultLeaseTiming } from "../../src/kube/lease-steps.js";

const page = join(fileURLToPath(import.meta.url), "..", "..", "..", "..", "docs", "operations.md");
const text = readFileSync(page, "utf8");

/** The cells of every row of a table under the heading, without the table's head. */
function rowsUnder(heading: string): string[][] {
  const [, section = ""] = text.split(`\n## ${heading}\n`);
  const [own = ""] = section.split("\n## ");
  return own
    .split("\n")
    .filter((line) => line.startsWith("|"))
    .slice(2)
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

describe("docs/operations.md", () => {
  it("lists every metric with its type, its labels and what it says", () => {
    const wanted = Object.values(metricTable).map((definition: MetricDefinition) => [
      `\`${definition.name}\``,
      definition.type,
      definition.labels.map((label) => `\`${label}\``).join(", "),
      definition.help,
    ]);
    assert.deepEqual(rowsUnder("Metrics"), wanted);
  });

  it("tells the times of the election as they are", () => {
    const told = rowsUnder("Who leads").map(([name = "", seconds]) => [
      name,
      Number(seconds) * 1_000,
    ]);
    const wanted = {
      "lease lasts": defaultLeaseTiming.durationMs,
      "renewed every": defaultLeaseTiming.renewEveryMs,
      "given up without renewal after": defaultLeaseTiming.renewDeadlineMs,
      "margin for clocks": defaultLeaseTiming.safetyMs,
      "contenders look every": defaultLeaseTiming.retryEveryMs,
    };
    assert.deepEqual(told, Object.entries(wanted));
  });

  it("links to pages that exist", () => {
    const links = [...text.matchAll(/\]\(([^)#]+)/g)].map(([, link = ""]) => link);
    for (const link of links) assert.ok(existsSync(join(dirname(page), link)), link);
  });
});
