import assert from "node:assert/strict";
import type { Plan } from "../../src/plan/plan.js";
import { bytesOf, commentLimit } from "../../src/report/markdown-text.js";
import { planMarker, planMarkdown } from "../../src/report/formats/plan-markdown.js";
import { assertGolden } from "../support/golden.js";
import {
  hostilePlan,
  largePlan,
  mixedPlan,
  reportOf,
  samplePlans,
  unalike,
} from "../support/sample-plans.js";

/** The code blocks, and what is around them. */
function parted(text: string): { code: string[]; prose: string } {
  const code: string[] = [];
  const prose = text.replace(
    /^(`{3,})(\w+)\n([\s\S]*?)^\1\n/gm,
    (_all, _fence, _kind, body: string) => {
      code.push(body);
      return "";
    },
  );
  return { code, prose };
}

/** Rows of changes shown, and how many the text says there are and are left out. */
function changeCounts(text: string) {
  const [, title = ""] = /<summary>Changes: ([\d,]+) lines<\/summary>/.exec(text) ?? [];
  const [, left = "0"] = /Left out here: ([\d,]+) of [\d,]+ lines/.exec(text) ?? [];
  const shown = (text.match(/^! +Machine /gm) ?? []).length + (text.match(/^\+ /gm) ?? []).length;
  const number = (digits: string) => Number(digits.replaceAll(",", ""));
  return { all: number(title), left: number(left), shown };
}

describe("the Markdown of plans", () => {
  it("plan-markdown.txt", async () =>
    assertGolden("plan-markdown", planMarkdown(reportOf(await mixedPlan()))));

  it("of several clusters and one to be destroyed: plan-markdown-several.txt", async () => {
    const [create, empty] = await Promise.all(samplePlans.slice(0, 2).map(({ given }) => given()));
    assert.ok(create !== undefined && empty !== undefined);
    const report = reportOf({ ...create, cluster: "default/new" }, empty);
    const destroyed = [{ stack: "default.gone", cluster: "default/gone" }];
    assertGolden("plan-markdown-several", planMarkdown({ ...report, destroyed }));
  });

  it("says that there is nothing to do", async () => {
    const plan = await samplePlans[1]?.given();
    assert.ok(plan?.empty === true);
    assert.match(planMarkdown(reportOf(plan)), /^## Capstan plan: no changes$/m);
  });

  for (const { name, given } of [...samplePlans, { name: "mixed", given: mixedPlan }]) {
    it(`begins with its marker, then the summary: ${name}`, async () => {
      const lines = planMarkdown(reportOf(await given())).split("\n");
      assert.equal(lines[0], planMarker);
      assert.match(lines[2] ?? "", /^## Capstan plan: /);
    });
  }

  describe("of 1,000 machines", () => {
    let alike: Plan;
    before(async () => {
      alike = await largePlan(999);
    });

    it("is short when they are changed alike", () => {
      const text = planMarkdown(reportOf(alike));
      assert.match(text, /Machines workers-\w+-0 … workers-\w+-998 \(999\) +create/);
      assert.ok(bytesOf(text) < 5_000, `${bytesOf(text)} bytes`);
      assert.doesNotMatch(text, /Left out/);
    });

    it("fits into a comment when none is like another, and counts what is left out", () => {
      const text = planMarkdown(reportOf(unalike(alike)));
      assert.ok(bytesOf(text) <= commentLimit, `${bytesOf(text)} bytes`);
      assert.ok(bytesOf(text) > commentLimit * 0.9, "there is room for more");
      const { all, left } = changeCounts(text);
      const rows = (text.match(/^! +Machine \S+ +in place +tags\.serial old-\d+/gm) ?? []).length;
      // Network and load balancer are created.
      assert.deepEqual([all, rows + 2 + left], [1_002, 1_002]);
      assert.ok(left > 0);
      assert.match(text, /--format html/);
    });

    for (const limit of [1_500, 5_000, 20_000, 60_000]) {
      it(`fits into ${limit} bytes`, async () => {
        const report = reportOf(unalike(alike), await mixedPlan());
        assert.ok(bytesOf(planMarkdown(report, limit)) <= limit);
      });
    }

    it("fits into a comment with 60 clusters, and says how many have no room", async () => {
      const large = unalike(await largePlan(100));
      const plans = Array.from({ length: 60 }, (_, index) => ({
        ...large,
        cluster: `default/cluster-${index}`,
      }));
      const text = planMarkdown(reportOf(...plans));
      assert.ok(bytesOf(text) <= commentLimit);
      const rows = (text.match(/^\| <code>default/gm) ?? []).length;
      assert.match(text, new RegExp(`And ${60 - rows} more clusters have no room here`));
    });
  });

  describe("with text from elsewhere that would be markup", () => {
    let code: string[];
    let prose: string;
    before(async () => {
      const text = planMarkdown({ ...reportOf(await hostilePlan()), manifests: "-f a`|@b <i>" });
      ({ code, prose } = parted(text));
    });

    it("shows it in code blocks that it cannot end", () => {
      assert.ok(code.length >= 3);
      assert.ok(code.some((block) => block.includes("<script>alert(1)</script>")));
      assert.ok(
        code.every((block) => !block.includes("\u202e")),
        "nothing is reordered",
      );
    });

    it("has no tags but its own around them, none unclosed", () => {
      const tags = [...prose.matchAll(/<(\/?\w+|!--)/g)].map(([, tag]) => tag);
      const own = ["details", "summary", "code", "sub"].flatMap((tag) => [tag, `/${tag}`]);
      assert.deepEqual(
        [...new Set(tags)].filter((tag) => ![...own, "!--"].includes(tag ?? "")),
        [],
      );
      assert.equal(tags.filter((tag) => tag === "!--").length, 1, "the marker");
      for (const tag of ["details", "summary", "code", "sub"]) {
        const count = (name: string) => tags.filter((one) => one === name).length;
        assert.equal(count(tag), count(`/${tag}`), tag);
      }
    });

    it("mentions nobody, and breaks neither tables nor headings", () => {
      assert.doesNotMatch(prose, /@|`|\u202e/);
      const table = prose.split("\n").filter((line) => line.startsWith("|"));
      assert.deepEqual([...new Set(table.map((line) => line.split("|").length))], [9]);
      assert.equal(prose.split("\n").filter((line) => line.startsWith("#")).length, 1);
    });
  });
});
