import { CapstanError, type ErrorDetails, isCapstanError } from "../../../src/api/error.js";

type Meaning = Pick<ErrorDetails, "code" | "retryable" | "retryAfterMs" | "hint" | "ambiguous">;

/** An account that is throttled is left alone for so long, milliseconds. */
const throttledMs = 2_000;

/**
 * Errors by which nothing has happened, by their names; the first that fits counts. Source: EC2 API reference, "Error codes
 * for the Amazon EC2 API"; Elastic Load Balancing API references, versions 2015-12-01 and 2012-06-01.
 */
const refusals: readonly (readonly [RegExp, Meaning])[] = [
  [
    /^(RequestLimitExceeded|(Dependency)?Throttl\w*|TooManyRequests|EC2Throttled|SlowDown)$/,
    { code: "CLOUD_THROTTLED", retryable: true, retryAfterMs: throttledMs },
  ],
  // The token has made something with other parameters, such as user data of a command that was killed.
  [/^IdempotentParameterMismatch$/, { code: "CLOUD_FAILED", ambiguous: true }],
  [
    /^(Insufficient\w*Capacity|InsufficientCapacity\w*|MaxSpotInstanceCountExceeded|SpotMaxPriceTooLow)$/,
    {
      code: "CAPACITY",
      hint: "another zone or another instance type may have room: alternatives of the Machine names them",
    },
  ],
  [/^(UnauthorizedOperation|AccessDenied|OptInRequired)$/, { code: "PERMISSION" }],
  [
    /^(AuthFailure|InvalidClientTokenId|UnrecognizedClient|SignatureDoesNotMatch|ExpiredToken\w*|RequestExpired|CredentialsProviderError|TokenProviderError|Blocked)$/,
    {
      code: "PERMISSION",
      hint: "check the credentials: aws sts get-caller-identity shows whose they are",
    },
  ],
  [
    /LimitExceeded$|^TooMany|^InsufficientFreeAddressesInSubnet$|^PendingVerification$/,
    {
      code: "QUOTA",
      hint: "ask for more in the console of Service Quotas, or delete what is not needed",
    },
  ],
  [/^(DependencyViolation|ResourceInUse|VolumeInUse|\w+\.InUse)$/, { code: "IN_USE" }],
  [/NotFound$|^(IncorrectState|IncorrectInstanceState|InvalidTarget)$/, { code: "NOT_YET_USABLE" }],
  [/^OperationNotPermitted$/, { code: "CLOUD_FAILED", hint: "take its protection away first" }],
  [
    /^(Invalid|Missing|Malformed|Unsupported|Validation|Duplicate|Unknown)|\.(Conflict|Duplicate|AlreadyAssociated|Range)$|^VPCIdNotSpecified$/,
    { code: "INVALID_INPUT" },
  ],
];

/** What is known of a call that failed. */
interface FailedCall {
  /** As policies of IAM name it, e.g. "ec2:CreateVpc". */
  readonly action: string;
  readonly changes: boolean;
  /** What it is about, where AWS does not say so itself. */
  readonly resource?: string;
}

/** The name that AWS gave an error, of whatever was made of it. Pure. */
export function awsNameOf(error: unknown): string {
  const { cause = error } = error instanceof Error ? error : { cause: error };
  return cause instanceof Error ? plainName(cause) : "";
}

/** Some services call the same error a "...Exception". */
function plainName({ name }: Error): string {
  return name.replace(/(?<=.)Exception$/, "");
}

/**
 * An error of the SDK in a code of ours, with the words of AWS. What may have taken effect is `ambiguous`; what only
 * looks is asked again. Pure.
 */
export function translated(error: unknown, { action, changes, resource }: FailedCall): unknown {
  if (!(error instanceof Error) || error.name === "AbortError") return error;
  // Credentials are asked for on the way to a call, and what they fail with is said already.
  if (isCapstanError(error)) return error;
  const name = plainName(error);
  const words = withoutCode(error.message);
  const about = { source: "cloud" as const, subject: action, cause: error };
  // EC2 has no code of its own for a profile that is not there, or not everywhere yet.
  if (name === "InvalidParameterValue" && words.includes("iamInstanceProfile")) {
    return new CapstanError({ ...about, code: "NOT_YET_USABLE", message: `${action}: ${words}` });
  }
  // So EC2 says that a NAT gateway or a load balancer still has the address.
  if (name === "AuthFailure" && action === "ec2:ReleaseAddress") {
    return new CapstanError({ ...about, code: "IN_USE", message: `${action}: ${words}` });
  }
  const meaning = refusals.find(([pattern]) => pattern.test(name))?.[1];
  if (meaning === undefined) {
    const message = `${action} failed: ${name}: ${words}`;
    return changes
      ? new CapstanError({ ...about, code: "CLOUD_FAILED", message, ambiguous: true })
      : new CapstanError({ ...about, code: "CLOUD_FAILED", message, retryable: true });
  }
  if (meaning.code === "PERMISSION" && meaning.hint === undefined) {
    return new CapstanError({ ...about, ...denied(action, name, { words, resource }) });
  }
  return new CapstanError({ ...about, ...meaning, message: `${action}: ${name}: ${words}` });
}

/** The end of what EC2 says of a refusal is for a machine: `aws sts decode-authorization-message` reads it. */
function withoutCode(message: string): string {
  return message.replace(/(?<!\s)\s*Encoded authorization failure message: \S+/, "").trim();
}

function denied(
  action: string,
  name: string,
  { words, resource: known }: { readonly words: string; readonly resource: string | undefined },
): Omit<ErrorDetails, "source"> {
  const resource = known ?? /on resource: (\S+)/.exec(words)?.[1] ?? "*";
  // What is refused may be another right than that to the call: to tag what it makes, or to pass a role to it.
  const [, needed = action] = /not authorized to perform: ([\w-]+:\w+)/.exec(words) ?? [];
  const statement = JSON.stringify({ Effect: "Allow", Action: needed, Resource: resource });
  const trust = needed.startsWith("sts:AssumeRole")
    ? `; the trust policy of ${resource} has to name them, too, with their external id if it asks for one`
    : "";
  return {
    code: "PERMISSION",
    message: `may not call ${needed} on ${resource}: ${name}: ${words}`,
    hint: `add to the policy of these credentials: ${statement}${trust}`,
  };
}

/** Whether a call was refused, by its name, because a session is over. Pure. */
export function isExpired(error: unknown): boolean {
  return /^(ExpiredToken|RequestExpired)$/.test(awsNameOf(error));
}
