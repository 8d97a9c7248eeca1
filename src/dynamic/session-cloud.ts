import type { Json } from "../api/json.js";
import type { CallContext, CloudIdentity } from "../provider/port.js";
import {
  cloudOf,
  type Identifying,
  recordedCloud,
  refuseWrongCloud,
} from "../provider/same-cloud.js";

/** Which cloud the providers of one engine run talk to: each is asked once, and again if it failed to answer. */
export class SessionCloud {
  private readonly answers = new Map<Identifying, Promise<CloudIdentity | undefined>>();

  /** `expected`: which cloud the transaction is about, where that is known. */
  constructor(private readonly expected?: CloudIdentity) {}

  /**
   * The cloud that answers, compared with what a resource's record says, if it says anything, and with the
   * transaction's. Throws WRONG_CLOUD, and what the provider throws.
   */
  async compared(
    provider: Identifying,
    context: CallContext,
    { subject, recorded }: { readonly subject: string; readonly recorded?: Json | undefined },
  ): Promise<CloudIdentity | undefined> {
    const answered = await this.answerOf(provider, context);
    refuseWrongCloud(subject, this.expected, answered);
    refuseWrongCloud(subject, recordedCloud(recorded), answered);
    return answered;
  }

  private answerOf(
    provider: Identifying,
    context: CallContext,
  ): Promise<CloudIdentity | undefined> {
    const known = this.answers.get(provider);
    if (known !== undefined) return known;
    const asked = cloudOf(provider, context);
    this.answers.set(provider, asked);
    asked.catch(() => this.answers.delete(provider));
    return asked;
  }
}
