import { lostKeysHint, recordedKeys } from "../../records/recorded-keys.js";
import { CapstanError } from "../../api/error.js";
import type { HostKeys } from "../../bootstrap/certificates/key-ring.js";
import type { StackState } from "../../engine/backend/state.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { recordedServer } from "../../records/recorded-server.js";
import { nothingRecorded, recordedProvider, stacksOf } from "./stacks.js";
import { type CommandContext, type GlobalOptions, openRecords } from "../context.js";

/** A cluster whose keys are recorded. */
export interface ClusterAccess {
  readonly stack: string;
  /** "default/prod". */
  readonly cluster: string;
  readonly keys: HostKeys;
  readonly state: StackState;
  readonly provider: InfrastructureProvider | undefined;
}

/**
 * The keys of one cluster, from its state alone. Throws NOT_FOUND for a cluster of which nothing is recorded, or no
 * keys; `verb` is what was asked for: "make a kubeconfig for".
 */
export async function accessTo(
  named: string,
  verb: string,
  options: GlobalOptions,
  context: CommandContext,
): Promise<ClusterAccess> {
  const engine = await openRecords(options, context);
  const [stack = named] = await stacksOf([named], { file: [] }, engine, context);
  const state = await engine.readState(stack);
  const { transaction } = state;
  if (transaction === undefined) throw await nothingRecorded(verb, stack, engine);
  const { target } = transaction;
  const keys = recordedKeys(state);
  const provider = recordedProvider(stack, state, context);
  if (keys === undefined) throw noKeys(verb, target.cluster, provider);
  return { stack, cluster: target.cluster, keys, state, provider };
}

function noKeys(
  verb: string,
  cluster: string,
  provider: InfrastructureProvider | undefined,
): CapstanError {
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: cluster,
    message: `cannot ${verb} ${cluster}: its state holds no keys`,
    hint:
      provider?.userData === undefined
        ? `hosts of provider ${provider?.name ?? "unknown"} take no user data, so none were made`
        : lostKeysHint,
  });
}

/**
 * Where the API servers answer, as it was recorded: also while the cloud cannot be asked. Throws NOT_FOUND where
 * nobody knows yet.
 */
export function serverOf({ cluster, state, provider }: ClusterAccess): string {
  const server = recordedServer(state, provider);
  if (server !== undefined) return server;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: cluster,
    message: `cannot make a kubeconfig for ${cluster}: nobody knows yet where its API server answers`,
    hint: "its load balancer is not made; give an address with --server https://HOST:PORT",
  });
}
