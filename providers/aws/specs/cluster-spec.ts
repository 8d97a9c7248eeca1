import { type Static, Type } from "typebox";
import { closed, stringEnum } from "../../../src/api/schema-parts.js";
import { credentials } from "./credentials.js";
import { identityRef } from "./identities.js";
import { filters, range, tags } from "./parts.js";

/** Storage version of the provider's objects. Source: docs/adr/0025. */
export const awsApiVersion = "awsprovider.k8s.io/v1alpha2";

/** A port that the API servers of every cluster listen at. */
export const apiServerPort = 6443;

const vpc = Type.Object(
  {
    cidr: Type.Optional(range("Range of the VPC that is made, /16 to /22; 10.0.0.0/16 without.")),
    id: Type.Optional(
      Type.String({
        pattern: "^vpc-",
        description: "Id of a VPC that is there: it stays as it is.",
      }),
    ),
    filters: Type.Optional(filters),
  },
  {
    additionalProperties: false,
    maxProperties: 1,
    description: "A VPC that is made, or one that is there. Another VPC needs another Cluster.",
  },
);

const subnet = Type.Object(
  {
    id: Type.Optional(
      Type.String({
        pattern: "^subnet-",
        description: "Id of a subnet that is there: it stays as it is.",
      }),
    ),
    cidr: Type.Optional(range("Range of a subnet that is made.")),
    filters: Type.Optional(filters),
    zone: Type.String({ minLength: 1, description: "Availability zone that it is in." }),
    public: Type.Optional(
      Type.Boolean({ description: "Whether it has a way from the Internet; it has none without." }),
    ),
    tags: Type.Optional(tags),
  },
  {
    additionalProperties: false,
    minProperties: 2,
    // What is there gets no tags.
    oneOf: [
      { required: ["id"], not: { required: ["tags"] } },
      { required: ["cidr"] },
      { required: ["filters"], not: { required: ["tags"] } },
    ],
    description:
      "A subnet of the VPC: one that is made, or one that is there, by its id or by filters that find exactly one in its zone.",
  },
);

/** Roles of security groups. */
export type SecurityGroupRole = "controlPlane" | "node" | "lb" | "apiServerLb";

const group = (whose: string) =>
  Type.Optional(
    Type.Union(
      [
        Type.String({ pattern: "^sg-" }),
        closed({ filters }, "Filters that find exactly one in the VPC."),
      ],
      { description: `That of ${whose}: its id, or filters that find exactly one in the VPC.` },
    ),
  );

const endpoint = closed(
  {
    host: Type.String({ minLength: 1, description: "DNS name or address." }),
    port: Type.Integer({
      minimum: 1,
      maximum: 65_535,
      default: apiServerPort,
      description: "Port.",
    }),
  },
  "A name of your own that leads to the load balancer. Its own DNS name without.",
);

const rule = closed(
  {
    protocol: Type.String({
      pattern: "^(tcp|udp|icmp|-1|[0-9]{1,3})$",
      description: "tcp, udp, icmp, -1 for all, or a number of IANA.",
    }),
    fromPort: Type.Optional(Type.Integer({ minimum: -1, maximum: 65_535 })),
    toPort: Type.Optional(Type.Integer({ minimum: -1, maximum: 65_535 })),
  },
  "What hosts of the cluster let in from each other.",
);

/** Fields of a Cluster's object, in the storage version. */
export const awsClusterSpec = Type.Object(
  {
    region: Type.String({
      pattern: "^[a-z]{2,}(-[a-z]+)+-\\d+$",
      description: "Region, e.g. eu-north-1: that of the credentials.",
    }),
    credentials: Type.Optional(credentials),
    identityRef: Type.Optional(identityRef),
    zones: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        maxItems: 6,
        uniqueItems: true,
        description:
          "Availability zones that subnets are made in and machines are spread over; without, the first three of the region, looked up once.",
      }),
    ),
    vpc: Type.Optional(vpc),
    subnets: Type.Optional(
      Type.Array(subnet, {
        minItems: 1,
        description: "Subnets of the VPC, instead of a public and a private one for each zone.",
      }),
    ),
    subnetFilters: Type.Optional({
      ...filters,
      description:
        "Filters of EC2 for subnets that are there, instead of subnets: all that they find in the VPC are used, and they stay as they are. Their routes tell which are public. Machines are spread over zones where these are named.",
    }),
    internetGatewayId: Type.Optional(
      Type.String({
        pattern: "^igw-",
        description:
          "Internet gateway that a VPC which is there has, for public subnets that are made in it.",
      }),
    ),
    natGateways: stringEnum(["perZone", "one", "none"], {
      default: "perZone",
      description:
        "Ways out for the private subnets that are made. Each NAT gateway costs tens of USD a month, and by the GB that goes through it: perZone has one in each zone and goes on without a zone, one is the cheapest for private hosts.",
    }),
    apiServer: Type.Optional(
      closed(
        {
          scheme: Type.Optional(
            stringEnum(["internet-facing", "internal"], {
              description:
                "Whether the load balancer has public addresses; internet-facing without.",
            }),
          ),
          allowedCidrs: Type.Optional(
            Type.Array(range("A range."), {
              minItems: 1,
              uniqueItems: true,
              description: "From where the API servers can be reached; from everywhere without.",
            }),
          ),
          endpoint: Type.Optional(endpoint),
        },
        "The load balancer before the API servers.",
      ),
    ),
    securityGroups: Type.Optional(
      closed(
        {
          controlPlane: group("members of the control plane"),
          node: group("all hosts"),
          lb: group("load balancers of Services"),
          apiServerLb: group("the load balancer before the API servers"),
        },
        "Security groups that are there, by role: they stay as they are, and get no rules.",
      ),
    ),
    ingressRules: Type.Optional(
      Type.Array(rule, {
        description:
          "What the pod network needs between hosts; BGP and IP-in-IP, as Calico does, without.",
      }),
    ),
    nodePortCidrs: Type.Optional(
      Type.Array(range("A range."), {
        minItems: 1,
        uniqueItems: true,
        description:
          "From where node ports 30000 to 32767 of all hosts can be reached, beside the cluster's own hosts and load balancers that controllers make; from nowhere else without.",
      }),
    ),
    hostSecrets: Type.Optional(
      stringEnum(["secretsManager", "userData"], {
        description:
          "Where hosts get the keys and tokens of their first start from: secretsManager, without it too, by their instanceProfile; userData, in clear, for machines that have none. Counts for the next host.",
      }),
    ),
    tags: Type.Optional(tags),
  },
  {
    additionalProperties: false,
    description: "The AWS part of a Cluster.",
    not: {
      description: "subnetFilters stand instead of subnets, in a vpc that has an id or filters",
      // Filters without a VPC would find subnets of anybody's.
      anyOf: [
        { required: ["subnets", "subnetFilters"] },
        {
          required: ["subnetFilters"],
          not: {
            required: ["vpc"],
            properties: { vpc: { anyOf: [{ required: ["id"] }, { required: ["filters"] }] } },
          },
        },
      ],
    },
  },
);

/** A Cluster's object, with the defaults of its schema. */
export type AwsCluster = Static<typeof awsClusterSpec>;
