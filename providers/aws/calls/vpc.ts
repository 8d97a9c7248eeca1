import type { Vpc } from "@aws-sdk/client-ec2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import { present } from "../../../src/provider/host-spec.js";
import type { CallContext, Found, Observed } from "../../../src/provider/port.js";
import { removed } from "./blockers.js";
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
import type { AskAws } from "./elb-kind.js";
import { shownTags, whoOf } from "./marks.js";

const attributes = { dnsSupport: "enableDnsSupport", dnsHostnames: "enableDnsHostnames" } as const;
type Attribute = keyof typeof attributes;

const idFilter = "vpc-id";

/** Without hostnames of its own an instance has no name that others resolve. */
function vpcKind(ask: AskEc2): Ec2Kind {
  const isOn = async (ctx: CallContext, VpcId: string, attribute: Attribute) => {
    const Attribute = attributes[attribute];
    const answer = await ask(ctx, "DescribeVpcAttribute", (ec2, options) =>
      ec2.describeVpcAttribute({ VpcId, Attribute }, options),
    );
    const { EnableDnsSupport, EnableDnsHostnames } = answer;
    return (attribute === "dnsSupport" ? EnableDnsSupport : EnableDnsHostnames)?.Value ?? false;
  };
  /** Attributes are asked for one by one, so only of what is looked at itself. */
  const shown = async (ctx: CallContext, vpc: Vpc, isAsked: boolean): Promise<Found> => {
    const id = must(vpc.VpcId, "VpcId");
    const who = whoOf(vpc.Tags);
    const isWhole = isAsked || who !== undefined;
    return omitUndefined<Found>({
      id,
      who,
      phase: phaseOf(vpc.State, { available: "ready", pending: "pending" }),
      spec: present({
        cidr: vpc.CidrBlock,
        dnsHostnames: isWhole ? await isOn(ctx, id, "dnsHostnames") : undefined,
        dnsSupport: isWhole ? await isOn(ctx, id, "dnsSupport") : undefined,
        tags: shownTags(vpc.Tags),
      }),
      status: { cidr: vpc.CidrBlock ?? "" },
    });
  };
  return {
    idFilter,
    async page(ctx, query) {
      const { Vpcs = [], NextToken } = await ask(ctx, "DescribeVpcs", (ec2, options) =>
        ec2.describeVpcs({ ...query, MaxResults: 1_000 }, options),
      );
      const isAsked = query.Filters?.some(({ Name }) => Name === idFilter) ?? false;
      const resources: Found[] = [];
      for (const vpc of Vpcs) resources.push(await shown(ctx, vpc, isAsked));
      return { resources, next: NextToken };
    },
  };
}

/** No token, no name: marks in the create, and a look at every VPC before it. */
export function vpcCalls(aws: AskAws): MachineCalls {
  const { ec2: ask } = aws;
  const kind = vpcKind(ask);
  return {
    ...lookingCalls(ask, kind),
    async create(ctx, who, spec) {
      const made = await madeBefore(kind, ctx, who);
      if (made !== undefined) return made;
      const wanted = {
        CidrBlock: text(spec, "cidr"),
        ...tagged("vpc", who, { tags: spec["tags"] }),
      };
      const { Vpc } = await ask(ctx, "CreateVpc", (ec2, options) => ec2.createVpc(wanted, options));
      const { VpcId, State } = must(Vpc, "Vpc");
      // Its attributes are called for by update: a VPC that is made has names off.
      return {
        id: must(VpcId, "VpcId"),
        who,
        phase: phaseOf(State, { available: "ready", pending: "pending" }),
        spec: { ...spec, dnsHostnames: false },
        status: { cidr: text(spec, "cidr") },
      };
    },
    async update(ctx, current, spec) {
      for (const attribute of ["dnsSupport", "dnsHostnames"] as const) {
        if (current.spec[attribute] === spec[attribute]) continue;
        await setAttribute(ask, ctx, current, attribute, spec[attribute] === true);
      }
      await updateTags(ask, ctx, current, spec);
      return { ...current, spec };
    },
    remove: (ctx, { id }) =>
      removed(aws, ctx, id, {
        deletion: () =>
          ask(ctx, "DeleteVpc", (ec2, options) => ec2.deleteVpc({ VpcId: id }, options)),
        users: { interfaces: "vpc-id", insideVpc: true },
      }),
  };
}

/** One attribute with each call, says EC2. */
async function setAttribute(
  ask: AskEc2,
  ctx: CallContext,
  { id: VpcId }: Observed,
  attribute: Attribute,
  Value: boolean,
): Promise<void> {
  const wanted =
    attribute === "dnsSupport"
      ? { EnableDnsSupport: { Value } }
      : { EnableDnsHostnames: { Value } };
  await ask(ctx, "ModifyVpcAttribute", (ec2, options) =>
    ec2.modifyVpcAttribute({ VpcId, ...wanted }, options),
  );
}
