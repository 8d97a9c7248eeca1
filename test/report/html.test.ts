import assert from "node:assert/strict";
import { contentHashOf } from "../../src/api/digest.js";
import { planHtml } from "../../src/report/formats/html/page.js";
import { hostile, hostilePlan, largePlan, mixedPlan, reportOf } from "../support/sample-plans.js";

const voidTags = new Set(["meta", "link", "input", "br", "path", "rect"]);

/** Fails unless all elements are closed in the order in which they were opened. */
function assertBalanced(page: string): void {
  const body = page.replace(/<(style|script)>[\s\S]*?<\/\1>/g, "").replace("<!doctype html>", "");
  const open: string[] = [];
  for (const [tag, slash, name = ""] of body.matchAll(/<(\/?)([a-zA-Z0-9]+)[^>]*>/g)) {
    if (voidTags.has(name) || tag.endsWith("/>")) continue;
    if (slash === "/") assert.equal(open.pop(), name, tag);
    else open.push(name);
  }
  assert.deepEqual(open, []);
}

function policyOf(page: string): string {
  return /Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? "";
}

describe("the page of a plan", () => {
  it("is balanced, whatever it shows", async () => {
    const plans = [await mixedPlan(), await hostilePlan(), await largePlan(999)];
    for (const plan of plans) assertBalanced(planHtml(reportOf(plan)));
    assertBalanced(planHtml(reportOf(...plans)));
  });

  it("may load nothing, and run and apply only what its policy names by hash", async () => {
    const page = planHtml(reportOf(await mixedPlan()));
    const policy = policyOf(page);
    assert.match(policy, /^default-src 'none';/);
    const sources = { style: "style-src", script: "script-src" };
    for (const [tag, source] of Object.entries(sources)) {
      const found = [...page.matchAll(new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, "g"))];
      assert.equal(found.length, 1);
      assert.ok(policy.includes(`${source} '${contentHashOf(found[0]?.[1] ?? "")}'`), tag);
    }
    assert.doesNotMatch(page, /https?:|\bsrc=|@import|\son\w+="|\sstyle="/i);
  });

  it("escapes everything from elsewhere, and hides no character", async () => {
    const page = planHtml({ ...reportOf(await hostilePlan()), manifests: `-f ${hostile}` });
    assert.equal((page.match(/<script>/g) ?? []).length, 1);
    assert.doesNotMatch(page, /alert\(1\)<\/script>|\u202e/);
    assert.match(page, /&#60;script&#62;alert\(1\)&#60;\/script&#62;/);
  });

  it("has every machine, every wave and how each step is taken back in it", async () => {
    const plan = await mixedPlan();
    const page = planHtml(reportOf(plan));
    for (const { machine } of plan.machines) assert.ok(page.includes(`>${machine}<`), machine);
    for (const { key } of plan.steps) assert.ok(page.includes(`<code>${key}</code>`), key);
    assert.match(page, /a point of no return/);
  });

  it("of 1,000 machines has less than 400 bytes for each", async () => {
    assert.ok(planHtml(reportOf(await largePlan(999))).length < 400_000);
  });

  it("is the same for the same plan", async () => {
    assert.equal(planHtml(reportOf(await mixedPlan())), planHtml(reportOf(await mixedPlan())));
  });
});
