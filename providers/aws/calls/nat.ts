import type { Address, NatGateway } from "@aws-sdk/client-ec2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { Found } from "../../../src/provider/port.js";
import { ifThere } from "./ask.js";
import {
  type AskEc2,
  type Ec2Kind,
  lookingCalls,
  madeBefore,
  must,
  phaseOf,
  tagged,
  text,
  updateTags,
} from "./ec2-kind.js";
import { shownTags, whoOf } from "./marks.js";

function shownAddress({ AllocationId, PublicIp, Tags }: Address): Found {
  return omitUndefined<Found>({
    id: must(AllocationId, "AllocationId"),
    who: whoOf(Tags),
    phase: "ready",
    spec: present({ tags: shownTags(Tags) }),
    status: present({ publicIp: PublicIp, range: PublicIp && `${PublicIp}/32` }),
  });
}

/** All addresses come at once. */
function addressKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "allocation-id",
    async page(ctx, { Filters }) {
      const { Addresses = [] } = await ask(ctx, "DescribeAddresses", (ec2, options) =>
        ec2.describeAddresses({ Filters }, options),
      );
      return { resources: Addresses.map(shownAddress) };
    },
  };
}

/** No token, no name: marks in the create, and a look at every address before it. */
export function elasticIpCalls(ask: AskEc2): MachineCalls {
  const kind = addressKind(ask);
  return {
    ...lookingCalls(ask, kind),
    // An address does not know for which gateway it was made.
    unobservable: ["subnetId"],
    async create(ctx, who, spec) {
      const made = await madeBefore(kind, ctx, who);
      if (made !== undefined) return made;
      const wanted = {
        Domain: "vpc" as const,
        ...tagged("elastic-ip", who, { tags: spec["tags"] }),
      };
      const address = await ask(ctx, "AllocateAddress", (ec2, options) =>
        ec2.allocateAddress(wanted, options),
      );
      return { ...shownAddress(address), who, spec };
    },
    async update(ctx, current, spec) {
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      ifThere(
        ask(ctx, "ReleaseAddress", (ec2, options) =>
          ec2.releaseAddress({ AllocationId: id }, options),
        ),
      ),
  };
}

const natPhases = {
  pending: "pending",
  available: "ready",
  deleting: "deleting",
  deleted: "gone",
} as const;

function shownNat(nat: NatGateway): Found {
  const { NatGatewayId, State, SubnetId, NatGatewayAddresses = [], Tags } = nat;
  const id = must(NatGatewayId, "NatGatewayId");
  const phase = phaseOf(State, natPhases);
  const reason = nat.FailureMessage ?? `it is ${State ?? "in no state"}`;
  return omitUndefined<Found>({
    id,
    who: whoOf(Tags),
    phase,
    failure: phase === "failed" ? { reason } : undefined,
    spec: present({
      subnetId: SubnetId,
      allocationId: NatGatewayAddresses[0]?.AllocationId,
      tags: shownTags(Tags),
    }),
    // Routes through it are made once it is available.
    status: phase === "ready" ? { readyId: id } : {},
    createdAtMs: nat.CreateTime?.getTime(),
  });
}

function natKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "nat-gateway-id",
    async page(ctx, { Filters, NextToken: from }) {
      const answer = await ask(ctx, "DescribeNatGateways", (ec2, options) =>
        ec2.describeNatGateways({ Filter: Filters, NextToken: from, MaxResults: 1_000 }, options),
      );
      const { NatGateways = [], NextToken } = answer;
      return { resources: NatGateways.map(shownNat), next: NextToken };
    },
  };
}

/** The token is EC2's own. */
export function natGatewayCalls(ask: AskEc2): MachineCalls {
  return {
    ...lookingCalls(ask, natKind(ask)),
    timing: { pollMs: 5_000 },
    tokensLast: true,
    async create(ctx, who, spec) {
      const wanted = {
        ClientToken: who.token,
        SubnetId: text(spec, "subnetId"),
        AllocationId: text(spec, "allocationId"),
        ...tagged("natgateway", who, { tags: spec["tags"] }),
      };
      const { NatGateway } = await ask(ctx, "CreateNatGateway", (ec2, options) =>
        ec2.createNatGateway(wanted, options),
      );
      return { ...shownNat(must(NatGateway, "NatGateway")), who, spec };
    },
    async update(ctx, current, spec) {
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      ifThere(
        ask(ctx, "DeleteNatGateway", (ec2, options) =>
          ec2.deleteNatGateway({ NatGatewayId: id }, options),
        ),
      ),
  };
}
