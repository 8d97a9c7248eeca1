import { type ApiCall, controllerTags, secretRoles } from "./actions.ts";

/** Where rights hold. */
export interface AccountPlace {
  /** "aws", "aws-cn", "aws-us-gov". */
  readonly partition: string;
  readonly region: string;
  readonly account: string;
}

export interface Statement {
  readonly Sid?: string;
  readonly Effect: "Allow" | "Deny";
  readonly Principal?: string | Readonly<Record<string, string | readonly string[]>>;
  readonly Action: readonly string[] | string;
  readonly Resource?: readonly string[] | string;
  readonly Condition?: Readonly<
    Record<string, Readonly<Record<string, string | readonly string[]>>>
  >;
}

/** The tag that every resource of a cluster bears: the first of the provider's marks. */
export const markTag = "capstan:cluster";

/** A policy document as AWS takes it: JSON, without spaces, as its length is limited. Pure. */
export function documentOf(statements: readonly Statement[]): string {
  return JSON.stringify({ Version: "2012-10-17", Statement: statements });
}

/**
 * The rights for some calls and no others: what is made has to bear `tag` in the call, what is changed has to bear it
 * already. Calls that only read are for everything, since these services tell no one resource apart there. Pure.
 */
export function statementsFor(
  calls: readonly ApiCall[],
  place: AccountPlace,
  tag: string,
): Statement[] {
  const services = [...new Set(calls.map(({ service }) => service))];
  return services.flatMap((service) => {
    const own = calls.filter((one) => one.service === service);
    const made = own.filter(({ makes }) => makes !== undefined);
    return [
      ...statement(own.filter(isReading), ["*"]),
      ...statement(made, arnsOf(service, made, "makes", place), present(`aws:RequestTag/${tag}`)),
      ...changing(own, place, tag),
      ...sweeping(own, place),
      // One by one: what one call may use freely another may only make with marks.
      ...own
        .filter(({ uses }) => uses !== undefined)
        .flatMap((one) => statement([one], arnsOf(service, [one], "uses", place))),
      ...tagging(service, made, place),
    ];
  });
}

/** What a machine reads at its first start: secrets of machines of its kind, and of no other. Pure. */
export function fetching(role: "controlPlane" | "worker", place: AccountPlace): Statement {
  return {
    Effect: "Allow",
    Action: ["secretsmanager:GetSecretValue"],
    Resource: [arnOf("secretsmanager", "secret", place)],
    Condition: {
      StringEquals: { [`aws:ResourceTag/${secretRoles.tag}`]: secretRoles[role] },
    },
  };
}

function changing(own: readonly ApiCall[], place: AccountPlace, tag: string): Statement[] {
  const changed = own.filter(({ changes }) => changes !== undefined);
  const [first] = changed;
  if (first === undefined) return [];
  const arns = arnsOf(first.service, changed, "changes", place);
  return statement(changed, arns, present(`aws:ResourceTag/${tag}`));
}

/** A statement for each tag: conditions on several keys of one statement would all have to hold. */
function sweeping(own: readonly ApiCall[], place: AccountPlace): Statement[] {
  return controllerTags.flatMap(({ tag, on }) => {
    const swept = own.flatMap((one) => {
      const sweeps = (one.sweeps ?? []).filter((type) => on.includes(type));
      return sweeps.length === 0 ? [] : [{ ...one, sweeps }];
    });
    const [first] = swept;
    if (first === undefined) return [];
    const arns = arnsOf(first.service, swept, "sweeps", place);
    return statement(swept, arns, present(`aws:ResourceTag/${tag}`));
  });
}

/** Tags of a create are a right of their own, which must not become one to tag what is there. */
function tagging(
  service: ApiCall["service"],
  made: readonly ApiCall[],
  place: AccountPlace,
): Statement[] {
  // Secrets Manager does not tell of which call a tag is: CreateSecret needs that right as one of its own.
  if (made.length === 0 || service === "secretsmanager") return [];
  const call = service === "ec2" ? "CreateTags" : "AddTags";
  const creates = made.map((one) => one.call);
  const types = [...arnsOf(service, made, "makes", place), ...arnsOf(service, made, "tags", place)];
  return [
    {
      Effect: "Allow",
      Action: [`${service}:${call}`],
      Resource: [...new Set(types)].sort(),
      Condition: { StringEquals: { [`${service}:CreateAction`]: creates } },
    },
  ];
}

function statement(
  calls: readonly ApiCall[],
  Resource: readonly string[],
  Condition?: Statement["Condition"],
): Statement[] {
  if (calls.length === 0) return [];
  const Action = calls.flatMap(({ service, call, needs = [] }) =>
    [call, ...needs].map((one) => `${service}:${one}`),
  );
  const bare = { Effect: "Allow", Action, Resource } as const;
  return [Condition === undefined ? bare : { ...bare, Condition }];
}

/** Whether a call changes nothing, and asks for no one resource. Pure. */
export function isReading({ makes, changes, sweeps, uses }: ApiCall): boolean {
  return [makes, changes, sweeps, uses].every((types) => types === undefined);
}

function present(key: string): Statement["Condition"] {
  return { Null: { [key]: "false" } };
}

function arnsOf(
  service: ApiCall["service"],
  calls: readonly ApiCall[],
  what: "makes" | "changes" | "sweeps" | "uses" | "tags",
  place: AccountPlace,
): string[] {
  const types = new Set(calls.flatMap((one) => one[what] ?? []));
  return [...types].sort().map((type) => arnOf(service, type, place));
}

/** Images and snapshots belong to no account. */
const ofNoAccount = new Set(["image", "snapshot"]);

function arnOf(
  service: ApiCall["service"],
  type: string,
  { partition, region, account }: AccountPlace,
): string {
  const owner = ofNoAccount.has(type) ? "" : account;
  // So the names of all our secrets begin; AWS puts six characters behind each.
  if (type === "secret") return `arn:${partition}:${service}:${region}:${owner}:secret:capstan-*`;
  return `arn:${partition}:${service}:${region}:${owner}:${type}/*`;
}
