import * as aws from "@pulumi/aws";
import { all, type Output, type Resource } from "@pulumi/pulumi";
import { controlPlaneCalls, inClusterCalls, nodeCalls, providerCalls } from "./actions.ts";
import {
  type AccountPlace,
  documentOf,
  fetching,
  isReading,
  markTag,
  type Statement,
  statementsFor,
} from "./policy.ts";
import type { FoundationScope } from "./settings.ts";

/** What instances of one kind may do. */
interface InstanceRole {
  readonly role: aws.iam.Role;
  readonly profile: aws.iam.InstanceProfile;
}

/** The role of control-plane machines, and that of workers: each may only do what is in the tables. */
export function instanceRoles(
  { name, inCluster, parent }: FoundationScope,
  place: Output<AccountPlace>,
): { readonly controlPlane: InstanceRole; readonly worker: InstanceRole } {
  const inside = (at: AccountPlace) =>
    inCluster.flatMap((one) => {
      const { calls, tag } = inClusterCalls[one];
      return statementsFor(calls, at, tag);
    });
  return {
    controlPlane: instanceRole(
      parent,
      `${name}-control-plane`,
      place.apply((at) =>
        documentOf([
          ...statementsFor(controlPlaneCalls, at, markTag),
          ...inside(at),
          fetching("controlPlane", at),
        ]),
      ),
    ),
    worker: instanceRole(
      parent,
      `${name}-worker`,
      place.apply((at) =>
        documentOf([...statementsFor(nodeCalls, at, markTag), fetching("worker", at)]),
      ),
    ),
  };
}

function instanceRole(parent: Resource, name: string, policy: Output<string>): InstanceRole {
  const trust: Statement = {
    Effect: "Allow",
    Action: "sts:AssumeRole",
    Principal: { Service: "ec2.amazonaws.com" },
  };
  const role = new aws.iam.Role(name, { name, assumeRolePolicy: documentOf([trust]) }, { parent });
  new aws.iam.RolePolicy(name, { role: role.id, policy }, { parent });
  return {
    role,
    profile: new aws.iam.InstanceProfile(name, { name, role: role.name }, { parent }),
  };
}

/** What the rights of whoever runs capstan are about. */
interface ControllerNeeds {
  readonly place: Output<AccountPlace>;
  /** ARNs of roles that it gives to instances. */
  readonly instanceRoles: readonly Output<string>[];
  readonly bucketArn: Output<string>;
  readonly keyArn: Output<string>;
}

interface ControllerRights {
  readonly policies: readonly aws.iam.Policy[];
  /** Absent where nobody is named who may take it. */
  readonly role?: aws.iam.Role;
}

/** The rights of whoever runs capstan, person or controller, made from the table of the provider's calls. */
export function controllerRights(
  { name, controllers, parent }: FoundationScope,
  { place, instanceRoles: passed, bucketArn, keyArn }: ControllerNeeds,
): ControllerRights {
  // AWS limits the length of one policy, and how many a role has: a service that is only read has none of its own.
  const changed = [...new Set(providerCalls.flatMap((one) => (isReading(one) ? [] : one.service)))];
  const read = providerCalls.filter(({ service }) => !changed.includes(service));
  const calling = changed.map((service) => {
    const calls = providerCalls.filter((one) => one.service === service);
    const full = `${name}-${service}`;
    const policy = place.apply((at) => documentOf(statementsFor(calls, at, markTag)));
    return new aws.iam.Policy(full, { name: full, policy }, { parent });
  });
  const rest = all([place, all([...passed]), bucketArn, keyArn]).apply(([at, roles, bucket, key]) =>
    documentOf([
      ...statementsFor(read, at, markTag),
      ...passing(roles, at),
      ...keepingState(bucket, key),
    ]),
  );
  const policies = [
    ...calling,
    new aws.iam.Policy(`${name}-state`, { name: `${name}-state`, policy: rest }, { parent }),
  ];
  if (controllers.length === 0) return { policies };
  const trust: Statement = {
    Effect: "Allow",
    Action: "sts:AssumeRole",
    Principal: { AWS: controllers },
  };
  const full = `${name}-controller`;
  const role = new aws.iam.Role(
    full,
    { name: full, assumeRolePolicy: documentOf([trust]) },
    { parent },
  );
  policies.forEach((policy, index) => {
    new aws.iam.RolePolicyAttachment(
      `${full}-${index}`,
      {
        role: role.name,
        policyArn: policy.arn,
      },
      { parent },
    );
  });
  return { policies, role };
}

/** Roles are given to instances alone, and those of AWS's services are made once for an account. */
function passing(roles: readonly string[], { partition, account }: AccountPlace): Statement[] {
  const services = ["elasticloadbalancing.amazonaws.com", "spot.amazonaws.com"];
  return [
    {
      Effect: "Allow",
      Action: ["iam:PassRole"],
      Resource: roles,
      Condition: { StringEquals: { "iam:PassedToService": "ec2.amazonaws.com" } },
    },
    {
      Effect: "Allow",
      Action: ["iam:CreateServiceLinkedRole"],
      Resource: services.map(
        (service) => `arn:${partition}:iam::${account}:role/aws-service-role/${service}/*`,
      ),
      Condition: { StringEquals: { "iam:AWSServiceName": services } },
    },
  ];
}

/** What Pulumi's S3 backend and its secrets need. */
function keepingState(bucketArn: string, keyArn: string): Statement[] {
  return [
    { Effect: "Allow", Action: ["s3:GetBucketLocation", "s3:ListBucket"], Resource: [bucketArn] },
    {
      Effect: "Allow",
      Action: ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"],
      Resource: [`${bucketArn}/*`],
    },
    {
      Effect: "Allow",
      Action: ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey"],
      Resource: [keyArn],
    },
  ];
}
