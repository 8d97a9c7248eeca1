import { join, resolve } from "node:path";
import type { Clock, InfrastructureProvider } from "../src/provider/port.js";
import { LocalCloud } from "./local/cloud.js";
import { LocalProvider } from "./local/provider.js";
import { loadProviders, type Origin, type OutsideProviders, refuseClashes } from "./outside.js";

/** The providers of this release and those that the project names. */
export interface Providers {
  /**
   * All of them, ours first. Those of the project are loaded at the first look. Errors: INVALID_INPUT
   * (no provider, or one that clashes with another) and NOT_FOUND (no such module).
   */
  readonly all: readonly InfrastructureProvider[];
  readonly local: LocalProvider;
  close(): void;
}

/**
 * Makes the providers; loads and opens nothing before it is used. `stateDir` is where the local
 * cloud keeps its file. Without `outside` there are only ours.
 */
export function makeProviders(
  stateDir: string,
  clock: Clock,
  outside?: OutsideProviders,
): Providers {
  const cloud = new LocalCloud(join(stateDir, "local-cloud.db"), clock);
  const local = new LocalProvider(cloud);
  let all: readonly InfrastructureProvider[] | undefined;
  return {
    get all() {
      all ??= withOurs(local, stateDir, clock, outside);
      return all;
    },
    local,
    close: () => {
      cloud.close();
      for (const provider of all ?? []) provider.close?.();
    },
  };
}

function withOurs(
  local: LocalProvider,
  stateDir: string,
  clock: Clock,
  outside: OutsideProviders | undefined,
): InfrastructureProvider[] {
  if (outside === undefined) return [local];
  const context = { stateDir: resolve(stateDir), clock, env: outside.env };
  const ours: Origin = { provider: local, from: "capstan itself" };
  const origins = [ours, ...loadProviders(outside, context)];
  refuseClashes(origins);
  return origins.map(({ provider }) => provider);
}
