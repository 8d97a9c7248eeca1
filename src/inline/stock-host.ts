import { makeProviders, type Providers } from "../../providers/index.js";
import { isCapstanError } from "../api/error.js";
import { noteRunning } from "../engine/locks/engine-roster.js";
import {
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
import { ProgramBootstrapper } from "./joining/program-client.js";
import { contextUnder, inlineTimeoutMs, ownEngine } from "./joining/own-engine.js";

let shared: { readonly providers: Providers; readonly runtime: BridgeRuntime } | undefined;

/**
 * What Pulumi's stock dynamic host loads for each of our resources (see providerText): the resource
 * of a kind, in inline mode. Both are made once per host process, at the first call.
 */
export function handler(kind: string): DynamicResource {
  shared ??= sharedOfProcess();
  return resourceFor(kind, shared.providers.all, shared.runtime);
}

function sharedOfProcess(): NonNullable<typeof shared> {
  const providers = ambientProviders();
  return { providers, runtime: inlineRuntime(providers) };
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
function inlineRuntime({ all: providers }: Providers): BridgeRuntime {
  const engine = ownEngine();
  endWith(engine);
  if (engine !== undefined) noteIfPossible(engine);
  const stateDir = ambientStateDir(process.env, process.cwd());
  return {
    context: contextUnder(engine),
    mode: "inline",
    cloud: new SessionCloud(),
    readyTimeoutMs: inlineTimeoutMs(process.env),
    bootstrap: new ProgramBootstrapper({ stateDir, engine, providers }),
  };
}
