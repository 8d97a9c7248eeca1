import assert from "node:assert/strict";
import { compareClusters } from "../../src/plan/compare/neutral.js";
import { withAlikeMachines } from "../../src/report/difference.js";
import { differenceMarkdown } from "../../src/report/difference-markdown.js";
import { bytesOf, commentLimit } from "../../src/report/markdown-text.js";
import { assertGolden } from "../support/golden.js";
import { cluster, machine, machineDeployment, machineSet } from "../support/manifests.js";
import { targetOf } from "../support/recorded-history.js";
import { hostile } from "../support/sample-plans.js";

const how = { all: false, addresses: true };
const names = { from: "default/a (clusters/a)", to: "default/b (recorded, revision 4)" };
const from = targetOf([
  cluster(),
  machine("cp-0", { controlPlane: "1.34.2" }),
  machineDeployment("workers", 5),
]);

function markdown(...objects: Parameters<typeof targetOf>[0]): string {
  const difference = compareClusters(from, targetOf([cluster(), ...objects]), how);
  return differenceMarkdown(names, withAlikeMachines(difference));
}

describe("the Markdown of two clusters", () => {
  it("diff-markdown.txt", () =>
    assertGolden(
      "diff-markdown",
      markdown(
        machine("cp-0", { controlPlane: "1.35.0", kubelet: "1.35.0" }),
        machineDeployment("workers", 6, { size: "large" }),
        machineSet("db", 1),
      ),
    ));

  it("fits into a comment with 1,000 machines none of which is like another", () => {
    const machines = Array.from({ length: 1_000 }, (_, index) =>
      machine(`web-${index}`, { tags: { serial: `number-${index}` } }),
    );
    const plain = targetOf([cluster(), ...machines.map((_, index) => machine(`web-${index}`))]);
    const difference = compareClusters(plain, targetOf([cluster(), ...machines]), how);
    const text = differenceMarkdown(names, withAlikeMachines(difference));
    assert.ok(bytesOf(text) <= commentLimit, `${bytesOf(text)} bytes`);
    assert.match(text, /Left out here: \d+ of 1,000 lines/);
  });

  it("lets no text from elsewhere be markup", () => {
    const objects = [
      machine("cp-0", { controlPlane: "1.34.2", tags: { note: hostile } }),
      machineDeployment("workers", 5),
    ] as const;
    const text = markdown(...objects);
    const prose = text.replace(/^(`{3,})diff\n[\s\S]*?^\1\n/gm, "");
    assert.match(text, /<script>/, "in a code block");
    assert.doesNotMatch(prose, /<script|@|`/);
  });
});
