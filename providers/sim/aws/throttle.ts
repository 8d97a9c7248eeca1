// How many calls EC2 takes: tokens by account, region and action.

import { type TokenLevel, type Rate, takeTokens } from "../core/token-bucket.js";

/** Actions that AWS documents a bucket of their own size for (docs/sim-aws.md names the page). */
const documented: Readonly<Record<string, Rate>> = {
  "ec2:RunInstances": { capacity: 5, perSecond: 2 },
  "ec2:StartInstances": { capacity: 5, perSecond: 2 },
};

/** What actions have that only look, and those that change something. */
const looking: Rate = { capacity: 100, perSecond: 20 };
const changing: Rate = { capacity: 50, perSecond: 5 };

/** The buckets of all accounts and regions. They are full again where the process starts anew. */
export class CallThrottle {
  private readonly buckets = new Map<string, TokenLevel>();

  /** Takes a token for a call; false: there is none. */
  admits(
    call: { readonly place: string; readonly action: string; readonly isMutating: boolean },
    own: Readonly<Record<string, Rate>>,
    nowMs: number,
  ): boolean {
    const { place, action, isMutating } = call;
    const rate = own[action] ?? documented[action] ?? (isMutating ? changing : looking);
    const key = `${place} ${action}`;
    const after = takeTokens(rate, this.buckets.get(key), nowMs);
    if (after === undefined) return false;
    this.buckets.set(key, after);
    return true;
  }
}
