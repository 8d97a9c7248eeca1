import { join, resolve } from "node:path";
import { pacedProvider } from "../src/provider/call-pace.js";
import { replacingUnseen } from "../src/provider/unobservable.js";
import { awsClients } from "./aws/calls/clients.js";
import { awsProvider } from "./aws/provider.js";
import type { Clock, InfrastructureProvider } from "../src/provider/port.js";
import { LocalCloud } from "./local/cloud.js";
import type { FileUse } from "./local/cloud-file.js";

export type { FileUse };
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

/** Names the file of the local cloud, where that is not in the state folder. */
const localCloudVariable = "CAPSTAN_LOCAL_CLOUD";

/**
 * Makes the providers; loads and opens nothing before it is used. `stateDir` is where the local
 * cloud keeps its file, unless the environment of `outside` names another. Without `outside` there
 * are only ours. For who only reads, the local cloud makes no file.
 */
export function makeProviders(
  stateDir: string,
  clock: Clock,
  outside?: OutsideProviders,
  use: FileUse = "changes",
): Providers {
  const elsewhere = outside?.env[localCloudVariable] ?? "";
  const file =
    elsewhere === ""
      ? join(stateDir, "local-cloud.db")
      : resolve(outside?.folder ?? ".", elsewhere);
  const cloud = new LocalCloud(file, clock, use);
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
  const asUsed = (provider: InfrastructureProvider) =>
    pacedProvider(replacingUnseen(provider), clock);
  const ours = [local, awsProvider(awsClients(), outside?.env)];
  if (outside === undefined) return ours.map(asUsed);
  const context = { stateDir: resolve(stateDir), clock, env: outside.env };
  const builtIn = ours.map((provider): Origin => ({ provider, from: "capstan itself" }));
  const origins = [...builtIn, ...loadProviders(outside, context)];
  refuseClashes(origins);
  return origins.map(({ provider }) => asUsed(provider));
}
