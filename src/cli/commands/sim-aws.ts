import { asVerbatim } from "../../api/leaving-text.js";
import { SimServer } from "../../../providers/sim/aws/server.js";
import { SimulatedAws } from "../../../providers/sim/aws/simulated-aws.js";
import { CapstanError, messageOf } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit.js";

export interface SimAwsOptions {
  readonly port?: number;
  readonly host: string;
  readonly region: string;
  readonly file?: string;
  readonly speed: number;
  readonly lag: number;
  readonly throttle?: boolean;
}

/** capstan sim aws: serves a simulated AWS until it is interrupted. Errors: BAD_USAGE, CLOUD_CORRUPT. */
export async function simAws(options: SimAwsOptions, context: CommandContext): Promise<number> {
  const server = await started(options, context);
  const env = {
    AWS_ENDPOINT_URL: server.endpoint,
    AWS_REGION: options.region,
    AWS_DEFAULT_REGION: options.region,
    AWS_ACCESS_KEY_ID: "simulated",
    AWS_SECRET_ACCESS_KEY: "simulated",
  };
  if (context.json) context.emitVerbatim({ type: "simAws", endpoint: server.endpoint, env });
  else {
    const lines = Object.entries(env).map(([name, value]) => `export ${name}=${value}\n`);
    context.terminal.document(asVerbatim(lines.join("")));
    context.terminal.error(`a simulated AWS answers at ${server.endpoint} until interrupted\n`);
  }
  await interrupted(context.interruption.stop);
  await server.stop();
  return exitCodes.done;
}

async function started(
  { port = 0, host, region, file, speed, lag, throttle = false }: SimAwsOptions,
  { clock }: CommandContext,
): Promise<SimServer> {
  const aws = simulated({ clock, speed, stateFile: file, lag, throttle });
  try {
    return await SimServer.start(aws, { port, host, region });
  } catch (error) {
    throw new CapstanError({
      code: "BAD_USAGE",
      source: "user",
      message: `cannot listen on ${host}:${port}: ${messageOf(error)}`,
      hint: "choose another --port, or none for any that is free",
      cause: error,
    });
  }
}

interface Wish {
  readonly clock: CommandContext["clock"];
  readonly speed: number;
  readonly stateFile: string | undefined;
  readonly lag: number;
  readonly throttle: boolean;
}

function simulated({ clock, speed, stateFile, lag, throttle }: Wish): SimulatedAws {
  const settings = { describeLagMs: lag, throttle };
  try {
    return new SimulatedAws(omitUndefined({ clock, speed, stateFile, settings }));
  } catch (error) {
    throw new CapstanError({
      code: "CLOUD_CORRUPT",
      source: "user",
      message: `cannot read the simulated accounts in ${stateFile ?? ""}: ${messageOf(error)}`,
      hint: "name another --file, or delete this one to begin anew",
      cause: error,
    });
  }
}

function interrupted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
