import type { EC2 } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { onCommands, type Stack } from "../commands.js";

/** A request of the SDK before it is sent. */
export interface TappedCall {
  /** "ec2:CreateVpc". */
  readonly action: string;
  readonly input: Readonly<Record<string, unknown>>;
}

type Answer = Readonly<Record<string, unknown>>;

/** What becomes of a call: `send` sends it, with this input or another one. */
type Tap = (
  call: TappedCall,
  send: (input?: TappedCall["input"]) => Promise<Answer>,
) => Promise<Answer>;

/** What is tapped. */
interface TappedClients {
  readonly ec2: EC2;
  readonly elb: ElasticLoadBalancingV2;
  readonly classicElb: ElasticLoadBalancing;
  readonly secrets: SecretsManager;
}

/** Sits between clients and their cloud. */
export function tapped({ ec2, elb, classicElb, secrets }: TappedClients, tap: Tap): void {
  tapStack("ec2", ec2.middlewareStack, tap);
  tapStack("secretsmanager", secrets.middlewareStack, tap);
  tapStack("elasticloadbalancing", elb.middlewareStack, tap);
  tapStack("elasticloadbalancing", classicElb.middlewareStack, tap);
}

function tapStack(service: string, stack: Stack, tap: Tap): void {
  onCommands(stack, async (commandName, args, next) => {
    const action = `${service}:${commandName.replace(/Command$/, "")}`;
    const input = args.input as TappedCall["input"];
    const output = await tap({ action, input }, async (sent = input) => {
      return (await next({ ...args, input: sent })).output as Answer;
    });
    return { output, response: {} };
  });
}
