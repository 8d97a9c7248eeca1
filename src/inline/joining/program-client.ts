import { request } from "node:http";
import { CapstanError, isCapstanError } from "../../api/error.js";
import type { JsonObject } from "../../api/json.js";
import { secretNameOf } from "../../bootstrap/host/delivery.js";
import type { HostBootstrapper } from "../../dynamic/host-bootstrapper.js";
import type { ProcessIdentity } from "../../engine/locks/process-identity.js";
import type {
  CallContext,
  Identity,
  InfrastructureProvider,
  Observed,
  UserData,
} from "../../provider/port.js";
import { notedAddress, type ProgramAddress } from "./program-address.js";
import { errorIn, userDataIn } from "./program-wire.js";

/** Where a host of resources works: for which engine, and on which cloud's. */
interface HostPlace {
  readonly stateDir: string;
  readonly engine: ProcessIdentity | undefined;
  readonly providers: readonly InfrastructureProvider[];
}

/** What hosts are given in a Pulumi program: Pulumi's own process has inputs alone, so it asks the program that it works for. */
export class ProgramBootstrapper implements HostBootstrapper {
  constructor(private readonly place: HostPlace) {}

  /** Throws what the program answers, and ENGINE_DEAD where none does. */
  async userDataFor(ctx: CallContext, who: Identity): Promise<UserData> {
    await ctx.assertEngineAlive();
    const { stateDir, engine } = this.place;
    const address = engine && notedAddress(stateDir, engine);
    if (address === undefined) throw noProgram(who);
    const { status, text } = await asked(address, who).catch((error: unknown) => {
      throw noProgram(who, error);
    });
    const body = JSON.parse(text) as JsonObject;
    if (status !== 200) throw errorIn(body);
    return userDataIn(body);
  }

  /**
   * What is kept for a host that never became a node. A cluster that keeps nothing may have no right to ask. Members leave only with
   * their whole cluster, which nobody has to be told.
   */
  async release(ctx: CallContext, { who }: Observed): Promise<void> {
    const provider = this.place.providers.find(({ hostKind }) => hostKind === who.kind);
    await ctx.assertEngineAlive();
    try {
      await provider?.userData?.secrets?.delete(ctx, secretNameOf(who.token), who);
    } catch (error) {
      if (!isCapstanError(error) || error.code !== "PERMISSION") throw error;
    }
  }

  /** The program has ended when hosts go: their Nodes are left to whoever cares for them. */
  forget(): Promise<void> {
    return Promise.resolve();
  }
}

function asked(
  { port, key }: ProgramAddress,
  who: Identity,
): Promise<{ readonly status: number; readonly text: string }> {
  const options = {
    host: "127.0.0.1",
    port,
    method: "POST",
    path: "/user-data",
    headers: { authorization: `Bearer ${key}` },
  };
  return new Promise((resolve, reject) => {
    const asking = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, text });
      });
    });
    asking.on("error", reject);
    asking.end(JSON.stringify(who));
  });
}

function noProgram({ kind, name }: Identity, cause?: unknown): CapstanError {
  return new CapstanError({
    code: "ENGINE_DEAD",
    source: "engine",
    subject: name,
    message: `cannot create ${kind} ${name}: the Pulumi program that knows its cluster does not answer`,
    hint: "it may have ended; the next pulumi up goes on",
    cause,
  });
}
