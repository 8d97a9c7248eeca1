import { CapstanError } from "../../api/error.js";
import {
  ancestorNamed,
  livenessOf,
  type ProcessIdentity,
} from "../../engine/locks/process-identity.js";
import { systemClock } from "../../provider/clock.js";
import type { CallContext } from "../../provider/port.js";

/** How long what is made under a plain `pulumi` is waited for, unless CAPSTAN_TIMEOUT says otherwise. */
const defaultTimeoutSeconds = 600;

/** Pulumi's engine, which has started this process; undefined where the system does not tell. */
export function pulumiEngine(): ProcessIdentity | undefined {
  return ancestorNamed(process.pid, "pulumi");
}

/** For calls that an engine has asked for, whatever process makes them: once it has ended, nothing more is changed. */
export function contextUnder(engine: ProcessIdentity | undefined): CallContext {
  return {
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
  };
}

/** In milliseconds. */
export function inlineTimeoutMs(env: NodeJS.ProcessEnv): number {
  const seconds = Number(env["CAPSTAN_TIMEOUT"]);
  return (Number.isFinite(seconds) && seconds > 0 ? seconds : defaultTimeoutSeconds) * 1000;
}
