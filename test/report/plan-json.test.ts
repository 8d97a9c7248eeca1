import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv, type ValidateFunction } from "ajv";
import { format, resolveConfig } from "prettier";
import { planMarkdown } from "../../src/report/formats/plan-markdown.js";
import { planDocument } from "../../src/report/formats/plan-json.js";
import { planDocumentSchema } from "../../src/report/plan-schema.js";
import { repository } from "../scenario/sandbox.js";
import { publishedSchema } from "../support/published-schema.js";
import {
  hostilePlan,
  largePlan,
  mixedPlan,
  reportOf,
  samplePlans,
  stagedPlan,
} from "../support/sample-plans.js";

const file = join(repository, "docs", "schemas", "plan-v1.schema.json");

/** The file as formatted as everything else in the repository. */
async function schemaText(): Promise<string> {
  const options = await resolveConfig(file);
  const about = { id: "plan-v1.schema.json", title: "Plan of Capstan, version 1" };
  const schema = publishedSchema(planDocumentSchema, about);
  return format(JSON.stringify(schema), { ...options, parser: "json" });
}

/** What a program gets: the text, parsed. */
function written(document: object): object {
  return JSON.parse(JSON.stringify(document)) as object;
}

function problems(check: ValidateFunction, value: unknown): unknown[] {
  return check(value) ? [] : (check.errors ?? []);
}

const plans = [
  ...samplePlans,
  { name: "mixed", given: mixedPlan },
  { name: "hostile", given: hostilePlan },
  { name: "one stage of several", given: stagedPlan },
  { name: "1,000 machines", given: () => largePlan(998) },
];

describe("the JSON document of plans", () => {
  const published = new Ajv({ strict: true, allErrors: true });
  let fromFile: ValidateFunction;
  // Without a field that the schema does not name.
  const closed = new Ajv({ strict: false, allErrors: true }).compile(planDocumentSchema);

  before(async () => {
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, await schemaText());
    fromFile = published.compile(JSON.parse(readFileSync(file, "utf8")) as object);
  });

  it("has a published schema that is current; UPDATE_GOLDEN=1 rewrites it", async () => {
    assert.equal(readFileSync(file, "utf8"), await schemaText());
  });

  for (const { name, given } of plans) {
    it(`is as the schema says, and says nothing else: ${name}`, async () => {
      const document = written(planDocument(reportOf(await given())));
      assert.deepEqual(problems(fromFile, document), []);
      assert.deepEqual(problems(closed, document), []);
    });
  }

  it("holds all clusters of a run, their sums, and those that are to be destroyed", async () => {
    const [one, two] = [await mixedPlan(), await largePlan(3)];
    const gone = { stack: "default.gone", cluster: "default/gone" };
    const document = planDocument({ ...reportOf(one, two), destroyed: [gone] });
    assert.deepEqual(problems(closed, written(document)), []);
    const [first, second] = document.clusters;
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(document.counts.create, first.counts.create + second.counts.create);
    assert.deepEqual(document.destroyed, [gone]);
    assert.equal(document.changesPending, true);
  });

  it("says that nothing is pending only when the command exits with 0", async () => {
    const [, empty] = samplePlans;
    const plan = await empty?.given();
    assert.ok(plan?.empty === true);
    assert.equal(planDocument(reportOf(plan)).changesPending, false);
    const destroyed = [{ stack: "default.gone", cluster: "default/gone" }];
    assert.equal(planDocument({ ...reportOf(plan), destroyed }).changesPending, true);
  });

  it("tells the stages that come after this one", async () => {
    const plan = await stagedPlan();
    const [cluster] = planDocument(reportOf(plan)).clusters;
    assert.ok(cluster?.stage !== undefined && cluster.stage.later.length > 0);
    const text = planMarkdown(reportOf(plan));
    assert.match(text, new RegExp(`^> - Stage 1 of ${cluster.stage.later.length + 1}: `, "m"));
  });

  it("puts every step into exactly one wave, and answers for each how it is taken back", async () => {
    const [cluster] = planDocument(reportOf(await mixedPlan())).clusters;
    assert.ok(cluster !== undefined);
    const keys = cluster.steps.map(({ key }) => key);
    assert.deepEqual(cluster.waves.flatMap((wave) => wave.keys).sort(), [...keys].sort());
    assert.deepEqual(
      cluster.undo.map(({ key }) => key),
      keys,
    );
  });

  const broken: { name: string; change: (document: Record<string, unknown>) => void }[] = [
    { name: "without its version", change: (document) => delete document["schemaVersion"] },
    { name: "of another version", change: (document) => (document["schemaVersion"] = 2) },
    { name: "without clusters", change: (document) => delete document["clusters"] },
    { name: "with a count that is no number", change: (one) => (one["counts"] = { create: "1" }) },
  ];
  for (const { name, change } of broken) {
    it(`is refused by the schema ${name}`, async () => {
      const document = written(planDocument(reportOf(await mixedPlan()))) as Record<
        string,
        unknown
      >;
      change(document);
      assert.notDeepEqual(problems(fromFile, document), []);
    });
  }

  it("may have more fields one day: readers with the file of today are not refused", async () => {
    const document = { ...planDocument(reportOf(await mixedPlan())), later: true };
    assert.deepEqual(problems(fromFile, document), []);
    assert.notDeepEqual(problems(closed, document), []);
  });
});
