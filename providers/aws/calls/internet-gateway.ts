import type { InternetGateway } from "@aws-sdk/client-ec2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { Found } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import { removed } from "./blockers.js";
import {
  type AskEc2,
  type Ec2Kind,
  lookingCalls,
  madeBefore,
  must,
  tagged,
  text,
  updateTags,
} from "./ec2-kind.js";
import type { AskAws } from "./elb-kind.js";
import { shownTags, whoOf } from "./marks.js";

function shownGateway({ InternetGatewayId, Attachments = [], Tags }: InternetGateway): Found {
  const [attachment] = Attachments;
  return omitUndefined<Found>({
    id: must(InternetGatewayId, "InternetGatewayId"),
    who: whoOf(Tags),
    phase: attachment === undefined ? "pending" : "ready",
    spec: present({ vpcId: attachment?.VpcId, tags: shownTags(Tags) }),
    status: {},
  });
}

function gatewayKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "internet-gateway-id",
    async page(ctx, query) {
      const answer = await ask(ctx, "DescribeInternetGateways", (ec2, options) =>
        ec2.describeInternetGateways({ ...query, MaxResults: 1_000 }, options),
      );
      const { InternetGateways = [], NextToken } = answer;
      return { resources: InternetGateways.map(shownGateway), next: NextToken };
    },
  };
}

/** No token, no name: marks in the create, and a look at every gateway before it. It is attached by update. */
export function internetGatewayCalls(aws: AskAws): MachineCalls {
  const { ec2: ask } = aws;
  const kind = gatewayKind(ask);
  return {
    ...lookingCalls(ask, kind),
    async create(ctx, who, { tags }) {
      const made = await madeBefore(kind, ctx, who);
      if (made !== undefined) return made;
      const wanted = tagged("internet-gateway", who, { tags });
      const { InternetGateway } = await ask(ctx, "CreateInternetGateway", (ec2, options) =>
        ec2.createInternetGateway(wanted, options),
      );
      return { ...shownGateway(must(InternetGateway, "InternetGateway")), who };
    },
    async update(ctx, current, spec) {
      if (current.spec["vpcId"] === undefined) {
        const wanted = { InternetGatewayId: current.id, VpcId: text(spec, "vpcId") };
        await ask(ctx, "AttachInternetGateway", (ec2, options) =>
          ec2.attachInternetGateway(wanted, options),
        );
      }
      await updateTags(ask, ctx, current, spec);
      return { ...current, phase: "ready", spec };
    },
    async remove(ctx, { id, spec }) {
      const InternetGatewayId = id;
      const vpcId = spec["vpcId"];
      if (typeof vpcId === "string") {
        const deletion = () =>
          ask(ctx, "DetachInternetGateway", (ec2, options) =>
            ec2.detachInternetGateway({ InternetGatewayId, VpcId: vpcId }, options),
          );
        // Public addresses in the VPC keep it where it is.
        await removed(aws, ctx, vpcId, { deletion, users: { interfaces: "vpc-id" } });
      }
      await ifThere(
        ask(ctx, "DeleteInternetGateway", (ec2, options) =>
          ec2.deleteInternetGateway({ InternetGatewayId }, options),
        ),
      );
    },
  };
}
