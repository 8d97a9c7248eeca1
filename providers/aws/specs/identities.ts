import { type Static, Type } from "typebox";
import type {
  ClusterIdentities,
  IdentityPlace,
  ResolvedIdentity,
} from "../../../src/api/cluster-identities.js";
import { selectorMatches } from "../../../src/api/label-selector.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { closed, labelMap, stringEnum } from "../../../src/api/schema-parts.js";
import { requirement } from "../../../src/api/label-requirement.js";
import {
  type AssumedRole,
  type AwsCredentials,
  durationSeconds,
  externalId,
  inlinePolicy,
  policyArns,
  roleArn,
  sessionName,
} from "./credentials.js";

const controllerIdentity = "AWSClusterControllerIdentity";
const roleIdentity = "AWSClusterRoleIdentity";

/** The identity of Clusters that name none, where it is there. Source: cluster-api-provider-aws, multitenancy. */
const defaultName = "default";

const identityKind = stringEnum([controllerIdentity, roleIdentity], {
  description: `${controllerIdentity}: the credentials of the process. ${roleIdentity}: a role.`,
});

/** Names an identity. */
export const identityRef = closed(
  { kind: identityKind, name: Type.String({ minLength: 1, description: "Name of the object." }) },
  "The identity whose credentials the cluster has. Those of the process without.",
);

const namespaceSelector = closed(
  {
    matchLabels: Type.Optional(labelMap("Labels that a namespace has.")),
    matchExpressions: Type.Optional(
      Type.Array(requirement, { description: "Requirements that all have to hold." }),
    ),
  },
  "Namespaces by their labels. In files a namespace has no label but kubernetes.io/metadata.name.",
);

/** As cluster-api-provider-aws has it: nobody without, everybody with neither of both, else who fits one of them. */
const allowedNamespaces = closed(
  {
    list: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), { description: "Namespaces by their names." }),
    ),
    selector: Type.Optional(namespaceSelector),
  },
  "Namespaces whose Clusters may name it; {} stands for all. None without.",
);

const controllerSpec = closed(
  { allowedNamespaces: Type.Optional(allowedNamespaces) },
  "Who may use the credentials of the process.",
);

const roleSpec = closed(
  {
    allowedNamespaces: Type.Optional(allowedNamespaces),
    roleARN: roleArn,
    externalID: Type.Optional(externalId),
    sessionName: Type.Optional(sessionName),
    durationSeconds: Type.Optional(durationSeconds),
    policyARNs: Type.Optional(policyArns),
    inlinePolicy: Type.Optional(inlinePolicy),
    sourceIdentityRef: Type.Optional(identityRef),
  },
  "A role, and who may use it.",
);

type IdentityRef = Static<typeof identityRef>;
type AllowedNamespaces = Static<typeof allowedNamespaces>;
type RoleSpec = Static<typeof roleSpec>;

/** Roles that are assumed one with the other; more of them are one that leads back to itself. */
const mostRoles = 5;

/** The objects by which Clusters name credentials. Source: docs/adr/0029. */
export const awsIdentities: ClusterIdentities = {
  kinds: { [controllerIdentity]: controllerSpec, [roleIdentity]: roleSpec },
  resolve(spec, place) {
    const { identityRef: named, ...rest } = spec;
    const { credentials } = rest;
    const ref = named as IdentityRef | undefined;
    if (credentials !== undefined) {
      if (ref !== undefined)
        return refused(["credentials"], "stands beside identityRef", oneOfBoth);
      if (place.holder === "files") return { kind: "resolved", spec: rest };
      // Whoever may write Clusters in some namespace would have every role that the controller may assume.
      return refused(["credentials"], "is for files alone", apiServerHint);
    }
    const isNamed = ref !== undefined;
    const first = ref ?? { kind: controllerIdentity, name: defaultName };
    if (!isNamed && place.find(first.kind, first.name) === undefined) {
      return { kind: "resolved", spec: rest };
    }
    const roles: AssumedRole[] = [];
    const wrong = follow(first, roles, { place, path: isNamed ? ["identityRef", "name"] : [] });
    if (wrong !== undefined) return wrong;
    const resolved: AwsCredentials = { assumeRoles: roles };
    return {
      kind: "resolved",
      spec: roles.length === 0 ? rest : { ...rest, credentials: resolved },
    };
  },
};

const oneOfBoth = "take one of them away";
const apiServerHint = `name an ${roleIdentity} by identityRef: its allowedNamespaces say who may use the role`;

/** Adds the roles behind a reference, the first to assume first. Answers why it cannot. */
function follow(
  ref: IdentityRef,
  roles: AssumedRole[],
  where: { readonly place: IdentityPlace; readonly path: readonly string[] },
): ResolvedIdentity | undefined {
  const { place, path } = where;
  const name = `${ref.kind} ${ref.name}`;
  const spec = place.find(ref.kind, ref.name);
  if (spec === undefined) return missing(ref, path);
  const { allowedNamespaces: allowed } = spec as { allowedNamespaces?: AllowedNamespaces };
  if (!isAllowed(allowed, place)) {
    const summary = `${name} is not for namespace ${place.namespace}`;
    return refused(
      path,
      summary,
      `add it to allowedNamespaces of ${name}: ${allowedText(allowed)}`,
    );
  }
  if (ref.kind === controllerIdentity) return undefined;
  if (roles.length === mostRoles) {
    return refused(
      path,
      `${name} leads over more than ${mostRoles} roles`,
      "mend sourceIdentityRef",
    );
  }
  const { sourceIdentityRef, ...role } = spec as unknown as RoleSpec;
  roles.unshift(roleOf(role));
  return sourceIdentityRef === undefined ? undefined : follow(sourceIdentityRef, roles, where);
}

function roleOf(role: Omit<RoleSpec, "sourceIdentityRef">): AssumedRole {
  const { roleARN, externalID, policyARNs, sessionName: session } = role;
  return omitUndefined<AssumedRole>({
    arn: roleARN,
    externalId: externalID,
    sessionName: session,
    durationSeconds: role.durationSeconds,
    policyArns: policyARNs,
    inlinePolicy: role.inlinePolicy,
  });
}

function isAllowed(allowed: AllowedNamespaces | undefined, place: IdentityPlace): boolean {
  if (allowed === undefined) return false;
  const { list, selector = {} } = allowed;
  // An empty selector is one that nobody has written: beside a list it stands for nothing.
  if (Object.keys(selector).length === 0) return list?.includes(place.namespace) ?? true;
  return (
    list?.includes(place.namespace) === true || selectorMatches(selector, place.namespaceLabels)
  );
}

function allowedText(allowed: AllowedNamespaces | undefined): string {
  if (allowed === undefined) return "it has none, so nobody may use it";
  const { list = [], selector } = allowed;
  const names = list.length === 0 ? "it lists nobody" : `it lists ${list.join(", ")}`;
  return selector === undefined ? names : `${names}, and has a selector`;
}

/** The controller's own need no object, but only one can say who may use them. */
function missing({ kind, name }: IdentityRef, path: readonly string[]): ResolvedIdentity {
  const summary = `there is no ${kind} ${name}`;
  const hint = "add the object, or correct the name";
  return { kind: "refused", violation: { code: "IDENTITY_UNKNOWN", path, summary, hint } };
}

function refused(path: readonly string[], summary: string, hint: string): ResolvedIdentity {
  return { kind: "refused", violation: { code: "IDENTITY_REFUSED", path, summary, hint } };
}
