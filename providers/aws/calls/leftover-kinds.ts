import type { NetworkInterface, SecurityGroup, Volume } from "@aws-sdk/client-ec2";
import { CapstanError } from "../../../src/api/error.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { CallContext } from "../../../src/provider/port.js";
import { eachPage, ifThere } from "./ask.js";
import { interfaceText } from "./blockers.js";
import { type AskEc2, filters, must } from "./ec2-kind.js";
import {
  type AskAws,
  type AskClassicElb,
  type AskElb,
  classicTagsOfAll,
  tagsOfAll,
} from "./elb-kind.js";
import { awsNameOf } from "./errors.js";
import { deleteGroup } from "./group-deletion.js";
import { controllerTags, isOfCluster, type OwnerFacts } from "./leftover-owner.js";
import { describedBalancers } from "./load-balancer.js";
import { markKey, type Tag, valueOf } from "./marks.js";
import { describedTargetGroups } from "./target-group.js";

/** Something that a controller may have made, as AWS shows it. */
export interface LeftoverSight extends OwnerFacts {
  readonly id: string;
  readonly name?: string;
  readonly vpcId?: string;
  /** It goes with an instance, and nobody has to remove it. */
  readonly goesByItself?: boolean;
}

/** What is looked for: one by its id, all of a VPC, or whatever may bear a cluster's name. */
export interface LeftoverQuery {
  readonly id?: string;
  readonly vpcId?: string;
  /** Without its namespace, as controllers know it. */
  readonly name: string;
}

/** A kind of what controllers make. */
export interface LeftoverKind {
  readonly kind: string;
  readonly wave: number;
  readonly isInVpc: boolean;
  /** Its VPC cannot go before it. */
  readonly keepsVpc?: true;
  readonly holdsData?: true;
  /** More than what is asked for may be among them; nothing of what is gone. */
  look(ctx: CallContext, query: LeftoverQuery): Promise<readonly LeftoverSight[]>;
  /** Its ownership was looked at. `clusterUid`: whose groups may lose rules that name it. */
  remove(ctx: CallContext, id: string, whose: RuleOwner): Promise<void>;
}

/** Whose rules may go with a group that they name. */
interface RuleOwner {
  readonly name: string;
  readonly clusterUid: string;
}

/** Everything that controllers are known to make, in the order in which it goes. */
export function leftoverKinds(aws: AskAws): LeftoverKind[] {
  const { ec2, elb, classicElb } = aws;
  return [
    balancers(elb),
    classicBalancers(classicElb),
    targetGroups(elb),
    interfaces(ec2),
    groups(aws),
    volumes(ec2),
  ];
}

function balancers(elb: AskElb): LeftoverKind {
  return {
    kind: "load balancer",
    wave: 1,
    isInVpc: true,
    keepsVpc: true,
    async look(ctx, { id, vpcId }) {
      const found = await pages((Marker) =>
        describedBalancers(
          elb,
          ctx,
          id === undefined ? { Marker, PageSize: 400 } : { LoadBalancerArns: [id] },
        ),
      );
      const some = found.map(({ LoadBalancerArn = "", LoadBalancerName, VpcId }) => ({
        id: LoadBalancerArn,
        name: LoadBalancerName,
        vpcId: VpcId,
      }));
      return tagged(some, vpcId, (arns) => tagsOfAll(elb, ctx, arns));
    },
    remove: (ctx, LoadBalancerArn) =>
      ifThere(
        elb(ctx, "DeleteLoadBalancer", (client, options) =>
          client.deleteLoadBalancer({ LoadBalancerArn }, options),
        ),
      ),
  };
}

/** A name is their only id; nobody else has it at the same time, in an account and region. */
function classicBalancers(elb: AskClassicElb): LeftoverKind {
  return {
    kind: "classic load balancer",
    wave: 1,
    isInVpc: true,
    keepsVpc: true,
    async look(ctx, { id, vpcId }) {
      const found = await pages(async (Marker) => {
        const wanted = id === undefined ? { Marker, PageSize: 400 } : { LoadBalancerNames: [id] };
        const { LoadBalancerDescriptions: items = [], NextMarker: next } = await elb(
          ctx,
          "DescribeLoadBalancers",
          (client, options) => client.describeLoadBalancers(wanted, options),
        );
        return { items, next };
      });
      const some = found.map(({ LoadBalancerName, VPCId }) => ({
        id: must(LoadBalancerName, "LoadBalancerName"),
        vpcId: VPCId,
      }));
      return tagged(some, vpcId, (names) => classicTagsOfAll(elb, ctx, names));
    },
    remove: (ctx, LoadBalancerName) =>
      ifThere(
        elb(ctx, "DeleteLoadBalancer", (client, options) =>
          client.deleteLoadBalancer({ LoadBalancerName }, options),
        ),
      ),
  };
}

function targetGroups(elb: AskElb): LeftoverKind {
  return {
    kind: "target group",
    wave: 2,
    isInVpc: true,
    async look(ctx, { id, vpcId }) {
      const found = await pages((Marker) =>
        describedTargetGroups(
          elb,
          ctx,
          id === undefined ? { Marker, PageSize: 400 } : { TargetGroupArns: [id] },
        ),
      );
      const some = found.map(({ TargetGroupArn = "", TargetGroupName, VpcId }) => ({
        id: TargetGroupArn,
        name: TargetGroupName,
        vpcId: VpcId,
      }));
      return tagged(some, vpcId, (arns) => tagsOfAll(elb, ctx, arns));
    },
    remove: (ctx, TargetGroupArn) =>
      ifThere(
        elb(ctx, "DeleteTargetGroup", (client, options) =>
          client.deleteTargetGroup({ TargetGroupArn }, options),
        ),
      ),
  };
}

/** Those of the VPC with their tags, which a call of its own tells. */
async function tagged(
  found: readonly {
    readonly id: string;
    readonly name?: string | undefined;
    readonly vpcId: string | undefined;
  }[],
  vpcId: string | undefined,
  tagsOfThem: (ids: readonly string[]) => ReturnType<typeof tagsOfAll>,
): Promise<LeftoverSight[]> {
  const here = found.filter((one) => vpcId === undefined || one.vpcId === vpcId);
  const tags = await tagsOfThem(here.map(({ id }) => id));
  return here.map(({ id, name, vpcId: at }) =>
    omitUndefined<LeftoverSight>({ id, name, vpcId: at, tags: tags.get(id) ?? [] }),
  );
}

function interfaces(ec2: AskEc2): LeftoverKind {
  const find = (ctx: CallContext, { id, vpcId }: LeftoverQuery) =>
    pages<NetworkInterface>(async (NextToken) => {
      const Filters = known({
        "tag-key": [controllerTags.interfaceInstance],
        "vpc-id": vpcId,
        "network-interface-id": id,
      });
      const { NetworkInterfaces: items = [], NextToken: next } = await ec2(
        ctx,
        "DescribeNetworkInterfaces",
        (client, options) => client.describeNetworkInterfaces({ Filters, NextToken }, options),
      );
      return { items, next };
    });
  return {
    kind: "network interface",
    wave: 2,
    isInVpc: true,
    keepsVpc: true,
    async look(ctx, query) {
      return (await find(ctx, query)).map(({ NetworkInterfaceId, VpcId, TagSet, Attachment }) =>
        omitUndefined<LeftoverSight>({
          id: must(NetworkInterfaceId, "NetworkInterfaceId"),
          vpcId: VpcId,
          tags: TagSet ?? [],
          goesByItself: Attachment?.DeleteOnTermination === true,
        }),
      );
    },
    async remove(ctx, id, { name }) {
      const [one] = await find(ctx, { id, name });
      if (one?.Attachment !== undefined) throw inUse(id, [interfaceText(one)]);
      await ifThere(
        ec2(ctx, "DeleteNetworkInterface", (client, options) =>
          client.deleteNetworkInterface({ NetworkInterfaceId: id }, options),
        ),
      );
    },
  };
}

function inUse(id: string, blockedBy: readonly string[]): CapstanError {
  return new CapstanError({
    code: "IN_USE",
    source: "cloud",
    message: `${id} is in use`,
    blockedBy,
  });
}

function groups(aws: AskAws): LeftoverKind {
  const { ec2 } = aws;
  return {
    kind: "security group",
    wave: 3,
    isInVpc: true,
    keepsVpc: true,
    async look(ctx, { id, vpcId, name }) {
      const found = await groupsWith(ec2, ctx, {
        "group-id": id,
        "vpc-id": vpcId,
        "tag-key": [controllerTags.cluster(name), controllerTags.balancerCluster],
      });
      return found.map(({ GroupId, GroupName = "", Description = "", VpcId, Tags = [] }) =>
        omitUndefined<LeftoverSight>({
          id: must(GroupId, "GroupId"),
          name: GroupName,
          vpcId: VpcId,
          tags: Tags,
          group: { name: GroupName, description: Description },
        }),
      );
    },
    async remove(ctx, id, whose) {
      // Controllers open groups of the cluster for those of load balancers; rules of others stay, and then stand in the way.
      await deleteGroup(
        aws,
        ctx,
        id,
        (tags) => isOurs(tags, whose) || isOfCluster(tags, whose.name),
      );
    },
  };
}

function groupsWith(ec2: AskEc2, ctx: CallContext, by: FilterValues): Promise<SecurityGroup[]> {
  return pages(async (NextToken) => {
    const query = { Filters: known(by), MaxResults: 1_000, NextToken };
    const { SecurityGroups: items = [], NextToken: next } = await ec2(
      ctx,
      "DescribeSecurityGroups",
      (client, options) => client.describeSecurityGroups(query, options),
    );
    return { items, next };
  });
}

function isOurs(tags: readonly Tag[], { clusterUid }: RuleOwner): boolean {
  return valueOf(tags, markKey("clusterUid")) === clusterUid;
}

function volumes(ec2: AskEc2): LeftoverKind {
  return {
    kind: "volume",
    wave: 4,
    isInVpc: false,
    holdsData: true,
    async look(ctx, { id, name }) {
      const found = await pages<Volume>(async (NextToken) => {
        const Filters = known({ "tag-key": [controllerTags.cluster(name)], "volume-id": id });
        const { Volumes: items = [], NextToken: next } = await ec2(
          ctx,
          "DescribeVolumes",
          (client, options) => client.describeVolumes({ Filters, NextToken }, options),
        );
        return { items, next };
      });
      const alive = found.filter(({ State }) => State !== "deleting" && State !== "deleted");
      return alive.map(({ VolumeId, Tags = [] }) => ({
        id: must(VolumeId, "VolumeId"),
        tags: Tags,
      }));
    },
    remove: (ctx, VolumeId) =>
      ifThere(
        ec2(ctx, "DeleteVolume", (client, options) => client.deleteVolume({ VolumeId }, options)),
      ),
  };
}

type FilterValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Filters by what is known. */
function known(values: FilterValues): ReturnType<typeof filters> {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, [value].flat()] as const],
  );
  return filters(Object.fromEntries(given));
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next?: string | undefined;
}

/** All pages of a listing; what is not there is none. */
async function pages<Item>(
  page: (next: string | undefined) => Promise<Page<Item>>,
): Promise<Item[]> {
  const found: Item[] = [];
  try {
    for await (const { items } of eachPage(page)) found.push(...items);
  } catch (error) {
    if (!awsNameOf(error).endsWith("NotFound")) throw error;
  }
  return found;
}
