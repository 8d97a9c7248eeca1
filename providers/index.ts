import { join } from "node:path";
import type { Clock, InfrastructureProvider } from "../src/provider/port.js";
import { LocalCloud } from "./local/cloud.js";
import { LocalProvider } from "./local/provider.js";

/** Every provider of this release. `stateDir` is where the local cloud keeps its file. */
export interface Providers {
  readonly all: readonly InfrastructureProvider[];
  readonly local: LocalProvider;
  close(): void;
}

/** Makes the providers; opens nothing before it is used. */
export function makeProviders(stateDir: string, clock: Clock): Providers {
  const cloud = new LocalCloud(join(stateDir, "local-cloud.db"), clock);
  const local = new LocalProvider(cloud);
  return { all: [local], local, close: () => cloud.close() };
}
