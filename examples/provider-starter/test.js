import { test } from "node:test";
import { conformanceCases } from "capstan/provider/conformance";
import { subject } from "./world.js";

for (const { name, run } of conformanceCases(subject)) {
  test(name, async (t) => {
    const checked = await run();
    if (checked.outcome !== "passed") return t.skip(checked.reason);
    for (const part of checked.exceptFor) t.diagnostic(`not checked: ${part}`);
  });
}
