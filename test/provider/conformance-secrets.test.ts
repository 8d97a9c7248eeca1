import assert from "node:assert/strict";
import { conformanceCases, ConformanceFailure } from "../../src/provider-conformance/index.js";
import type { InfrastructureProvider, ResourceHandler } from "../../src/provider/port.js";
import { type FaultyFolder, folderSubject } from "./worlds.js";

const requirement = "keeps what its secret fields hold out of all else that it shows";

function handlerOf(provider: InfrastructureProvider): ResourceHandler {
  return provider.handlers.get(provider.hostKind)!;
}

/** The example with a password that every host is given, and these calls. */
function withSecret(
  good: InfrastructureProvider,
  calls: Partial<ResourceHandler> = {},
): InfrastructureProvider {
  const compile: InfrastructureProvider["compile"] = (...given) => {
    const compiled = good.compile(...given);
    const hosts = [...compiled.hosts].map(
      ([name, spec]) => [name, { ...spec, password: "of-the-first-user" }] as const,
    );
    return { ...compiled, hosts: new Map(hosts) };
  };
  const handler = { ...handlerOf(good), secretInputs: ["password"], ...calls };
  return { ...good, compile, handlers: new Map([[good.hostKind, handler]]) };
}

type Break = (good: InfrastructureProvider, cloud: FaultyFolder) => InfrastructureProvider;

const verdictOf =
  (provider: (good: InfrastructureProvider) => InfrastructureProvider) => async () => {
    const subject = folderSubject({ provider });
    const found = conformanceCases(subject).find(({ name }) => name === requirement);
    return found?.run();
  };

const defects: Readonly<Record<string, Break>> = {
  "a status that repeats a secret field": (good, cloud) =>
    withSecret(good, {
      create: async (ctx, who, spec) => {
        const made = await handlerOf(good).create(ctx, who, spec);
        const login = `admin:${String(spec["password"])}`;
        return made.phase === "gone" ? made : cloud.put({ ...made, status: { login } });
      },
    }),
  "a verdict that repeats a secret field": (good) => ({
    ...withSecret(good),
    verdict: (kind, recorded, wanted) => {
      const found = good.verdict(kind, recorded, wanted);
      if (found.kind !== "replace") return found;
      return { ...found, reason: `it was ${String(recorded["password"])}` };
    },
  }),
};

describe("conformance of a provider with a secret field", () => {
  it("passes where nothing repeats it, and is not asked for where there is none", async () => {
    assert.equal((await verdictOf((good) => withSecret(good))())?.outcome, "passed");
    assert.equal((await verdictOf((good) => good)())?.outcome, "notOffered");
  });

  for (const [name, breakIt] of Object.entries(defects)) {
    it(`fails for ${name}`, async () => {
      const subject = folderSubject({ provider: breakIt });
      const found = conformanceCases(subject).find((one) => one.name === requirement);
      await assert.rejects(found?.run() ?? Promise.resolve(), ConformanceFailure);
    });
  }
});
