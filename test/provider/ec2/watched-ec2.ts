import type {
  DescribeInstancesResult,
  EC2,
  Instance,
  RunInstancesCommandOutput,
} from "@aws-sdk/client-ec2";
import type { Blindness } from "../../../src/provider-conformance/index.js";
import type { Clock } from "../../../src/provider/port.js";
import type { Moto } from "./moto.js";
import {
  hangAtTheDoor,
  type Misbehaviour,
  refuseEarly,
  refuseLooks,
  stateMeanwhile,
} from "./misbehaviour.js";

/** What a request asks and what comes back, of whatever call. */
interface Asked {
  readonly Filters?: readonly { readonly Name?: string }[];
  readonly ClientToken?: string;
}

interface Answered extends DescribeInstancesResult {
  readonly Instances?: readonly Instance[];
  readonly Subnets?: readonly { readonly SubnetId?: string }[];
  readonly SecurityGroups?: readonly { readonly GroupId?: string }[];
  readonly Subnet?: { readonly SubnetId?: string };
  readonly GroupId?: string;
}

const creating = ["RunInstancesCommand", "CreateSubnetCommand", "CreateSecurityGroupCommand"];

/**
 * A provider's client of moto, made to misbehave as EC2 may. It also adds what EC2 has and moto lacks: a client token
 * that was used before gives the instance that it made then, in whatever state that is.
 */
export class WatchedEc2 implements Misbehaviour {
  readonly client: EC2;
  hook: (() => void) | undefined;
  blindness: Blindness | undefined;
  hangs = false;
  holdsBoot = false;
  holdsOperations = false;
  losesNext = false;
  lagMs = 0;
  private readonly shownFromMs = new Map<string, number>();
  private readonly instanceOf = new Map<string, string>();

  constructor(
    private readonly moto: Moto,
    private readonly clock: Clock,
  ) {
    this.client = moto.connect().ec2;
    this.client.middlewareStack.add(
      (next, { commandName = "" }) =>
        async (args) => {
          const call = async () => {
            const { output, response } = await next(args);
            return { output, response };
          };
          if (commandName.startsWith("Describe")) {
            refuseLooks(this);
            const { output, response } = await call();
            return {
              output: this.shown(args.input as Asked, output as Answered) as never,
              response,
            };
          }
          this.hook?.();
          refuseEarly(this, commandName);
          const known =
            commandName === creating[0] ? this.madeBefore(args.input as Asked) : undefined;
          if (known !== undefined)
            return { output: (await this.again(known)) as never, response: {} };
          const answer = await call();
          if (creating.includes(commandName))
            this.remember(args.input as Asked, answer.output as Answered);
          return answer;
        },
      { step: "initialize" },
    );
    hangAtTheDoor(this.client.config, this);
  }

  private madeBefore(input: Asked): string | undefined {
    return this.instanceOf.get(input.ClientToken ?? "");
  }

  private async again(id: string): Promise<Pick<RunInstancesCommandOutput, "Instances">> {
    const all = await this.moto.instances();
    return { Instances: all.filter(({ InstanceId }) => InstanceId === id) };
  }

  private remember({ ClientToken }: Asked, made: Answered): void {
    const id = made.Instances?.[0]?.InstanceId ?? made.Subnet?.SubnetId ?? made.GroupId ?? "";
    this.shownFromMs.set(id, this.clock.now() + this.lagMs);
    if (ClientToken !== undefined) this.instanceOf.set(ClientToken, id);
    if (!this.losesNext) return;
    this.losesNext = false;
    throw new Error("the answer is lost");
  }

  /** What tags lead to comes late; what ids, names and ranges lead to does not. */
  private shown({ Filters = [] }: Asked, answer: Answered): Answered {
    const byTags = Filters.some(({ Name = "" }) => Name.startsWith("tag"));
    const isShown = (id = "") => !byTags || (this.shownFromMs.get(id) ?? 0) <= this.clock.now();
    const { Reservations, Subnets, SecurityGroups } = answer;
    return {
      ...answer,
      ...(Reservations && {
        Reservations: Reservations.map(({ Instances = [] }) => ({
          Instances: Instances.filter(({ InstanceId }) => isShown(InstanceId)).map((one) =>
            this.booting(one),
          ),
        })),
      }),
      ...(Subnets && { Subnets: Subnets.filter(({ SubnetId }) => isShown(SubnetId)) }),
      ...(SecurityGroups && {
        SecurityGroups: SecurityGroups.filter(({ GroupId }) => isShown(GroupId)),
      }),
    };
  }

  private booting(instance: Instance): Instance {
    const Name = stateMeanwhile(this, instance.State?.Name);
    return Name === undefined ? instance : { ...instance, State: { ...instance.State, Name } };
  }
}
