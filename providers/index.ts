import { join, resolve } from "node:path";
import { keepingSecrets } from "../src/provider/keeping-secrets.js";
import { SecretValues } from "../src/provider/secret-values.js";
import { pacedProvider } from "../src/provider/call-pace.js";
import { replacingUnseen } from "../src/provider/unobservable.js";
import { awsClients } from "./aws/calls/clients.js";
import { awsProvider } from "./aws/provider.js";
import type { Clock, InfrastructureProvider } from "../src/provider/port.js";
import { LocalCloud } from "./local/cloud.js";
import type { FileUse } from "./local/file/cloud-file.js";

import { LocalProvider } from "./local/provider.js";
import { loadProviders, type Origin, type OutsideProviders, refuseClashes } from "./outside.js";

/** The providers of this release and those that the project names. */
export interface Providers {
  /**
   * All of them, ours first. Those of the project are loaded at the first look. Errors: INVALID_INPUT
   * (no provider, or one that clashes with another) and NOT_FOUND (no such module).
   */
  readonly all: readonly InfrastructureProvider[];
  /** Those of this release alone: no code of the project runs for them. */
  readonly ours: readonly InfrastructureProvider[];
  readonly local: LocalProvider;
  /** What the providers' secret fields hold, as far as it has passed by. */
  readonly secrets: SecretValues;
  close(): void;
}

/** Names the file of the local cloud, where that is not in the state folder. */
const localCloudVariable = "CAPSTAN_LOCAL_CLOUD";

/**
 * Makes the providers; loads and opens nothing before it is used. `stateDir` is where the local
 * cloud keeps its file, unless the environment of `outside` names another. Without `outside` there
 * are only ours. For who only reads, the local cloud makes no file. `secrets` learns what secret fields hold.
 */
export function makeProviders(
  stateDir: string,
  clock: Clock,
  outside?: OutsideProviders,
  use: FileUse = "changes",
  secrets = new SecretValues(outside?.env ?? {}),
): Providers {
  const elsewhere = outside?.env[localCloudVariable] ?? "";
  const file =
    elsewhere === ""
      ? join(stateDir, "local-cloud.db")
      : resolve(outside?.folder ?? ".", elsewhere);
  const cloud = new LocalCloud(file, clock, use);
  const local = new LocalProvider(cloud);
  const asUsed = (provider: InfrastructureProvider) =>
    pacedProvider(replacingUnseen(keepingSecrets(provider, secrets)), clock);
  let own: readonly InfrastructureProvider[] | undefined;
  let all: readonly InfrastructureProvider[] | undefined;
  const ours = () => (own ??= [local, awsProvider(awsClients(), outside?.env)].map(asUsed));
  return {
    get all() {
      all ??= [...ours(), ...theProjects(ours(), stateDir, clock, outside).map(asUsed)];
      return all;
    },
    get ours() {
      return ours();
    },
    local,
    secrets,
    close: () => {
      cloud.close();
      for (const provider of all ?? own ?? []) provider.close?.();
    },
  };
}

/** Throws what `all` does. */
function theProjects(
  ours: readonly InfrastructureProvider[],
  stateDir: string,
  clock: Clock,
  outside: OutsideProviders | undefined,
): readonly InfrastructureProvider[] {
  if (outside === undefined) return [];
  const origins = loadProviders(outside, { stateDir: resolve(stateDir), clock, env: outside.env });
  const builtIn = ours.map((provider): Origin => ({ provider, from: "capstan itself" }));
  refuseClashes([...builtIn, ...origins]);
  return origins.map(({ provider }) => provider);
}
