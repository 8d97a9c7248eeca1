import { makeProviders, type Providers } from "../../providers/index.js";
import { CapstanError, isCapstanError } from "../api/error.js";
import { noteRunning } from "../engine/locks/engine-roster.js";
import {
  ancestorNamed,
  deathNoticeMs,
  livenessOf,
  type ProcessIdentity,
} from "../engine/locks/process-identity.js";
import { ambientStateDir, projectRoot } from "../engine/backend/project.js";
import { resourceFor } from "../engine/run/handler-session.js";
import { systemClock } from "../provider/clock.js";
import type { BridgeRuntime } from "../dynamic/cloud-resource.js";
import type { DynamicResource } from "../dynamic/protocol.js";
import { SessionCloud } from "../dynamic/session-cloud.js";

/** How long a create under a plain `pulumi` waits for readiness, unless CAPSTAN_TIMEOUT says otherwise. */
const defaultTimeoutSeconds = 600;

let shared: { readonly providers: Providers; readonly runtime: BridgeRuntime } | undefined;

/**
 * What Pulumi's stock dynamic host loads for each of our resources (see providerText): the resource
 * of a kind, in inline mode. Both are made once per host process, at the first call.
 */
export function handler(kind: string): DynamicResource {
  shared ??= { providers: ambientProviders(), runtime: inlineRuntime() };
  return resourceFor(kind, shared.providers.all, shared.runtime);
}

/** A host without its engine serves nobody: nothing of what it still does would be recorded. */
function endWith(engine: ProcessIdentity | undefined): void {
  if (engine === undefined) return;
  const watch = setInterval(() => {
    if (livenessOf(engine) === "dead") process.exit(1);
  }, deathNoticeMs / 2);
  watch.unref();
}

/** A plain `pulumi` may work where nothing can be written: its lock is then nobody's to remove but its user's. */
function noteIfPossible({ pid }: ProcessIdentity): void {
  try {
    noteRunning(ambientStateDir(process.env, process.cwd()), pid);
  } catch (error) {
    if (!isCapstanError(error)) throw error;
  }
}

/** The providers of the Pulumi project, and the state folder, that the host works for. */
function ambientProviders(): Providers {
  const { env } = process;
  const folder = projectRoot(process.cwd()) ?? process.cwd();
  return makeProviders(ambientStateDir(env, process.cwd()), systemClock, { folder, env });
}

/**
 * The stock host is never told to stop: it looks whether its engine lives before each change, and all the
 * while too, since a call that is under way must not take effect after somebody else has taken over.
 */
function inlineRuntime(): BridgeRuntime {
  const engine = ancestorNamed(process.pid, "pulumi");
  endWith(engine);
  if (engine !== undefined) noteIfPossible(engine);
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
    cloud: new SessionCloud(),
    readyTimeoutMs: (Number.isFinite(seconds) ? seconds : defaultTimeoutSeconds) * 1000,
  };
}
