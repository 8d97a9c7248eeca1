import { CapstanError } from "../../../src/api/error.js";
import type { CallContext, CloudIdentity } from "../../../src/provider/port.js";
import { refuseWrongCloud } from "../../../src/provider/same-cloud.js";
import { asker } from "./ask.js";
import type { AwsClients } from "./clients.js";

/** The environment decides where requests go: an endpoint of one's own is another cloud. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Whoever asks which account it is. */
type Asking = Pick<CallContext, "clock" | "signal">;

/** The account and region that credentials lead to. */
export class CloudAccount {
  private known: Promise<CloudIdentity> | undefined;

  constructor(
    private readonly clients: AwsClients,
    private readonly env: Environment,
  ) {}

  /** Asked once: the same credentials stay those of one account. */
  identity(ctx: Asking): Promise<CloudIdentity> {
    this.known ??= this.asked(ctx).catch((error: unknown) => {
      this.known = undefined;
      throw error;
    });
    return this.known;
  }

  /**
   * Looks for credentials anew, since those that there were have expired. Throws WRONG_CLOUD where the new ones are of
   * another account: somebody has logged in elsewhere meanwhile.
   */
  async renew(ctx: Asking): Promise<void> {
    const before = await this.known;
    this.known = undefined;
    this.clients.renew?.();
    if (before === undefined) return;
    refuseWrongCloud("what was begun", before, await this.identity(ctx));
  }

  private async asked({ clock, signal }: Asking): Promise<CloudIdentity> {
    const { clients, env } = this;
    const ask = asker("sts", () => clients.sts(), { renew: async () => clients.renew?.() });
    const ctx = { clock, signal, assertEngineAlive: () => {} };
    const region = await regionOf(clients);
    const { Account: account = "" } = await ask(ctx, "GetCallerIdentity", (sts, options) =>
      sts.getCallerIdentity({}, options),
    );
    const endpoint = env["AWS_ENDPOINT_URL_EC2"] ?? env["AWS_ENDPOINT_URL"];
    return endpoint === undefined ? { account, region } : { account, region, endpoint };
  }
}

async function regionOf(clients: AwsClients): Promise<string> {
  const { config } = await clients.sts();
  try {
    return await config.region();
  } catch (cause) {
    throw new CapstanError({
      code: "INVALID_INPUT",
      source: "user",
      message: "cannot tell which region of AWS is meant",
      hint: "set AWS_REGION, or a profile that has a region",
      cause,
    });
  }
}
