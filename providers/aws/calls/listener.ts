import type { Listener } from "@aws-sdk/client-elastic-load-balancing-v2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found, Identity, Observed } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { madeOnce, must, text } from "./ec2-kind.js";
import { type AskElb, type ElbKind, lookingElbCalls, tagsOf, updateElbTags } from "./elb-kind.js";
import { shownTags, type Tag, tagsFor, whoOf } from "./marks.js";

function shownListener(listener: Listener, tags: readonly Tag[]): Found {
  const { ListenerArn, LoadBalancerArn, Port, DefaultActions = [] } = listener;
  const [action] = DefaultActions;
  const forwarded =
    action?.TargetGroupArn ?? action?.ForwardConfig?.TargetGroups?.[0]?.TargetGroupArn;
  return omitUndefined<Found>({
    id: must(ListenerArn, "ListenerArn"),
    who: whoOf(tags),
    phase: "ready",
    spec: present({
      loadBalancerArn: LoadBalancerArn,
      targetGroupArn: forwarded,
      port: Port,
      tags: shownTags(tags),
    }),
    status: {},
  });
}

async function listenersOf(
  ask: AskElb,
  ctx: CallContext,
  LoadBalancerArn: string,
): Promise<Listener[]> {
  const { Listeners = [] } = await ask(ctx, "DescribeListeners", (elb, options) =>
    elb.describeListeners({ LoadBalancerArn }, options),
  );
  return Listeners;
}

function listenerKind(ask: AskElb): ElbKind<Listener> {
  return {
    /** They are asked for by their load balancer, of whatever cluster that is. */
    async page(ctx, Marker) {
      const answer = await ask(ctx, "DescribeLoadBalancers", (elb, options) =>
        elb.describeLoadBalancers({ Marker, PageSize: 400 }, options),
      );
      const items: Listener[] = [];
      for (const { LoadBalancerArn = "" } of answer.LoadBalancers ?? []) {
        items.push(...(await listenersOf(ask, ctx, LoadBalancerArn)));
      }
      return { items, next: answer.NextMarker };
    },
    async byArn(ctx, arn) {
      const { Listeners = [] } = await ask(ctx, "DescribeListeners", (elb, options) =>
        elb.describeListeners({ ListenerArns: [arn] }, options),
      );
      return Listeners;
    },
    arnOf: ({ ListenerArn }) => must(ListenerArn, "ListenerArn"),
    shown: async (_ctx, listener, tags) => shownListener(listener, tags),
  };
}

/** A load balancer has a port once: whoever has taken it is compared by the token. */
export function listenerCalls(ask: AskElb): MachineCalls {
  return {
    ...lookingElbCalls(ask, listenerKind(ask)),
    async create(ctx, who, spec) {
      const LoadBalancerArn = text(spec, "loadBalancerArn");
      const before = await takenBy(ask, ctx, who, LoadBalancerArn);
      if (before !== undefined) return before;
      const Tags = tagsFor(who, { tags: spec["tags"] });
      const wanted = {
        LoadBalancerArn,
        Protocol: "TCP" as const,
        Port: Number(spec["port"]),
        DefaultActions: [
          { Type: "forward" as const, TargetGroupArn: text(spec, "targetGroupArn") },
        ],
        Tags,
      };
      const made = ask(ctx, "CreateListener", (elb, options) =>
        elb.createListener(wanted, options),
      ).then(({ Listeners = [] }) => ({
        ...shownListener(must(Listeners[0], "Listeners"), Tags),
        who,
        spec,
      }));
      return madeOnce("AwsListener", made, () => takenBy(ask, ctx, who, LoadBalancerArn));
    },
    async update(ctx, current, spec) {
      if (current.spec["targetGroupArn"] !== spec["targetGroupArn"]) {
        const TargetGroupArn = text(spec, "targetGroupArn");
        const wanted = {
          ListenerArn: current.id,
          DefaultActions: [{ Type: "forward" as const, TargetGroupArn }],
        };
        await ask(ctx, "ModifyListener", (elb, options) => elb.modifyListener(wanted, options));
      }
      await updateElbTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      ifThere(
        ask(ctx, "DeleteListener", (elb, options) =>
          elb.deleteListener({ ListenerArn: id }, options),
        ),
      ),
  };
}

async function takenBy(
  ask: AskElb,
  ctx: CallContext,
  who: Identity,
  loadBalancerArn: string,
): Promise<Observed | undefined> {
  for (const listener of await listenersOf(ask, ctx, loadBalancerArn)) {
    const arn = must(listener.ListenerArn, "ListenerArn");
    const shown = shownListener(listener, (await tagsOf(ask, ctx, [arn])).get(arn) ?? []);
    if (shown.who?.token === who.token) return { ...shown, who };
  }
  return undefined;
}
