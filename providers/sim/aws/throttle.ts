// How many calls EC2 and Elastic Load Balancing take: tokens by account, region and action.

import { type TokenLevel, type Rate, takeTokens } from "../core/token-bucket.js";

/** Actions that AWS documents a bucket of their own size for (docs/sim-aws.md names the page). */
const documented: Readonly<Record<string, Rate>> = {
  "ec2:RunInstances": { capacity: 5, perSecond: 2 },
  "ec2:StartInstances": { capacity: 5, perSecond: 2 },
};

/** What actions have that only look, and those that change something. */
const looking: Rate = { capacity: 100, perSecond: 20 };
const changing: Rate = { capacity: 50, perSecond: 5 };

/** Elastic Load Balancing has one bucket for all that only looks. AWS has no figure for what changes something. */
const balancing = { service: "elasticloadbalancing", looking: { capacity: 40, perSecond: 10 } };

/** A call that asks to be admitted. */
interface LimitedCall {
  /** Account and region. */
  readonly place: string;
  readonly action: string;
  readonly isMutating: boolean;
}

/** What is taken from, by its name within an account and region. */
interface Bucket {
  readonly name: string;
  readonly rate: Rate;
}

/** undefined: calls like it have no limit. Pure. */
function bucketOf(
  { action, isMutating }: LimitedCall,
  own: Readonly<Record<string, Rate>>,
): Bucket | undefined {
  const rate = own[action] ?? documented[action];
  if (rate !== undefined) return { name: action, rate };
  const [service = ""] = action.split(":");
  if (service === "ec2") return { name: action, rate: isMutating ? changing : looking };
  if (service !== balancing.service || isMutating) return undefined;
  return { name: `${service} looking`, rate: balancing.looking };
}

/** The buckets of all accounts and regions. They are full again where the process starts anew. */
export class CallThrottle {
  private readonly buckets = new Map<string, TokenLevel>();

  /** Takes a token for a call; false: there is none. */
  admits(call: LimitedCall, own: Readonly<Record<string, Rate>>, nowMs: number): boolean {
    const bucket = bucketOf(call, own);
    if (bucket === undefined) return true;
    const key = `${call.place} ${bucket.name}`;
    const after = takeTokens(bucket.rate, this.buckets.get(key), nowMs);
    if (after === undefined) return false;
    this.buckets.set(key, after);
    return true;
  }
}
