import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plan } from "../../src/plan/plan.js";
import { planHtml } from "../../src/report/formats/html/page.js";
import { until } from "../scenario/until.js";
import { repository } from "../scenario/sandbox.js";
import { Browser, type Page } from "../support/browser.js";
import { hostilePlan, largePlan, mixedPlan, reportOf, unalike } from "../support/sample-plans.js";
import { scratchFolder } from "../support/scratch.js";

const desktop = { width: 1_200, height: 900 };
const phone = { width: 375, height: 700 };
const counted = "document.querySelector('.filter output').textContent";
const visibleNames =
  "[...document.querySelectorAll('.leaf .name')].filter((name) => name.checkVisibility()).map((name) => name.textContent)";

/** 1,000 machines: 900 to be created alike, 100 to be updated, each in its own way. */
async function thousandMachines(): Promise<Plan> {
  const plan = await largePlan(999);
  const updated = unalike(plan).machines;
  const machines = plan.machines.map((machine, index) =>
    index % 10 === 1 ? (updated[index] ?? machine) : machine,
  );
  return { ...plan, machines };
}

describe("the page of a plan in a browser", () => {
  const scratch = scratchFolder();
  let browser: Browser;

  before(async () => {
    browser = await Browser.start();
  });
  after(() => browser.close());

  const open = async (text: string, size = desktop): Promise<Page> => {
    const file = join(scratch.path, "plan.html");
    writeFileSync(file, text);
    return browser.open(pathToFileURL(file).href, size);
  };
  const pageOf = async (plan: Plan, size = desktop) => open(planHtml(reportOf(plan)), size);

  it("asks for nothing but itself, and has no error, whatever it shows", async () => {
    for (const plan of [await mixedPlan(), await hostilePlan(), await thousandMachines()]) {
      const page = await pageOf(plan);
      assert.deepEqual(page.said, []);
      const others = page.requested.filter((url) => !/^data:|\/plan\.html$/.test(url));
      assert.deepEqual(others, []);
      assert.equal(await page.evaluate("document.querySelectorAll('script').length"), 1);
    }
  });

  it("would not get what it asked for, and the test would see it", async () => {
    const text = planHtml(reportOf(await mixedPlan()));
    const asking = "<img src='http://127.0.0.1:9/a.png'><script>window.injected = true</script>";
    const page = await open(text.replace("<main", `${asking}<main`));
    await until("the policy is told about", () => page.said.length >= 2);
    assert.equal(await page.evaluate("window.injected === undefined"), true);
  });

  it("shows counts, and filters 1,000 machines by keyboard at once", async () => {
    const page = await pageOf(await thousandMachines());
    const tiles = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.tiles li')].map((tile) => tile.textContent.trim())",
    );
    assert.deepEqual(tiles.slice(0, 2), ["902new", "100in place"]);
    assert.equal(await page.evaluate(counted), "1,002 of 1,002 lines shown");
    assert.ok((await page.evaluate<string[]>(visibleNames)).length < 110, "those alike are folded");

    await page.press("/");
    await page.type("workers 997");
    assert.equal(await page.evaluate(counted), "1 of 1,002 lines shown");
    const [only, ...others] = await page.evaluate<string[]>(visibleNames);
    assert.match(only ?? "", /^workers-\w+-997$/);
    assert.deepEqual(others, []);

    const took = await page.evaluate<number>(`(() => {
      const begin = performance.now();
      const search = document.querySelector("[type=search]");
      search.value = "";
      search.dispatchEvent(new Event("input", { bubbles: true }));
      document.body.getBoundingClientRect();
      return performance.now() - begin;
    })()`);
    assert.ok(took < 10_000, `filtering took ${took} ms`);
  });

  it("leaves out kinds of changes that are not ticked, by Tab and Space", async () => {
    const page = await pageOf(await thousandMachines());
    await page.press("/");
    await page.press("Tab");
    assert.equal(await page.evaluate("document.activeElement.value"), "create");
    await page.press("Space");
    assert.equal(await page.evaluate(counted), "100 of 1,002 lines shown");
    await page.press("Tab");
    await page.press("Space");
    assert.equal(await page.evaluate(counted), "0 of 1,002 lines shown");
    assert.deepEqual(await page.evaluate(visibleNames), []);
  });

  it("unfolds and folds everything", async () => {
    const page = await pageOf(await thousandMachines());
    const shown = async () => (await page.evaluate<string[]>(visibleNames)).length;
    const click = (what: string) =>
      page.evaluate(`document.querySelector("[data-fold=${what}]").click()`);
    await click("open");
    assert.equal(await shown(), 1_002);
    await click("close");
    assert.equal(await shown(), 3, "network, load balancer and the machine without a set");
  });

  it("is complete without its script", async () => {
    const page = await pageOf(await thousandMachines());
    await page.send("Emulation.setScriptExecutionDisabled", { value: true });
    await page.send("Page.reload");
    await until("the page is there again", async () => {
      const state = "document.readyState + document.querySelectorAll('.leaf').length";
      return (await page.evaluate(state)) === "complete1002";
    });
    assert.equal(await page.evaluate("document.querySelector('.filter').checkVisibility()"), false);
  });

  it("fits on a phone: only the graph is scrolled sideways", async () => {
    for (const plan of [await mixedPlan(), await hostilePlan(), await thousandMachines()]) {
      const page = await pageOf(plan, phone);
      const width = await page.evaluate<number>("document.scrollingElement.scrollWidth");
      assert.ok(width <= phone.width, `${width} wide`);
    }
  });

  for (const scheme of ["light", "dark"]) {
    it(`is readable in ${scheme} colours`, async () => {
      const page = await pageOf(await mixedPlan());
      const features = [{ name: "prefers-color-scheme", value: scheme }];
      await page.send("Emulation.setEmulatedMedia", { features });
      const weak = await page.evaluate<string[]>(weakContrasts);
      assert.deepEqual(weak, []);
      const color = await page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
      const [red = 0] = (color.match(/\d+/g) ?? []).map(Number);
      assert.equal(red < 128, scheme === "dark");
    });
  }

  it("is drawn: docs/screens/plan-page.png with UPDATE_SCREENS=1", async () => {
    const page = await pageOf(await mixedPlan(), { width: 1_100, height: 1_180 });
    const picture = await page.screenshot();
    assert.deepEqual([picture.readUInt32BE(16), picture.readUInt32BE(20)], [1_100, 1_180]);
    // An empty page of that size has less than a tenth of it.
    assert.ok(picture.length > 40_000, `${picture.length} bytes`);
    if (process.env["UPDATE_SCREENS"] === "1") {
      writeFileSync(join(repository, "docs", "screens", "plan-page.png"), picture);
    }
  });
});

/** Texts whose contrast to what is behind them is below 4.5 to 1. Source: WCAG 2.2, 1.4.3. */
const weakContrasts = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one !== null; one = one.parentElement) {
      const color = rgba(getComputedStyle(one).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const texts = [...document.querySelectorAll("body *")].filter((element) =>
    !element.closest("svg, script") && element.checkVisibility() &&
    [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== ""));
  return texts.flatMap((element) => {
    const [one, two] = [rgba(getComputedStyle(element).color), behind(element)].map(luminance);
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    return ratio >= 4.5 ? [] : [element.className + " " + element.textContent + " " + ratio.toFixed(2)];
  });
})()`;
