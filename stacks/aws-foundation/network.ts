import * as aws from "@pulumi/aws";
import type { Input, Output } from "@pulumi/pulumi";
import { type FoundationScope, subnetRanges } from "./settings.ts";

/** A subnet as the provider object of a Cluster names one that is there. */
export interface SharedSubnet {
  readonly id: Output<string>;
  readonly zone: string;
  readonly public: boolean;
}

interface SharedNetwork {
  readonly vpc: aws.ec2.Vpc;
  /** Public ones first, each in the order of zones. */
  readonly subnets: readonly SharedSubnet[];
}

/** The network that clusters are made in. Nothing in it lets anybody in: each cluster has groups of its own. */
export function sharedNetwork(scope: FoundationScope, zones: readonly string[]): SharedNetwork {
  const { name, cidr, parent } = scope;
  const vpc = new aws.ec2.Vpc(
    name,
    {
      cidrBlock: cidr,
      enableDnsHostnames: true,
      enableDnsSupport: true,
      tags: { Name: name },
    },
    { parent },
  );
  // Whatever names no group gets this one. It has no rules, so it reaches nothing and is reached by nobody.
  new aws.ec2.DefaultSecurityGroup(name, { vpcId: vpc.id, ingress: [], egress: [] }, { parent });
  const internet = new aws.ec2.InternetGateway(
    name,
    { vpcId: vpc.id, tags: { Name: name } },
    { parent },
  );
  const ranges = subnetRanges(cidr, zones.length);
  const outside = routeTable(scope, vpc, "public", { gatewayId: internet.id });
  const open = zones.map((zone, index) =>
    subnet(scope, vpc, {
      zone,
      range: ranges.public[index] ?? "",
      isPublic: true,
      table: outside,
    }),
  );
  const gateways = natGateways(scope, open, internet);
  const closed = zones.map((zone, index) => {
    const nat = gateways[index] ?? gateways[0];
    if (nat === undefined) throw new Error("a network has one zone at least");
    const table = routeTable(scope, vpc, `private-${zone}`, { natGatewayId: nat.id });
    return subnet(scope, vpc, {
      zone,
      range: ranges.private[index] ?? "",
      isPublic: false,
      table,
    });
  });
  return { vpc, subnets: [...open, ...closed] };
}

interface SubnetPlace {
  readonly zone: string;
  readonly range: string;
  readonly isPublic: boolean;
  readonly table: aws.ec2.RouteTable;
}

function subnet(
  { name, parent }: FoundationScope,
  vpc: aws.ec2.Vpc,
  { zone, range, isPublic, table }: SubnetPlace,
): SharedSubnet {
  const full = `${name}-${isPublic ? "public" : "private"}-${zone}`;
  // By this tag controllers of load balancers find the subnets for them.
  const role = isPublic ? "kubernetes.io/role/elb" : "kubernetes.io/role/internal-elb";
  const made = new aws.ec2.Subnet(
    full,
    {
      vpcId: vpc.id,
      cidrBlock: range,
      availabilityZone: zone,
      mapPublicIpOnLaunch: false,
      tags: { Name: full, [role]: "1" },
    },
    { parent },
  );
  new aws.ec2.RouteTableAssociation(
    full,
    { subnetId: made.id, routeTableId: table.id },
    { parent },
  );
  return { id: made.id, zone, public: isPublic };
}

function routeTable(
  { name, parent }: FoundationScope,
  vpc: aws.ec2.Vpc,
  part: string,
  way: { readonly gatewayId: Input<string> } | { readonly natGatewayId: Input<string> },
): aws.ec2.RouteTable {
  const full = `${name}-${part}`;
  const table = new aws.ec2.RouteTable(full, { vpcId: vpc.id, tags: { Name: full } }, { parent });
  new aws.ec2.Route(
    full,
    { routeTableId: table.id, destinationCidrBlock: "0.0.0.0/0", ...way },
    { parent },
  );
  return table;
}

function natGateways(
  { name, natGateways: how, parent }: FoundationScope,
  open: readonly SharedSubnet[],
  internet: aws.ec2.InternetGateway,
): aws.ec2.NatGateway[] {
  const placed = how === "one" ? open.slice(0, 1) : open;
  return placed.map(({ id, zone }) => {
    const full = `${name}-${zone}`;
    const tags = { Name: full };
    // Firewalls elsewhere know machines by this address.
    const address = new aws.ec2.Eip(full, { domain: "vpc", tags }, { parent });
    return new aws.ec2.NatGateway(
      full,
      { subnetId: id, allocationId: address.id, tags },
      { parent, dependsOn: [internet] },
    );
  });
}
