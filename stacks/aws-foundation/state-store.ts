import * as aws from "@pulumi/aws";
import { interpolate, type Output } from "@pulumi/pulumi";
import { documentOf, type AccountPlace, type Statement } from "./policy.ts";
import type { FoundationScope } from "./settings.ts";

interface StateStore {
  readonly bucket: aws.s3.Bucket;
  readonly key: aws.kms.Key;
  /** For `pulumi login` and --backend. */
  readonly backend: Output<string>;
  /** For --secrets-provider. */
  readonly secretsProvider: Output<string>;
}

/** How long an older state can be had back. */
const keepOlderDays = 90;

/** Where stacks and their secrets are kept. Pulumi locks a stack by an object in the bucket, so there is no table. */
export function stateStore(scope: FoundationScope, place: Output<AccountPlace>): StateStore {
  const { name, parent } = scope;
  const key = new aws.kms.Key(
    name,
    {
      description: `State and secrets of ${name}`,
      enableKeyRotation: true,
      deletionWindowInDays: 30,
    },
    { parent },
  );
  const alias = new aws.kms.Alias(name, { name: `alias/${name}`, targetKeyId: key.id }, { parent });
  const bucket = new aws.s3.Bucket(
    name,
    {
      bucket: place.apply(({ account, region }) => `${name}-state-${account}-${region}`),
      forceDestroy: false,
    },
    { parent },
  );
  closeBucket(scope, bucket, key);
  const region = place.apply((at) => at.region);
  return {
    bucket,
    key,
    backend: interpolate`s3://${bucket.bucket}?region=${region}`,
    secretsProvider: interpolate`awskms://${alias.name}?region=${region}`,
  };
}

/** Encrypted, kept when it is overwritten, and for nobody else. */
function closeBucket(
  { name, parent }: FoundationScope,
  bucket: aws.s3.Bucket,
  key: aws.kms.Key,
): void {
  const of = { bucket: bucket.id };
  new aws.s3.BucketOwnershipControls(
    name,
    {
      ...of,
      rule: { objectOwnership: "BucketOwnerEnforced" },
    },
    { parent },
  );
  const closed = new aws.s3.BucketPublicAccessBlock(
    name,
    {
      ...of,
      blockPublicAcls: true,
      blockPublicPolicy: true,
      ignorePublicAcls: true,
      restrictPublicBuckets: true,
    },
    { parent },
  );
  new aws.s3.BucketVersioning(
    name,
    { ...of, versioningConfiguration: { status: "Enabled" } },
    { parent },
  );
  new aws.s3.BucketServerSideEncryptionConfiguration(
    name,
    {
      ...of,
      rules: [
        {
          applyServerSideEncryptionByDefault: { sseAlgorithm: "aws:kms", kmsMasterKeyId: key.arn },
          bucketKeyEnabled: true,
        },
      ],
    },
    { parent },
  );
  new aws.s3.BucketLifecycleConfiguration(
    name,
    {
      ...of,
      rules: [
        {
          id: "older-states",
          status: "Enabled",
          filter: {},
          noncurrentVersionExpiration: { noncurrentDays: keepOlderDays },
          abortIncompleteMultipartUpload: { daysAfterInitiation: 7 },
        },
      ],
    },
    { parent },
  );
  new aws.s3.BucketPolicy(
    name,
    { ...of, policy: bucket.arn.apply((arn) => documentOf([encryptedOnly(arn)])) },
    { parent, dependsOn: [closed] },
  );
}

/** Nothing of a state travels in clear. */
function encryptedOnly(bucketArn: string): Statement {
  return {
    Effect: "Deny",
    Principal: "*",
    Action: "s3:*",
    Resource: [bucketArn, `${bucketArn}/*`],
    Condition: { Bool: { "aws:SecureTransport": "false" } },
  };
}
