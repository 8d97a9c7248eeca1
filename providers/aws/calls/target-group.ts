import type {
  DescribeTargetGroupsCommandInput,
  TargetGroup,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import type { JsonObject } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { must, text } from "./ec2-kind.js";
import { type AskElb, type ElbKind, lookingElbCalls, nameOf, updateElbTags } from "./elb-kind.js";
import { madeByName } from "./elb-names.js";
import { clusterTag, shownTags, type Tag, tagsFor, whoOf } from "./marks.js";

const preserveClientIp = "preserve_client_ip.enabled";
const deregistrationDelay = "deregistration_delay.timeout_seconds";

type Attributes = ReadonlyMap<string, string>;

/** Target groups that a call names, or a page of all. */
export async function describedTargetGroups(
  ask: AskElb,
  ctx: CallContext,
  wanted: DescribeTargetGroupsCommandInput,
) {
  const answer = await ask(ctx, "DescribeTargetGroups", (elb, options) =>
    elb.describeTargetGroups(wanted, options),
  );
  return { items: answer.TargetGroups ?? [], next: answer.NextMarker };
}

function groupKind(ask: AskElb): ElbKind<TargetGroup> {
  const attributesOf = async (ctx: CallContext, TargetGroupArn: string) => {
    const { Attributes = [] } = await ask(ctx, "DescribeTargetGroupAttributes", (elb, options) =>
      elb.describeTargetGroupAttributes({ TargetGroupArn }, options),
    );
    return new Map(Attributes.map(({ Key = "", Value = "" }) => [Key, Value]));
  };
  return {
    page: (ctx, Marker) => describedTargetGroups(ask, ctx, { Marker, PageSize: 400 }),
    byArn: async (ctx, arn) =>
      (await describedTargetGroups(ask, ctx, { TargetGroupArns: [arn] })).items,
    byName: async (ctx, name) => (await describedTargetGroups(ask, ctx, { Names: [name] })).items,
    arnOf: ({ TargetGroupArn }) => must(TargetGroupArn, "TargetGroupArn"),
    async shown(ctx, group, tags, isWhole) {
      const arn = must(group.TargetGroupArn, "TargetGroupArn");
      const attributes = isWhole ? await attributesOf(ctx, arn) : new Map<string, string>();
      return shownGroup(group, tags, attributes);
    },
  };
}

function shownGroup(group: TargetGroup, tags: readonly Tag[], attributes: Attributes): Found {
  const { TargetGroupArn, VpcId, Port } = group;
  return omitUndefined<Found>({
    id: must(TargetGroupArn, "TargetGroupArn"),
    who: whoOf(tags),
    phase: "ready",
    spec: present({
      vpcId: VpcId,
      port: Port,
      // On without: instances of a TCP group see the addresses of clients.
      preserveClientIp: attributes.get(preserveClientIp) !== "false",
      deregistrationDelaySeconds: Number(attributes.get(deregistrationDelay) ?? 300),
      tags: shownTags(tags),
    }),
    status: {},
  });
}

/** The name is made of the token, and an account has a name once. */
export function targetGroupCalls(ask: AskElb): MachineCalls {
  const kind = groupKind(ask);
  return {
    ...lookingElbCalls(ask, kind),
    async create(ctx, who, spec) {
      const made = await madeByName(ask, kind, ctx, who);
      if (made !== undefined) return made;
      const Tags = tagsFor(who, { tags: spec["tags"], more: clusterTag(who) });
      const wanted = {
        Name: nameOf(who),
        Protocol: "TCP" as const,
        Port: Number(spec["port"]),
        VpcId: text(spec, "vpcId"),
        TargetType: "instance" as const,
        HealthCheckProtocol: "TCP" as const,
        HealthCheckIntervalSeconds: 10,
        Tags,
      };
      const { TargetGroups = [] } = await ask(ctx, "CreateTargetGroup", (elb, options) =>
        elb.createTargetGroup(wanted, options),
      );
      return { ...shownGroup(must(TargetGroups[0], "TargetGroups"), Tags, new Map()), who };
    },
    async update(ctx, current, spec) {
      const Attributes = changedAttributes(current.spec, spec);
      if (Attributes.length > 0) {
        const TargetGroupArn = current.id;
        await ask(ctx, "ModifyTargetGroupAttributes", (elb, options) =>
          elb.modifyTargetGroupAttributes({ TargetGroupArn, Attributes }, options),
        );
      }
      await updateElbTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      ifThere(
        ask(ctx, "DeleteTargetGroup", (elb, options) =>
          elb.deleteTargetGroup({ TargetGroupArn: id }, options),
        ),
      ),
  };
}

function changedAttributes(from: JsonObject, to: JsonObject): { Key: string; Value: string }[] {
  const attributes = {
    preserveClientIp,
    deregistrationDelaySeconds: deregistrationDelay,
  } as const;
  return Object.entries(attributes)
    .filter(([field]) => from[field] !== to[field])
    .map(([field, Key]) => ({ Key, Value: String(to[field]) }));
}
