import type { EC2 } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import { onCommands, type Stack } from "./commands.js";
import type { Blindness } from "../../../src/provider-conformance/index.js";
import type { Clock } from "../../../src/provider/port.js";
import {
  hangAtTheDoor,
  type Misbehaviour,
  refusal,
  refuseEarly,
  refuseLooks,
  stateMeanwhile,
} from "../../provider/ec2/misbehaviour.js";

/** What a request asks, of whatever call. */
interface Asked {
  readonly Filters?: readonly { readonly Name?: string }[];
  readonly ClientToken?: string;
}

type Answered = Readonly<Record<string, unknown>>;

/** Where the id of what a call has made is, in its answer. */
const made: Readonly<Record<string, (answer: Answered) => unknown>> = {
  RunInstancesCommand: ({ Instances }) => at(Instances, "InstanceId"),
  CreateVpcCommand: ({ Vpc }) => at([Vpc], "VpcId"),
  CreateSubnetCommand: ({ Subnet }) => at([Subnet], "SubnetId"),
  CreateInternetGatewayCommand: ({ InternetGateway }) => at([InternetGateway], "InternetGatewayId"),
  AllocateAddressCommand: ({ AllocationId }) => AllocationId,
  CreateNatGatewayCommand: ({ NatGateway }) => at([NatGateway], "NatGatewayId"),
  CreateRouteTableCommand: ({ RouteTable }) => at([RouteTable], "RouteTableId"),
  CreateSecurityGroupCommand: ({ GroupId }) => GroupId,
  AuthorizeSecurityGroupIngressCommand: ({ SecurityGroupRules }) =>
    at(SecurityGroupRules, "SecurityGroupRuleId"),
  CreateVolumeCommand: ({ VolumeId }) => VolumeId,
  CreateLoadBalancerCommand: ({ LoadBalancers }) => at(LoadBalancers, "LoadBalancerArn"),
  CreateTargetGroupCommand: ({ TargetGroups }) => at(TargetGroups, "TargetGroupArn"),
  CreateListenerCommand: ({ Listeners }) => at(Listeners, "ListenerArn"),
  RegisterTargetsCommand: () => undefined,
};

function at(list: unknown, field: string): unknown {
  return Array.isArray(list) ? (list[0] as Answered | undefined)?.[field] : undefined;
}

/**
 * A provider's clients of moto, made to misbehave as AWS may. They also add what AWS has and moto lacks: a client token
 * that was used before is answered with what it made then.
 */
export class WatchedClients implements Misbehaviour {
  hook: (() => void) | undefined;
  blindness: Blindness | undefined;
  hangs = false;
  holdsBoot = false;
  holdsOperations = false;
  losesNext = false;
  /** EC2 has no room for the next instance. */
  refusesNext = false;
  lagMs = 0;
  private readonly shownFromMs = new Map<string, number>();
  private readonly answerOf = new Map<string, Answered>();

  constructor(
    readonly ec2: EC2,
    readonly elb: ElasticLoadBalancingV2,
    private readonly clock: Clock,
  ) {
    this.watch(ec2.middlewareStack);
    this.watch(elb.middlewareStack);
    hangAtTheDoor(ec2.config, this);
    hangAtTheDoor(elb.config, this);
  }

  private watch(stack: Stack): void {
    onCommands(stack, async (commandName, args, next) => {
      const asked = args.input as Asked;
      // Moto announces nothing, and does not know the filter.
      if (commandName === "DescribeInstanceStatusCommand") {
        return { output: { InstanceStatuses: [] }, response: {} };
      }
      if (commandName.startsWith("Describe")) {
        refuseLooks(this);
        const { output, response } = await next(args);
        return { output: this.shown(asked, output as Answered), response };
      }
      this.hook?.();
      refuseEarly(this, commandName);
      if (this.refusesNext && commandName === "RunInstancesCommand") {
        this.refusesNext = false;
        throw refusal("InsufficientInstanceCapacity");
      }
      const before = this.answerOf.get(asked.ClientToken ?? "");
      if (before !== undefined) return { output: before, response: {} };
      const answer = await next(args);
      this.remember(commandName, asked, answer.output as Answered);
      return answer;
    });
  }

  private remember(commandName: string, { ClientToken }: Asked, answer: Answered): void {
    const idIn = made[commandName];
    if (idIn === undefined) return;
    this.shownFromMs.set(String(idIn(answer)), this.clock.now() + this.lagMs);
    if (ClientToken !== undefined) this.answerOf.set(ClientToken, answer);
    if (!this.losesNext) return;
    this.losesNext = false;
    throw new Error("the answer is lost");
  }

  /** What tags lead to comes late; what ids, names and ranges lead to, and whole listings, do not. */
  private shown({ Filters = [] }: Asked, answer: Answered): Answered {
    const byTags = Filters.some(({ Name = "" }) => Name.startsWith("tag"));
    const entries = Object.entries(answer).map(([field, value]) => {
      if (!Array.isArray(value)) return [field, value];
      const list = value as Answered[];
      if (field !== "Reservations")
        return [field, byTags ? list.filter((one) => this.isShown(one)) : list];
      return [
        field,
        list.map(({ Instances }) => ({ Instances: this.instances(Instances, byTags) })),
      ];
    });
    return Object.fromEntries(entries) as Answered;
  }

  private instances(value: unknown, byTags: boolean): Answered[] {
    const all = value as Answered[];
    const shown = byTags ? all.filter((one) => this.isShown(one)) : all;
    return shown.map((one) => {
      const state = at([one["State"]], "Name");
      return typeof state === "string"
        ? { ...one, State: { Name: stateMeanwhile(this, state) } }
        : one;
    });
  }

  private isShown(resource: Answered): boolean {
    const now = this.clock.now();
    return Object.values(resource).every(
      (id) =>
        typeof id !== "string" || (this.shownFromMs.get(id) ?? 0) <= now || isParent(id, resource),
    );
  }
}

/** An id of what a resource belongs to is none of its own. */
function isParent(id: string, resource: Answered): boolean {
  const parents = ["VpcId", "SubnetId", "GroupId", "ImageId"];
  const own = Object.keys(resource)[0];
  return parents.some((field) => resource[field] === id && field !== own);
}
