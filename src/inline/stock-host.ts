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
import { contextUnder, inlineTimeoutMs, pulumiEngine } from "./joining/own-engine.js";

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
  const stateDir = ambientStateDir(process.env, process.cwd());
  const providers = ambientProviders(stateDir);
  return { providers, runtime: inlineRuntime(stateDir, providers) };
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
function noteIfPossible(stateDir: string, { pid }: ProcessIdentity): void {
  try {
    noteRunning(stateDir, pid);
  } catch (error) {
    if (!isCapstanError(error)) throw error;
  }
}

/** The providers of the Pulumi project that the host works for. */
function ambientProviders(stateDir: string): Providers {
  const { env } = process;
  const folder = projectRoot(process.cwd()) ?? process.cwd();
  return makeProviders(stateDir, systemClock, { folder, env });
}

/**
 * The stock host is never told to stop: it looks whether its engine lives before each change, and all the
 * while too, since a call that is under way must not take effect after somebody else has taken over.
 */
function inlineRuntime(stateDir: string, { all: providers }: Providers): BridgeRuntime {
  const engine = pulumiEngine();
  endWith(engine);
  if (engine !== undefined) noteIfPossible(stateDir, engine);
  return {
    context: contextUnder(engine),
    mode: "inline",
    cloud: new SessionCloud(),
    readyTimeoutMs: inlineTimeoutMs(process.env),
    bootstrap: new ProgramBootstrapper({ stateDir, engine, providers }),
  };
}
