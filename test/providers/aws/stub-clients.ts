import type { AwsClients } from "../../../providers/aws/calls/clients.js";
import { awsProvider } from "../../../providers/aws/provider.js";
import type { JsonObject } from "../../../src/api/json.js";
import type {
  CreateContext,
  Identity,
  InfrastructureProvider,
} from "../../../src/provider/port.js";
import { FakeClock } from "../../support/fake-clock.js";

/** What calls of AWS are answered with, by name: "describeVpcs", "classic describeTags" of the API with classic load balancers. */
export type StubAnswers = Readonly<Record<string, (input: JsonObject) => object>>;

/** A request as it was made: its name, and what it asked for. */
export interface StubRequest {
  readonly call: string;
  readonly input: JsonObject;
}

/** Whoever asks is asked first where it is: that is no request of a test. */
const account = {
  config: { region: async () => "eu-north-1" },
  getCallerIdentity: async () => ({ Account: "123456789012" }),
};

/** A provider whose clients answer so, and what they were asked. A call without an answer fails. */
export function stubbed(answers: StubAnswers): {
  readonly provider: InfrastructureProvider;
  readonly asked: StubRequest[];
} {
  const asked: StubRequest[] = [];
  const clientOf = (prefix = "") =>
    new Proxy(
      { config: { region: async () => "eu-north-1" } },
      {
        get: (target, name: string) => {
          if (name === "config") return target.config;
          if (name === "then") return undefined;
          const call = `${prefix}${name}`;
          return async (input: JsonObject) => {
            asked.push({ call, input });
            const answer = answers[call];
            if (answer === undefined) throw refusal("NobodyAnswers", call);
            return answer(input);
          };
        },
      },
    );
  const client = clientOf();
  const made = async () => client as never;
  const isAsked = answers["getCallerIdentity"] !== undefined;
  const sts = async () => (isAsked ? client : account) as never;
  const clients: AwsClients = {
    ec2: made,
    elb: made,
    classicElb: async () => clientOf("classic ") as never,
    sts,
    quotas: made,
    secrets: made,
    close: () => {},
  };
  return { provider: awsProvider(clients), asked };
}

/** An error as the SDK throws it. */
export function refusal(name: string, message = "the words of AWS"): Error {
  return Object.assign(new Error(message), { name });
}

export const stubContext: CreateContext = {
  clock: new FakeClock(),
  signal: new AbortController().signal,
  assertEngineAlive: () => {},
  userData: async () => ({
    format: "cloud-config",
    text: "#cloud-config",
    packed: new TextEncoder().encode("packed"),
  }),
};

/** Whoever a resource of a kind is. */
export function someone(kind: string, name = "one"): Identity {
  const token = "0123456789abcdef0123456789abcdef";
  return { cluster: "default/demo", clusterUid: "uid", kind, name, token };
}

/** The tags that say so. */
export function markTagsOf(who: Identity): { Key: string; Value: string }[] {
  const names = ["cluster", "clusterUid", "kind", "name", "token"] as const;
  return names.map((mark) => ({ Key: `capstan:${mark}`, Value: who[mark] }));
}
