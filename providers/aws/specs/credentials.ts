import { type Static, Type } from "typebox";
import { closed } from "../../../src/api/schema-parts.js";

/** An ARN of a role of IAM, in every partition. */
export const roleArn = Type.String({
  pattern: "^arn:[\\w-]+:iam::\\d{12}:role/.+$",
  description: "ARN of a role, e.g. arn:aws:iam::123456789012:role/capstan.",
});

/** What sessions of a role are called. Source: STS API reference, AssumeRole. */
export const sessionName = Type.String({
  pattern: "^[\\w+=,.@-]{2,64}$",
  description: "What its sessions are called in CloudTrail; capstan without.",
});

/** A role can be set to need one. Source: IAM user guide, "Access to AWS accounts owned by third parties". */
export const externalId = Type.String({
  pattern: "^[\\w+=,.@:/-]+$",
  minLength: 2,
  maxLength: 1_224,
  description: "What the role's owner wants to be told.",
});

export const durationSeconds = Type.Integer({
  minimum: 900,
  maximum: 43_200,
  description: "How long a session lasts; it is opened anew before that. An hour without.",
});

export const policyArns = Type.Array(Type.String({ pattern: "^arn:" }), {
  minItems: 1,
  maxItems: 10,
  description: "Policies that its sessions may not go beyond.",
});

export const inlinePolicy = Type.String({
  minLength: 1,
  description: "A policy that its sessions may not go beyond, as JSON.",
});

const assumedRole = closed(
  {
    arn: roleArn,
    externalId: Type.Optional(externalId),
    sessionName: Type.Optional(sessionName),
    durationSeconds: Type.Optional(durationSeconds),
    policyArns: Type.Optional(policyArns),
    inlinePolicy: Type.Optional(inlinePolicy),
  },
  "A role.",
);

/** How a Cluster names credentials itself. Nothing of it is secret. */
export const credentials = closed(
  {
    profile: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Profile of the files that all tools of AWS share.",
      }),
    ),
    webIdentity: Type.Optional(
      closed(
        {
          roleArn,
          tokenFile: Type.String({
            minLength: 1,
            description: "File with a token of an OpenID Connect provider, read for each session.",
          }),
          sessionName: Type.Optional(sessionName),
        },
        "A role that is assumed with a web identity.",
      ),
    ),
    assumeRoles: Type.Optional(
      Type.Array(assumedRole, {
        minItems: 1,
        maxItems: 5,
        description:
          "Roles to assume, each with the one before it; the first with the profile, the web identity, or the credentials of the process.",
      }),
    ),
  },
  "Credentials of the cluster, instead of those of the process. With an API server: identityRef.",
  { minProperties: 1, not: { required: ["profile", "webIdentity"] } },
);

export type AwsCredentials = Static<typeof credentials>;
export type AssumedRole = NonNullable<AwsCredentials["assumeRoles"]>[number];
