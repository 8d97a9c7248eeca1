import type {
  DescribeLoadBalancersCommandInput,
  LoadBalancer,
} from "@aws-sdk/client-elastic-load-balancing-v2";
import { sameJson } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { must, text, texts } from "./ec2-kind.js";
import { type AskElb, type ElbKind, lookingElbCalls, nameOf, updateElbTags } from "./elb-kind.js";
import { madeByName } from "./elb-names.js";
import { clusterTag, shownTags, type Tag, tagsFor, whoOf } from "./marks.js";

const crossZone = "load_balancing.cross_zone.enabled";

const phases: Readonly<Record<string, Found["phase"]>> = {
  active: "ready",
  active_impaired: "ready",
  provisioning: "pending",
};

/** Load balancers that a call names, or a page of all. */
export async function describedBalancers(
  ask: AskElb,
  ctx: CallContext,
  wanted: DescribeLoadBalancersCommandInput,
) {
  const answer = await ask(ctx, "DescribeLoadBalancers", (elb, options) =>
    elb.describeLoadBalancers(wanted, options),
  );
  return { items: answer.LoadBalancers ?? [], next: answer.NextMarker };
}

function balancerKind(ask: AskElb): ElbKind<LoadBalancer> {
  const isCrossZone = async (ctx: CallContext, LoadBalancerArn: string) => {
    const { Attributes = [] } = await ask(ctx, "DescribeLoadBalancerAttributes", (elb, options) =>
      elb.describeLoadBalancerAttributes({ LoadBalancerArn }, options),
    );
    return Attributes.find(({ Key }) => Key === crossZone)?.Value === "true";
  };
  return {
    page: (ctx, Marker) => describedBalancers(ask, ctx, { Marker, PageSize: 400 }),
    byArn: async (ctx, arn) =>
      (await describedBalancers(ask, ctx, { LoadBalancerArns: [arn] })).items,
    byName: async (ctx, name) => (await describedBalancers(ask, ctx, { Names: [name] })).items,
    arnOf: ({ LoadBalancerArn }) => must(LoadBalancerArn, "LoadBalancerArn"),
    async shown(ctx, balancer, tags, isWhole) {
      const arn = must(balancer.LoadBalancerArn, "LoadBalancerArn");
      return shownBalancer(balancer, tags, isWhole ? await isCrossZone(ctx, arn) : undefined);
    },
  };
}

function shownBalancer(balancer: LoadBalancer, tags: readonly Tag[], isCrossZone?: boolean): Found {
  const { LoadBalancerArn, State, AvailabilityZones = [], DNSName, Scheme } = balancer;
  const zones = [...AvailabilityZones].sort((one, other) =>
    (one.ZoneName ?? "") < (other.ZoneName ?? "") ? -1 : 1,
  );
  const phase = phases[State?.Code ?? ""] ?? "failed";
  return omitUndefined<Found>({
    id: must(LoadBalancerArn, "LoadBalancerArn"),
    who: whoOf(tags),
    phase,
    failure:
      phase === "failed"
        ? { reason: State?.Reason ?? `it is ${State?.Code ?? "in no state"}` }
        : undefined,
    spec: present({
      vpcId: balancer.VpcId,
      scheme: Scheme,
      subnetIds: zones.flatMap(({ SubnetId }) => SubnetId ?? []),
      groupIds: balancer.SecurityGroups,
      crossZone: isCrossZone,
      tags: shownTags(tags),
    }),
    status: present({ dnsName: DNSName }),
    createdAtMs: balancer.CreatedTime?.getTime(),
  });
}

/** The name is made of the token, and an account has a name once. */
export function loadBalancerCalls(ask: AskElb): MachineCalls {
  const kind = balancerKind(ask);
  return {
    ...lookingElbCalls(ask, kind),
    timing: { pollMs: 5_000 },
    async create(ctx, who, spec) {
      const made = await madeByName(ask, kind, ctx, who);
      if (made !== undefined) return made;
      const Tags = tagsFor(who, { tags: spec["tags"], more: clusterTag(who) });
      const wanted = {
        Name: nameOf(who),
        Type: "network" as const,
        Scheme:
          text(spec, "scheme") === "internal"
            ? ("internal" as const)
            : ("internet-facing" as const),
        Subnets: texts(spec, "subnetIds"),
        SecurityGroups: texts(spec, "groupIds"),
        Tags,
      };
      const { LoadBalancers = [] } = await ask(ctx, "CreateLoadBalancer", (elb, options) =>
        elb.createLoadBalancer(wanted, options),
      );
      const shown = shownBalancer(must(LoadBalancers[0], "LoadBalancers"), Tags, false);
      return { ...shown, who, spec: { ...spec, crossZone: false } };
    },
    async update(ctx, current, spec) {
      const LoadBalancerArn = current.id;
      if (current.spec["crossZone"] !== spec["crossZone"]) {
        const Attributes = [{ Key: crossZone, Value: String(spec["crossZone"]) }];
        await ask(ctx, "ModifyLoadBalancerAttributes", (elb, options) =>
          elb.modifyLoadBalancerAttributes({ LoadBalancerArn, Attributes }, options),
        );
      }
      if (!sameJson(current.spec["subnetIds"], spec["subnetIds"])) {
        const wanted = { LoadBalancerArn, Subnets: texts(spec, "subnetIds") };
        await ask(ctx, "SetSubnets", (elb, options) => elb.setSubnets(wanted, options));
      }
      if (!sameJson(current.spec["groupIds"], spec["groupIds"])) {
        const wanted = { LoadBalancerArn, SecurityGroups: texts(spec, "groupIds") };
        await ask(ctx, "SetSecurityGroups", (elb, options) =>
          elb.setSecurityGroups(wanted, options),
        );
      }
      await updateElbTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      ifThere(
        ask(ctx, "DeleteLoadBalancer", (elb, options) =>
          elb.deleteLoadBalancer({ LoadBalancerArn: id }, options),
        ),
      ),
  };
}
