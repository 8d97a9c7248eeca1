import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import pc from "picocolors";
import { format, resolveConfig } from "prettier";
import { clusterDriftText } from "../../src/cli/drift-text.js";
import { widthOf } from "../../src/cli/fit.js";
import { driftDocument } from "../../src/report/drift-json.js";
import { driftMarkdown, driftMarker } from "../../src/report/drift-markdown.js";
import type { DriftedCluster } from "../../src/report/drift-report.js";
import { driftDocumentSchema } from "../../src/report/drift-schema.js";
import { bytesOf, commentLimit } from "../../src/report/markdown-text.js";
import { repository } from "../scenario/sandbox.js";
import { assertGolden } from "../support/golden.js";
import { publishedSchema } from "../support/published-schema.js";
import { runOf, sampleDrifts } from "../support/sample-drift.js";

const file = join(repository, "docs", "schemas", "drift-v1.schema.json");

async function schemaText(): Promise<string> {
  const options = await resolveConfig(file);
  const about = { id: "drift-v1.schema.json", title: "Drift report of Capstan, version 1" };
  const schema = publishedSchema(driftDocumentSchema, about);
  return format(JSON.stringify(schema), { ...options, parser: "json" });
}

const all = (): Promise<DriftedCluster[]> => Promise.all(sampleDrifts.map(({ given }) => given()));

function sample(name: string): Promise<DriftedCluster> {
  const found = sampleDrifts.find((one) => one.name === name);
  assert.ok(found !== undefined);
  return found.given();
}

describe("the JSON document of drift", () => {
  let fromFile: ValidateFunction;
  // Without a field that the schema does not name.
  const closed = new Ajv({ strict: false, allErrors: true }).compile(driftDocumentSchema);

  before(async () => {
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, await schemaText());
    const published = new Ajv({ strict: true, allErrors: true });
    fromFile = published.compile(JSON.parse(readFileSync(file, "utf8")) as object);
  });

  it("has a published schema that is current; UPDATE_GOLDEN=1 rewrites it", async () => {
    assert.equal(readFileSync(file, "utf8"), await schemaText());
  });

  for (const { name, given } of sampleDrifts) {
    it(`is as the schema says, and says nothing else: ${name}`, async () => {
      const document = JSON.parse(JSON.stringify(driftDocument(runOf(await given())))) as unknown;
      for (const check of [closed, fromFile]) {
        assert.deepEqual(check(document) ? [] : check.errors, []);
      }
    });
  }

  it("tells of every finding with its decision, and of the freeze", async () => {
    const { clusters, drift } = driftDocument(runOf(await sample("mixed"), await sample("frozen")));
    const [mixed, frozen] = clusters;
    assert.ok(drift && mixed !== undefined && frozen !== undefined);
    const decisions = new Set(mixed.items.map(({ decision }) => decision));
    assert.deepEqual([...decisions].sort(), [
      "correct",
      "ignore",
      "overBudget",
      "replace",
      "report",
    ]);
    assert.deepEqual(mixed.counts, {
      missing: 2,
      unhealthy: 0,
      failed: 0,
      stopped: 0,
      expiring: 0,
      leaving: 0,
      changed: 5,
      extra: 2,
      unknown: 0,
    });
    assert.deepEqual(frozen.freeze, {
      cause: "tooManyUnhealthy",
      reason: "2 of 4 machines are gone or failed, and 1 may be",
      thawsAtMs: 1_800_000,
    });
    assert.ok(frozen.items.every(({ decision }) => decision === "frozen"));
  });
});

describe("the text of drift", () => {
  const plain = pc.createColors(false);

  it("drift.txt", async () => {
    const texts = (await all()).map((one) =>
      clusterDriftText(one, { colors: plain, columns: Infinity }),
    );
    assertGolden("drift", texts.slice(0, -1).join("\n"));
  });

  for (const columns of [100, 60, 40]) {
    it(`fits into ${columns} columns, whatever the cloud says`, async () => {
      for (const one of await all()) {
        const text = clusterDriftText(one, { colors: plain, columns });
        const wide = text.split("\n").filter((line) => widthOf(line) > columns);
        assert.deepEqual(wide, []);
      }
    });
  }
});

describe("the Markdown of drift", () => {
  it("drift-markdown.txt", async () =>
    assertGolden("drift-markdown", driftMarkdown(runOf(...(await all()).slice(0, -1)))));

  it("begins with its marker, then what there is", async () => {
    const lines = driftMarkdown(runOf(await sample("none"))).split("\n");
    assert.deepEqual([lines[0], lines[2]], [driftMarker, "## Capstan drift: none"]);
  });

  it("holds nothing of the cloud's that could be markup", async () => {
    const text = driftMarkdown(runOf(await sample("hostile")));
    const outside = text.replace(/^(`{3,})diff\n[\s\S]*?^\1$/gm, "");
    assert.doesNotMatch(outside, /somebody|img|#1/);
    assert.equal(text.split("\n").filter((line) => line === "</details>").length, 1);
  });

  it("fits into a comment, and says how much has no room", async () => {
    const one = await sample("mixed");
    const many = {
      ...one,
      judged: { ...one.judged, items: Array(900).fill(one.judged.items).flat() },
    };
    const text = driftMarkdown(runOf(many));
    assert.ok(bytesOf(text) <= commentLimit);
    assert.match(text, /\*\*Left out here: [\d,]+ of 8,100 lines\.\*\*/);
  });
});
