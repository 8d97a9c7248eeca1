import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { repository, Sandbox } from "../scenario/sandbox.js";

const schema = JSON.parse(
  readFileSync(join(repository, "docs", "schemas", "plan-v1.schema.json"), "utf8"),
) as object;

describe("plan --format", () => {
  let sandbox: Sandbox;

  before(async () => {
    sandbox = await Sandbox.make({ machines: { "cp-0": { controlPlane: true }, web: {} } });
  });
  after(() => sandbox.close());

  const shown = async (format: string, ...args: string[]) => {
    const { stdout, stderr } = await sandbox.plan(2, "--format", format, ...args);
    return { stdout, stderr };
  };

  it("text: as without it", async () => {
    assert.equal((await shown("text")).stdout, (await sandbox.plan(2)).stdout);
  });

  it("json: one document that its schema accepts, and nothing else", async () => {
    const { stdout, stderr } = await shown("json");
    assert.equal(stderr, "");
    const check = new Ajv({ strict: true }).compile(schema);
    const document: unknown = JSON.parse(stdout);
    assert.ok(check(document), JSON.stringify(check.errors));
    const line = JSON.parse((await sandbox.plan(2, "--json")).stdout) as Record<string, unknown>;
    const { clusters } = document as { clusters: Record<string, unknown>[] };
    assert.deepEqual(Object.keys(line), ["type", ...Object.keys(clusters[0] ?? {})]);
  });

  for (const [format, begin] of [
    ["markdown", /^<!-- capstan-plan -->\n\n## Capstan plan: 4 to create/],
    ["mermaid", /^flowchart BT\n/],
    ["html", /^<!doctype html>/],
  ] as const) {
    it(`${format}: one document, with what is saved told elsewhere`, async () => {
      const file = join(sandbox.folder, "plan.saved");
      const { stdout, stderr } = await shown(format, "--out", file);
      assert.match(stdout, begin);
      assert.doesNotMatch(stdout, /Saved:/);
      assert.match(stderr, /^Saved: capstan --state \S+ up --plan /);
    });
  }

  it("is refused beside --json, and for what it does not know", async () => {
    const both = await sandbox.plan(64, "--json", "--format", "html");
    assert.match(both.stdout, /"BAD_USAGE".*--format html/);
    assert.match((await sandbox.plan(64, "--format", "pdf")).stderr, /Allowed choices are text, /);
  });
});
