// The services of the simulated AWS.

import { ec2Actions, ec2Timers } from "./ec2/ec2-actions.js";
import { resourceTypeOf, tableOfId } from "./ec2/kinds.js";
import { classicActions } from "./elb/classic-actions.js";
import { elbActions, elbTimers } from "./elbv2/elb-actions.js";
import { type Envelope, ec2Envelope, jsonEnvelope, queryEnvelope } from "./protocol/envelopes.js";
import { denials, type Denial } from "./principals.js";
import type { SimAction, Scope } from "./model/scope.js";
import { stsActions } from "./identity/sts.js";
import { quotaActions } from "./quotas/service-quotas.js";
import { ssmActions } from "./secrets/parameters.js";
import { secretActions, secretTimers } from "./secrets/secrets.js";
import type { TimerKind } from "./model/tables.js";

export interface SimService {
  /** What its actions are called before the colon, in policies and in the ledger. */
  readonly prefix: string;
  /** Of an API beside a newer one of the same service: the version that its requests name. */
  readonly version?: string;
  readonly actions: ReadonlyMap<string, SimAction>;
  readonly envelope: Envelope;
  readonly denial: Denial;
  /** Parameters of whose values the ledger tells no more than how long they are. */
  readonly secret?: RegExp;
  /** Errors have the form of JSON protocols. */
  readonly isJson?: true;
  /** Whether its Describe calls lag behind. */
  readonly lags: boolean;
  /** The resource that a call is about, as a refusal names it. */
  readonly resourceOf: (
    action: string,
    parameters: Readonly<Record<string, string>>,
    place: Pick<Scope, "region" | "account">,
  ) => string;
}

const ec2: SimService = {
  prefix: "ec2",
  actions: ec2Actions,
  envelope: ec2Envelope("http://ec2.amazonaws.com/doc/2016-11-15/"),
  denial: denials.ec2,
  secret: /^UserData(\.Value)?$/,
  lags: true,
  resourceOf: (action, parameters, { region, account }) => {
    if (action.startsWith("Describe")) return "*";
    const arn = (name: string) => `arn:aws:ec2:${region}:${account}:${name}`;
    const made = madeBy[action];
    if (made !== undefined) return arn(`${made}/*`);
    const id = Object.values(parameters).find((value) => /^[a-z]+-[0-9a-f]{8,17}$/.test(value));
    const table = id === undefined ? undefined : tableOfId(id);
    return id === undefined || table === undefined ? "*" : arn(`${resourceTypeOf(table)}/${id}`);
  },
};

/** What actions make, as policies call it. */
const madeBy: Readonly<Record<string, string>> = {
  RunInstances: "instance",
  CreateVpc: "vpc",
  CreateSubnet: "subnet",
  CreateInternetGateway: "internet-gateway",
  CreateNatGateway: "natgateway",
  CreateRouteTable: "route-table",
  CreateSecurityGroup: "security-group",
  CreateVolume: "volume",
  CreateNetworkInterface: "network-interface",
  AllocateAddress: "elastic-ip",
  ImportKeyPair: "key-pair",
};

const sts: SimService = {
  prefix: "sts",
  actions: stsActions,
  envelope: queryEnvelope("https://sts.amazonaws.com/doc/2011-06-15/"),
  denial: denials.query,
  secret: /^WebIdentityToken$/,
  lags: false,
  resourceOf: (_, parameters) => parameters["RoleArn"] ?? "*",
};

const elb: SimService = {
  prefix: "elasticloadbalancing",
  actions: elbActions,
  envelope: queryEnvelope("http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"),
  denial: denials.query,
  lags: true,
  resourceOf: (action, parameters, { region, account }) => {
    if (action.startsWith("Describe")) return "*";
    const arn = Object.values(parameters).find((value) => value.startsWith("arn:aws:elastic"));
    const path = action === "CreateTargetGroup" ? "targetgroup/*" : "loadbalancer/net/*";
    return arn ?? `arn:aws:elasticloadbalancing:${region}:${account}:${path}`;
  },
};

const classicElb: SimService = {
  ...elb,
  version: "2012-06-01",
  actions: classicActions,
  envelope: queryEnvelope("http://elasticloadbalancing.amazonaws.com/doc/2012-06-01/"),
  resourceOf: (action, parameters, { region, account }) => {
    if (action.startsWith("Describe")) return "*";
    const [, name = "*"] =
      Object.entries(parameters).find(([path]) => path.startsWith("LoadBalancerName")) ?? [];
    return `arn:aws:elasticloadbalancing:${region}:${account}:loadbalancer/${name}`;
  },
};

const ssm: SimService = {
  prefix: "ssm",
  actions: ssmActions,
  envelope: jsonEnvelope,
  denial: denials.json,
  isJson: true,
  secret: /^Value$/,
  lags: false,
  resourceOf: (_, parameters, { region, account }) => {
    const name = parameters["Name"] ?? "*";
    return `arn:aws:ssm:${region}:${account}:parameter${name.startsWith("/") ? "" : "/"}${name}`;
  },
};

const secretsManager: SimService = {
  prefix: "secretsmanager",
  actions: secretActions,
  envelope: jsonEnvelope,
  denial: denials.json,
  isJson: true,
  secret: /^Secret(String|Binary)$/,
  lags: false,
  resourceOf: (_, parameters, { region, account }) =>
    `arn:aws:secretsmanager:${region}:${account}:secret:${parameters["SecretId"] ?? parameters["Name"] ?? "*"}`,
};

const serviceQuotas: SimService = {
  prefix: "servicequotas",
  actions: quotaActions,
  envelope: jsonEnvelope,
  denial: denials.json,
  isJson: true,
  lags: false,
  resourceOf: () => "*",
};

const all = [ec2, elb, classicElb, sts, ssm, secretsManager, serviceQuotas];

/** By their names in signatures; an API beside a newer one has its version behind that. */
export const services: ReadonlyMap<string, SimService> = new Map(
  all.map((service) => [nameWith(service.prefix, service.version), service]),
);

function nameWith(signed: string, version: string | undefined): string {
  return version === undefined ? signed : `${signed} ${version}`;
}

/** The name of the service that a request is for. What is asked of no older version is asked of the newest. Pure. */
export function serviceNameOf(signed: string, version: string | undefined): string {
  const versioned = nameWith(signed, version);
  return services.has(versioned) ? versioned : signed;
}

/** What happens by itself. */
export const timers: Readonly<Record<TimerKind, (scope: Scope, subject: string) => void>> = {
  ...ec2Timers,
  ...elbTimers,
  ...secretTimers,
};
