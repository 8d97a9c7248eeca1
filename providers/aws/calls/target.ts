import type {
  TargetGroup,
  TargetHealthDescription,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { sameJson } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { markedCalls, type MarkQuery } from "../../../src/provider/marked-calls.js";
import type { CallContext, Found, Identity } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { text } from "./ec2-kind.js";
import { addTags, type AskElb, removeTags, tagsOf } from "./elb-kind.js";
import { awsNameOf } from "./errors.js";
import type { Tag } from "./marks.js";

/** A registered target bears no tags: its marks are a tag of its group. */
const markPrefix = "capstan:target/";

/** Where a target is: the ARN of its group, its instance and its port. */
interface TargetPlace {
  readonly groupArn: string;
  readonly instanceId: string;
  readonly port: number;
}

const idPattern = /^(.+)\|(i-[^:|]+):(\d+)$/;

function idOf({ groupArn, instanceId, port }: TargetPlace): string {
  return `${groupArn}|${instanceId}:${port}`;
}

function placeOf(id: string): TargetPlace | undefined {
  const [, groupArn, instanceId, port] = idPattern.exec(id) ?? [];
  if (groupArn === undefined || instanceId === undefined) return undefined;
  return { groupArn, instanceId, port: Number(port) };
}

/** "i-1:6443 <uid> default/demo cp-0-api": where it is, and whose. The token is in the key. */
function markOf({ token, cluster, clusterUid, name }: Identity, { instanceId, port }: TargetPlace) {
  const Value = `${instanceId}:${port} ${clusterUid} ${cluster} ${name}`;
  return { Key: `${markPrefix}${token}`, Value };
}

interface MarkedTarget {
  readonly place: TargetPlace;
  readonly who: Identity;
}

/** The targets whose marks a group bears. */
function markedIn(groupArn: string, tags: readonly Tag[]): MarkedTarget[] {
  return tags.flatMap(({ Key = "", Value = "" }) => {
    const [where = "", clusterUid, cluster, name] = Value.split(" ");
    const [instanceId = "", port] = where.split(":");
    if (!Key.startsWith(markPrefix) || clusterUid === undefined) return [];
    if (cluster === undefined || name === undefined) return [];
    const token = Key.slice(markPrefix.length);
    const who: Identity = { cluster, clusterUid, kind: "AwsTarget", name, token };
    return [{ place: { groupArn, instanceId, port: Number(port) }, who }];
  });
}

const phases: Readonly<Record<string, Found["phase"]>> = {
  healthy: "ready",
  "healthy.draining": "ready",
  initial: "pending",
  // Its API server does not answer yet, or does not for a while.
  unhealthy: "pending",
  unused: "pending",
  unavailable: "pending",
};

/** A health of nothing that is registered. */
const notRegistered = "Target.NotRegistered";

function isThere({ TargetHealth }: TargetHealthDescription): boolean {
  return TargetHealth?.Reason !== notRegistered;
}

function shownTarget(
  place: TargetPlace,
  who: Identity | undefined,
  health: TargetHealthDescription,
): Found {
  const { State = "", Description = State } = health.TargetHealth ?? {};
  const phase = phases[State] ?? "failed";
  return omitUndefined<Found>({
    id: idOf(place),
    who,
    phase,
    failure: phase === "failed" ? { reason: Description } : undefined,
    spec: { targetGroupArn: place.groupArn, instanceId: place.instanceId, port: place.port },
    status: {},
  });
}

class Targets {
  constructor(private readonly ask: AskElb) {}

  /** Every registered target of a group; none of a group that is gone. */
  async healthOf(ctx: CallContext, TargetGroupArn: string): Promise<TargetHealthDescription[]> {
    try {
      const { TargetHealthDescriptions = [] } = await this.ask(
        ctx,
        "DescribeTargetHealth",
        (elb, options) => elb.describeTargetHealth({ TargetGroupArn }, options),
      );
      return TargetHealthDescriptions.filter(isThere);
    } catch (error) {
      if (awsNameOf(error).endsWith("NotFound")) return [];
      throw error;
    }
  }

  /** Of groups with these tags: the marked ones that are registered. */
  async marked(ctx: CallContext, groupArn: string, tags: readonly Tag[]): Promise<Found[]> {
    const marked = markedIn(groupArn, tags);
    if (marked.length === 0) return [];
    const healths = await this.healthOf(ctx, groupArn);
    return marked.flatMap(({ place, who }) => {
      const health = healths.find((one) => isAt(one, place));
      return health === undefined ? [] : [shownTarget(place, who, health)];
    });
  }

  async withId(ctx: CallContext, id: string): Promise<Found[]> {
    const place = placeOf(id);
    if (place === undefined) return [];
    const { groupArn } = place;
    const health = (await this.healthOf(ctx, groupArn)).find((one) => isAt(one, place));
    if (health === undefined) return [];
    const tags = (await tagsOf(this.ask, ctx, [groupArn])).get(groupArn) ?? [];
    const who = markedIn(groupArn, tags).find((one) => idOf(one.place) === id)?.who;
    return [shownTarget(place, who, health)];
  }

  /** Target groups with their tags, a page of them. */
  async groups(ctx: CallContext, Marker?: string) {
    const answer = await this.ask(ctx, "DescribeTargetGroups", (elb, options) =>
      elb.describeTargetGroups({ Marker, PageSize: 20 }, options),
    );
    const arns = (answer.TargetGroups ?? []).map((one: TargetGroup) => one.TargetGroupArn ?? "");
    const tags =
      arns.length === 0 ? new Map<string, readonly Tag[]>() : await tagsOf(this.ask, ctx, arns);
    return { tags, next: answer.NextMarker };
  }

  /**
   * Marks of this cluster's targets that nothing bears any more: those of what is gone, and earlier ones of this place. A
   * group has room for fifty tags.
   */
  async idleMarks(ctx: CallContext, place: TargetPlace, who: Identity): Promise<string[]> {
    const { groupArn } = place;
    const tags = (await tagsOf(this.ask, ctx, [groupArn])).get(groupArn) ?? [];
    const marked = markedIn(groupArn, tags).filter(
      (one) => one.who.clusterUid === who.clusterUid && one.who.token !== who.token,
    );
    if (marked.length === 0) return [];
    const healths = await this.healthOf(ctx, groupArn);
    return marked
      .filter(
        (one) => sameJson(one.place, place) || !healths.some((health) => isAt(health, one.place)),
      )
      .map((one) => markOf(one.who, one.place).Key);
  }
}

function isAt({ Target }: TargetHealthDescription, { instanceId, port }: TargetPlace): boolean {
  return Target?.Id === instanceId && Target.Port === port;
}

/** Registering is idempotent by its nature. The mark comes first: what is registered without it would be nobody's. */
export function targetCalls(ask: AskElb): MachineCalls {
  const targets = new Targets(ask);
  return {
    ...markedCalls({
      shownWithinMs: 2_000,
      async page(ctx, { id, ...query }, next) {
        if (id !== undefined) {
          const found: Found[] = [];
          // Two records may have one target: what is made again at its place is the same.
          for (const one of new Set(id)) found.push(...(await targets.withId(ctx, one)));
          return { resources: found };
        }
        const groups = await targets.groups(ctx, next);
        const found: Found[] = [];
        for (const [arn, tags] of groups.tags)
          found.push(...(await targets.marked(ctx, arn, tags)));
        return { resources: found.filter((one) => isAsked(one, query)), next: groups.next };
      },
      async tag(ctx, id, who) {
        const place = placeOf(id);
        if (place !== undefined) await addTags(ask, ctx, place.groupArn, [markOf(who, place)]);
      },
      async untag(ctx, id, who) {
        const place = placeOf(id);
        if (place !== undefined)
          await removeTags(ask, ctx, place.groupArn, [markOf(who, place).Key]);
      },
    }),
    timing: { pollMs: 5_000 },
    async create(ctx, who, spec) {
      const place: TargetPlace = {
        groupArn: text(spec, "targetGroupArn"),
        instanceId: text(spec, "instanceId"),
        port: Number(spec["port"]),
      };
      const idle = await targets.idleMarks(ctx, place, who);
      await addTags(ask, ctx, place.groupArn, [markOf(who, place)]);
      const wanted = {
        TargetGroupArn: place.groupArn,
        Targets: [{ Id: place.instanceId, Port: place.port }],
      };
      await ask(ctx, "RegisterTargets", (elb, options) => elb.registerTargets(wanted, options));
      await removeTags(ask, ctx, place.groupArn, idle);
      return { id: idOf(place), who, phase: "pending", spec, status: {} };
    },
    async remove(ctx, { id }) {
      const place = placeOf(id);
      if (place === undefined) return;
      const wanted = {
        TargetGroupArn: place.groupArn,
        Targets: [{ Id: place.instanceId, Port: place.port }],
      };
      await ifThere(
        ask(ctx, "DeregisterTargets", (elb, options) => elb.deregisterTargets(wanted, options)),
      );
    },
  };
}

function isAsked({ who }: Found, marks: Omit<MarkQuery, "id">): boolean {
  if (who === undefined) return false;
  return Object.entries(marks).every(([mark, values]) => values.includes(String(who[mark])));
}
