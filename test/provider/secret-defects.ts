import type { InfrastructureProvider, ResourceHandler } from "../../src/provider/port.js";
import type { FaultyFolder } from "./worlds.js";

/** The case that they fail. */
export const secretRequirement = "keeps what its secret fields hold out of all else that it shows";

function handlerOf(provider: InfrastructureProvider): ResourceHandler {
  return provider.handlers.get(provider.hostKind)!;
}

/** The example with a password that every host is given, and these calls. */
export function withSecret(
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

/** Providers that let a secret out. */
export const secretDefects: Readonly<Record<string, Break>> = {
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
