import { isJsonObject, type JsonObject } from "../../../../src/api/json.js";

/** A change in place of what a life has made. */
export interface LifeChange {
  /** Begin of its key: "AwsInstance/web". */
  readonly about: string;
  /** Inputs that are to be others. `idOf` answers the id of another resource by its key. */
  readonly spec: (current: JsonObject, idOf: (key: string) => string) => JsonObject;
}

/** Drops one of the tags and changes another. */
const retagged = ({ tags }: JsonObject): JsonObject => {
  const { stage: _, ...others } = isJsonObject(tags) ? tags : {};
  return { tags: { ...others, team: "red" } };
};

const without = (list: unknown, at: number) =>
  (Array.isArray(list) ? (list as string[]) : []).filter((_, index) => index !== at);

/** Each kind that changes in place, by each of the calls that this takes. */
export const changes: readonly LifeChange[] = [
  { about: "AwsVpc/", spec: (one) => ({ ...retagged(one), dnsHostnames: false }) },
  { about: "AwsInternetGateway/", spec: retagged },
  { about: "AwsSubnet/public-eu-north-1b", spec: (one) => ({ ...retagged(one), public: false }) },
  { about: "AwsElasticIp/", spec: retagged },
  { about: "AwsNatGateway/", spec: retagged },
  {
    about: "AwsRouteTable/private-eu-north-1a",
    spec: (one, idOf) => ({
      ...retagged(one),
      routes: [{ to: "0.0.0.0/0", gatewayId: idOf("AwsInternetGateway/internet") }],
    }),
  },
  { about: "AwsRouteTable/private-eu-north-1b", spec: () => ({ routes: [], subnetIds: [] }) },
  { about: "AwsSecurityGroup/node", spec: retagged },
  {
    about: "AwsLoadBalancer/",
    spec: (one, idOf) => ({
      ...retagged(one),
      crossZone: false,
      subnetIds: [...without(one["subnetIds"], 1), idOf("AwsSubnet/private-eu-north-1b")],
      groupIds: [idOf("AwsSecurityGroup/node")],
    }),
  },
  {
    about: "AwsTargetGroup/api",
    spec: (one) => ({ ...retagged(one), deregistrationDelaySeconds: 60 }),
  },
  {
    about: "AwsListener/",
    spec: (one, idOf) => ({ ...retagged(one), targetGroupArn: idOf("AwsTargetGroup/spare") }),
  },
  {
    about: "AwsInstance/web",
    spec: (one) => ({
      ...retagged(one),
      groupIds: without(one["groupIds"], 1),
      metadata: { httpTokens: "optional", hopLimit: 2 },
      sourceDestCheck: false,
    }),
  },
  { about: "AwsVolume/", spec: (one) => ({ ...retagged(one), gib: 9 }) },
];
