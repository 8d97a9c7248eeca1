import type { Subnet } from "@aws-sdk/client-ec2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { Found } from "../../../src/provider/port.js";
import { removed } from "./blockers.js";
import {
  type AskEc2,
  type Ec2Kind,
  filters,
  lookingCalls,
  madeBefore,
  madeOnce,
  must,
  phaseOf,
  tagged,
  text,
  updateTags,
} from "./ec2-kind.js";
import type { AskAws } from "./elb-kind.js";
import { clusterTag, shownTags, whoOf } from "./marks.js";

function shownSubnet(subnet: Subnet): Found {
  const { SubnetId, State, Tags, VpcId, CidrBlock, AvailabilityZone } = subnet;
  return omitUndefined<Found>({
    id: must(SubnetId, "SubnetId"),
    who: whoOf(Tags),
    phase: phaseOf(State, { available: "ready", pending: "pending" }),
    spec: present({
      vpcId: VpcId,
      cidr: CidrBlock,
      zone: AvailabilityZone,
      public: subnet.MapPublicIpOnLaunch ?? false,
      tags: shownTags(Tags),
    }),
    status: { vpcId: VpcId ?? "", zone: AvailabilityZone ?? "" },
  });
}

function subnetKind(ask: AskEc2): Ec2Kind {
  return {
    idFilter: "subnet-id",
    async page(ctx, query) {
      const { Subnets = [], NextToken } = await ask(ctx, "DescribeSubnets", (ec2, options) =>
        ec2.describeSubnets({ ...query, MaxResults: 1_000 }, options),
      );
      return { resources: Subnets.map(shownSubnet), next: NextToken };
    },
  };
}

/** A VPC has a range once: whoever has taken it is compared by the token. */
export function subnetCalls(aws: AskAws): MachineCalls {
  const { ec2: ask } = aws;
  const kind = subnetKind(ask);
  return {
    ...lookingCalls(ask, kind),
    create(ctx, who, spec) {
      const [VpcId, CidrBlock] = [text(spec, "vpcId"), text(spec, "cidr")];
      const use = spec["public"] === true ? "elb" : "internal-elb";
      const more = { ...clusterTag(who), [`kubernetes.io/role/${use}`]: "1" };
      const wanted = {
        VpcId,
        CidrBlock,
        AvailabilityZone: text(spec, "zone"),
        ...tagged("subnet", who, { tags: spec["tags"], more }),
      };
      const made = ask(ctx, "CreateSubnet", (ec2, options) =>
        ec2.createSubnet(wanted, options),
      ).then(({ Subnet }) => ({
        ...shownSubnet(must(Subnet, "Subnet")),
        who,
        spec: { ...spec, public: false },
      }));
      return madeOnce("AwsSubnet", made, () =>
        madeBefore(kind, ctx, who, {
          Filters: filters({ "vpc-id": [VpcId], "cidr-block": [CidrBlock] }),
        }),
      );
    },
    async update(ctx, current, spec) {
      if (current.spec["public"] !== spec["public"]) {
        const MapPublicIpOnLaunch = { Value: spec["public"] === true };
        await ask(ctx, "ModifySubnetAttribute", (ec2, options) =>
          ec2.modifySubnetAttribute({ SubnetId: current.id, MapPublicIpOnLaunch }, options),
        );
      }
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      removed(aws, ctx, id, {
        deletion: () =>
          ask(ctx, "DeleteSubnet", (ec2, options) => ec2.deleteSubnet({ SubnetId: id }, options)),
        users: { interfaces: "subnet-id" },
      }),
  };
}
