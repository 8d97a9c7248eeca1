import { makeProviders, type Providers } from "../../providers/index.js";
import { CapstanError } from "../api/error.js";
import { ancestorNamed, livenessOf } from "../engine/process-identity.js";
import { ambientStateDir, projectRoot } from "../engine/project.js";
import { resourceFor } from "../engine/session.js";
import { systemClock } from "../provider/clock.js";
import type { BridgeRuntime } from "./cloud-resource.js";
import type { DynamicResource } from "./protocol.js";

/** How long a create under a plain `pulumi` waits for readiness, unless CAPSTAN_TIMEOUT says otherwise. */
const defaultTimeoutSeconds = 600;

interface Shared {
  readonly providers: Providers;
  readonly runtime: BridgeRuntime;
  readonly resources: Map<string, DynamicResource>;
}

let shared: Shared | undefined;

/**
 * What Pulumi's stock dynamic host loads for each of our resources (see providerText): the resource
 * of a kind, in inline mode. Both are made once per host process, at the first call.
 */
export function handler(kind: string): DynamicResource {
  shared ??= { providers: ambientProviders(), runtime: inlineRuntime(), resources: new Map() };
  const { providers, runtime, resources } = shared;
  const known = resources.get(kind) ?? resourceFor(kind, providers.all, runtime);
  resources.set(kind, known);
  return known;
}

/** The providers of the Pulumi project, and the state folder, that the host works for. */
function ambientProviders(): Providers {
  const { env } = process;
  const folder = projectRoot(process.cwd()) ?? process.cwd();
  return makeProviders(ambientStateDir(env, process.cwd()), systemClock, { folder, env });
}

/** The stock host is never told to stop, so before each change it looks whether its engine lives. */
function inlineRuntime(): BridgeRuntime {
  const engine = ancestorNamed(process.pid, "pulumi");
  const seconds = Number(process.env["CAPSTAN_TIMEOUT"] ?? defaultTimeoutSeconds);
  return {
    context: {
      clock: systemClock,
      signal: new AbortController().signal,
      assertEngineAlive: () => {
        if (engine !== undefined && livenessOf(engine) === "alive") return;
        throw new CapstanError({
          code: "ENGINE_DEAD",
          source: "engine",
          message: "the engine that asked for this change has ended; nothing more is changed",
        });
      },
    },
    mode: "inline",
    readyTimeoutMs: (Number.isFinite(seconds) ? seconds : defaultTimeoutSeconds) * 1000,
  };
}
