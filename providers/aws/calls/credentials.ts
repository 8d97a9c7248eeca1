import { readFile } from "node:fs/promises";
import type { AssumeRoleCommandInput, Credentials, STS } from "@aws-sdk/client-sts";
import { CapstanError } from "../../../src/api/error.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type { AssumedRole, AwsCredentials } from "../specs/credentials.js";
import { translated } from "./errors.js";

/** Which account and region, where it is not the environment that says so. */
export interface AwsAccess {
  readonly credentials: AwsCredentials;
  readonly region: string;
}

/** Credentials as the SDK takes them; with an expiration it asks for new ones five minutes before. */
interface SdkCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

/** What a client asks for credentials. It is told the settings of that client. */
export type CredentialSource = (asked?: object) => Promise<SdkCredentials>;

/** What sessions of roles are called where nobody says otherwise. */
const defaultSession = "capstan";

/** The credentials of the process, or those that a Cluster names. Nothing is read before they are asked for. */
export function credentialSource(access: AwsAccess | undefined): CredentialSource {
  if (access === undefined) return processSource();
  const { credentials, region } = access;
  const { assumeRoles = [] } = credentials;
  return assumeRoles.reduce(
    (before, role) => () => assumed(role, before, region),
    firstSource(credentials, region),
  );
}

function firstSource({ profile, webIdentity }: AwsCredentials, region: string): CredentialSource {
  if (webIdentity !== undefined) return () => byWebIdentity(webIdentity, region);
  return profile === undefined ? processSource() : profileSource(profile);
}

/** Where all tools of AWS look: environment, profile, web identity, container, instance. */
function processSource(): CredentialSource {
  let source: CredentialSource | undefined;
  return async (asked) => {
    const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
    source ??= defaultProvider({ mfaCodeProvider: refuseMfa });
    return source(asked);
  };
}

/** Not the chain: with a profile that is not there it would go on to those of the machine that it runs on. */
function profileSource(profile: string): CredentialSource {
  return async (asked) => {
    const { fromIni } = await import("@aws-sdk/credential-provider-ini");
    return fromIni({ profile, mfaCodeProvider: refuseMfa })(asked);
  };
}

/** A code is right for half a minute; credentials are needed as long as clusters live. */
async function refuseMfa(serial: string): Promise<never> {
  throw new CapstanError({
    code: "PERMISSION",
    source: "user",
    subject: serial,
    message: `cannot use the profile: its role asks for a code of ${serial}, and nobody is there to type one`,
    hint: "open a session yourself (aws sts get-session-token or aws sso login) and use its credentials, or let a role without MFA be assumed",
  });
}

async function assumed(
  role: AssumedRole,
  before: CredentialSource,
  region: string,
): Promise<SdkCredentials> {
  const { STS } = await import("@aws-sdk/client-sts");
  const sts = new STS({ region, credentials: before, maxAttempts: 1 });
  const wanted = omitUndefined<AssumeRoleCommandInput>({
    RoleArn: role.arn,
    RoleSessionName: role.sessionName ?? defaultSession,
    ExternalId: role.externalId,
    DurationSeconds: role.durationSeconds,
    Policy: role.inlinePolicy,
    PolicyArns: role.policyArns?.map((arn) => ({ arn })),
  });
  return session("sts:AssumeRole", role.arn, sts, () => sts.assumeRole(wanted));
}

async function byWebIdentity(
  { roleArn, tokenFile, sessionName }: NonNullable<AwsCredentials["webIdentity"]>,
  region: string,
): Promise<SdkCredentials> {
  const { STS } = await import("@aws-sdk/client-sts");
  const token = await readFile(tokenFile, "utf8").catch((cause: unknown) => {
    throw new CapstanError({
      code: "PERMISSION",
      source: "user",
      subject: tokenFile,
      message: `cannot read the web identity token ${tokenFile}`,
      hint: "correct credentials.webIdentity.tokenFile of the Cluster",
      cause,
    });
  });
  const sts = new STS({ region, maxAttempts: 1 });
  const wanted = {
    RoleArn: roleArn,
    RoleSessionName: sessionName ?? defaultSession,
    WebIdentityToken: token.trim(),
  };
  const action = "sts:AssumeRoleWithWebIdentity";
  return session(action, roleArn, sts, () => sts.assumeRoleWithWebIdentity(wanted));
}

/** A session that was opened. Throws PERMISSION where the role does not let itself be assumed. */
async function session(
  action: string,
  roleArn: string,
  sts: STS,
  open: () => Promise<{ readonly Credentials?: Credentials | undefined }>,
): Promise<SdkCredentials> {
  try {
    const { Credentials: opened } = await open();
    const { AccessKeyId = "", SecretAccessKey = "", SessionToken, Expiration } = opened ?? {};
    return omitUndefined<SdkCredentials>({
      accessKeyId: AccessKeyId,
      secretAccessKey: SecretAccessKey,
      sessionToken: SessionToken,
      expiration: Expiration,
    });
  } catch (error) {
    throw translated(error, { action, changes: false, resource: roleArn });
  } finally {
    sts.destroy();
  }
}
