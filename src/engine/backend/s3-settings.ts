import { omitUndefined } from "../../api/omit-undefined.js";
import { type BackendUrl, parametersOf, parseGoBool } from "./backend-url.js";

/** Which bucket, and how to speak to its server. */
export interface S3Settings {
  readonly bucket: string;
  readonly region: string | undefined;
  /** Of the shared configuration files; undefined for whatever the SDK finds. */
  readonly profile: string | undefined;
  /** Of the environment, as those of a named profile are not; undefined to be found by the SDK. */
  readonly keys: AccessKeys | undefined;
  /** With its scheme; undefined for AWS itself. */
  readonly endpoint: string | undefined;
  readonly isPathStyle: boolean;
  readonly isAccelerated: boolean;
  readonly isDualStack: boolean;
  readonly isFips: boolean;
  /** Whether checksums are left out that a request need not have; undefined for what the SDK finds. */
  readonly fewChecksums: { readonly ofRequests?: boolean; readonly ofResponses?: boolean };
  /** How the server encrypts what is written, e.g. "aws:kms", and with which key. */
  readonly encryption: string | undefined;
  readonly kmsKeyId: string | undefined;
}

interface AccessKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/**
 * What a URL and the environment say. Undefined for parameters that only Pulumi knows (`role`, `anonymous`) or
 * that it refuses. Pure. Source: https://github.com/google/go-cloud/blob/b5401c07b5f1/blob/s3blob/s3blob.go and
 * aws/aws.go, the openers of URLs; translateLegacyS3Params of
 * https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/backend.go.
 */
export function s3Settings(url: BackendUrl, env: NodeJS.ProcessEnv): S3Settings | undefined {
  const parameters = parametersOf(url);
  const flags = flagsIn(parameters);
  const isKnown = [...parameters.keys()].every((name) => known.has(name));
  if (!isKnown || flags === undefined || url.authority === "") return undefined;
  const endpoint = endpointIn(parameters, flags.has("disableSSL"));
  const profile = parameters.get("profile");
  return {
    bucket: url.authority,
    region: parameters.get("region") ?? said(env["AWS_REGION"]) ?? said(env["AWS_DEFAULT_REGION"]),
    profile: profile ?? said(env["AWS_PROFILE"]),
    keys: profile === undefined ? keysIn(env) : undefined,
    endpoint,
    isPathStyle: ["use_path_style", "s3ForcePathStyle", "hostname_immutable"].some((name) =>
      flags.has(name),
    ),
    isAccelerated: flags.has("accelerate"),
    isDualStack: flags.has("dualstack"),
    isFips: flags.has("fips"),
    fewChecksums: checksumsIn(parameters, endpoint !== undefined, env),
    encryption: parameters.get("ssetype"),
    kmsKeyId: parameters.get("kmskeyid"),
  };
}

const flagNames = ["accelerate", "disableSSL", "disable_https", "dualstack", "fips"].concat([
  "hostname_immutable",
  "s3ForcePathStyle",
  "use_path_style",
]);

const known: ReadonlySet<string> = new Set(
  [...flagNames, "awssdk", "endpoint", "kmskeyid", "prefix", "profile"].concat([
    "rate_limiter_capacity",
    "region",
    "request_checksum_calculation",
    "response_checksum_validation",
    "ssetype",
  ]),
);

/** The names of those that are true; undefined when one is neither. */
function flagsIn(parameters: ReadonlyMap<string, string>): ReadonlySet<string> | undefined {
  const values = flagNames.map((name) => parseGoBool(parameters.get(name) ?? "false"));
  if (values.includes(undefined)) return undefined;
  return new Set(flagNames.filter((_, at) => values[at] === true));
}

/** Without a scheme it is as in older URLs. */
function endpointIn(
  parameters: ReadonlyMap<string, string>,
  isWithoutTls: boolean,
): string | undefined {
  const endpoint = parameters.get("endpoint");
  if (endpoint === undefined || endpoint.includes("://")) return endpoint;
  return `${isWithoutTls ? "http" : "https"}://${endpoint}`;
}

/** Servers other than AWS may know none of the newer checksums, so they get those that are needed. */
function checksumsIn(
  parameters: ReadonlyMap<string, string>,
  hasEndpoint: boolean,
  env: NodeJS.ProcessEnv,
): S3Settings["fewChecksums"] {
  const mode =
    parameters.get("request_checksum_calculation") ?? env["AWS_REQUEST_CHECKSUM_CALCULATION"] ?? "";
  const ofResponses = parameters.get("response_checksum_validation");
  return omitUndefined<S3Settings["fewChecksums"]>({
    ofRequests: mode !== "" || hasEndpoint ? mode === "" || isFew(mode) : undefined,
    ofResponses: ofResponses === undefined ? undefined : isFew(ofResponses),
  });
}

function isFew(mode: string): boolean {
  return mode.toLowerCase() === "when_required";
}

function keysIn(env: NodeJS.ProcessEnv): AccessKeys | undefined {
  const accessKeyId = said(env["AWS_ACCESS_KEY_ID"]);
  const secretAccessKey = said(env["AWS_SECRET_ACCESS_KEY"]);
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  const sessionToken = said(env["AWS_SESSION_TOKEN"]);
  return omitUndefined<AccessKeys>({ accessKeyId, secretAccessKey, sessionToken });
}

function said(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
