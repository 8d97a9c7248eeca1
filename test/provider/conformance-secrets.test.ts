import assert from "node:assert/strict";
import { conformanceCases, ConformanceFailure } from "../../src/provider-conformance/index.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import { secretDefects, secretRequirement, withSecret } from "./secret-defects.js";
import { folderSubject } from "./worlds.js";

const verdictOf =
  (provider: (good: InfrastructureProvider) => InfrastructureProvider) => async () => {
    const subject = folderSubject({ provider });
    const found = conformanceCases(subject).find(({ name }) => name === secretRequirement);
    return found?.run();
  };

describe("conformance of a provider with a secret field", () => {
  it("passes where nothing repeats it, and is not asked for where there is none", async () => {
    assert.equal((await verdictOf((good) => withSecret(good))())?.outcome, "passed");
    assert.equal((await verdictOf((good) => good)())?.outcome, "notOffered");
  });

  for (const [name, breakIt] of Object.entries(secretDefects)) {
    it(`fails for ${name}`, async () => {
      const subject = folderSubject({ provider: breakIt });
      const found = conformanceCases(subject).find((one) => one.name === secretRequirement);
      await assert.rejects(found?.run() ?? Promise.resolve(), ConformanceFailure);
    });
  }
});
