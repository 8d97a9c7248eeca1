import { EC2 } from "@aws-sdk/client-ec2";
import { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { ServiceQuotas } from "@aws-sdk/client-service-quotas";
import { STS } from "@aws-sdk/client-sts";
import type { AwsClients } from "../../../../providers/aws/calls/clients.js";
import { callOf } from "../../../../providers/sim/aws/request.js";
import { SimulatedAws } from "../../../../providers/sim/aws/simulated-aws.js";
import type { SettingsChange } from "../../../../providers/sim/aws/model/settings.js";
import type { Clock } from "../../../../src/provider/port.js";
import { FakeClock } from "../../../support/fake-clock.js";
import type { Controllers } from "./life.js";

export const region = "eu-north-1";
export const accessKey = "AKIDLIFE";

/** A request as the SDK sends it. */
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** A simulated AWS in this process, and clients of the SDK that reach it without a socket. Whoever sleeps moves its time on. */
export class SimCloud {
  readonly aws: SimulatedAws;
  readonly clock: Clock;
  readonly ec2: EC2;
  readonly elb: ElasticLoadBalancingV2;
  readonly classicElb: ElasticLoadBalancing;
  readonly secrets: SecretsManager;
  readonly clients: AwsClients;
  readonly controllers: Controllers;
  private readonly sts: STS;

  constructor(settings: SettingsChange = {}) {
    const still = new FakeClock(Date.parse("2026-11-23T08:00:00Z"), "manual");
    this.aws = new SimulatedAws({ clock: still, settings });
    this.clock = clockOf(this.aws);
    const config = this.config(accessKey);
    const others = this.config("AKIDCONTROLLERS");
    this.controllers = {
      ec2: new EC2(others),
      classicElb: new ElasticLoadBalancing(others),
      secrets: new SecretsManager(others),
    };
    this.ec2 = new EC2(config);
    this.elb = new ElasticLoadBalancingV2(config);
    this.classicElb = new ElasticLoadBalancing(config);
    this.secrets = new SecretsManager(config);
    this.sts = new STS(config);
    const quotas = new ServiceQuotas(config);
    this.clients = {
      ec2: async () => this.ec2,
      elb: async () => this.elb,
      classicElb: async () => this.classicElb,
      sts: async () => this.sts,
      quotas: async () => quotas,
      secrets: async () => this.secrets,
      close: () => undefined,
    };
  }

  /** Keys of the tags that a resource bears, by its id or ARN. */
  tagKeysOf(id: string): string[] {
    const { accounts, settings } = this.aws;
    const tables = accounts.region(settings.account, region).store.snapshot();
    const rows: readonly { id: string; tags?: unknown }[] = Object.values(tables).flat();
    return Object.keys(rows.find((one) => one.id === id)?.tags ?? {});
  }

  private config(accessKeyId: string) {
    const handle = async (request: Sent) => ({ response: await this.answer(request) });
    return {
      region,
      endpoint: "http://127.0.0.1",
      credentials: { accessKeyId, secretAccessKey: "secret" },
      maxAttempts: 1,
      requestHandler: { handle },
    };
  }

  private async answer({ method, path, headers, body }: Sent) {
    const call = callOf({ method, path, headers, body: textOf(body) }, region);
    const answer = call === undefined ? undefined : await this.aws.call(call);
    if (answer === undefined)
      throw Object.assign(new Error("socket hang up"), { name: "ECONNRESET" });
    const { status: statusCode, contentType } = answer;
    const answered = { ...answer.headers, "content-type": contentType };
    return { statusCode, headers: answered, body: new TextEncoder().encode(answer.body) };
  }
}

function textOf(body: unknown): string {
  return body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body ?? "");
}

function clockOf(aws: SimulatedAws): Clock {
  return {
    now: () => aws.clock.now(),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      aws.advance(ms);
    },
  };
}
