import { createHash } from "node:crypto";
import type { DescribeSecretCommandOutput, SecretsManager } from "@aws-sdk/client-secrets-manager";
import { CapstanError, isCapstanError } from "../../../src/api/error.js";
import { sameJson } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import type {
  CallContext,
  Identity,
  KeptSecret,
  PreflightFinding,
  SecretHost,
  SecretStore,
} from "../../../src/provider/port.js";
import { type Ask, eachPage, ifThere } from "./ask.js";
import { awsNameOf } from "./errors.js";
import { markTags, roleTag, type Tag, whoOf } from "./marks.js";

export type AskSecrets = Ask<SecretsManager>;

/** Bytes. Source: Secrets Manager user guide, "Quotas". */
export const mostSecretBytes = 65_536;

/** How the names of all secrets begin, as policies name them. */
const namePrefix = "capstan-";
/** No host has it for a token. */
const nobodysName = `${namePrefix}preflight`;

/** The calls of a store in Secrets Manager; what of it is pure is in compile/secrets.ts. */
export function secretCalls(
  ask: AskSecrets,
): Required<Pick<SecretStore, "put" | "delete" | "kept">> {
  return {
    put: (ctx, name, content, host) => repeatable(put(ask, ctx, { name, content, host })),
    delete: (ctx, name, who) => repeatable(remove(ask, ctx, name, who)),
    kept: (ctx) => kept(ask, ctx),
  };
}

/** What keeps hosts from being given secrets, as far as a call that only looks can tell. */
export async function secretFindings(
  ask: AskSecrets,
  ctx: CallContext,
): Promise<PreflightFinding[]> {
  try {
    await described(ask, ctx, nobodysName);
    return [];
  } catch (error) {
    if (!isCapstanError(error) || error.code !== "PERMISSION") throw error;
    const { code, message, hint } = error;
    return [omitUndefined({ code, message, hint })];
  }
}

interface Put {
  readonly name: string;
  readonly content: Uint8Array;
  readonly host: SecretHost;
}

/**
 * The version is named by what it holds, so that the same put again makes nothing more. What is there already is what a
 * command has put that was killed then: it is compared by its marks before it is written over.
 */
async function put(ask: AskSecrets, ctx: CallContext, wanted: Put): Promise<void> {
  const { name, content, host } = wanted;
  const version = { SecretBinary: content, ClientRequestToken: versionOf(wanted) };
  const made = {
    Name: name,
    Description: `For the first start of ${host.who.name} of cluster ${host.who.cluster}`,
    Tags: [...markTags(host.who), roleTag(host.controlPlane)],
  };
  try {
    await ask(ctx, "CreateSecret", (client, options) =>
      client.createSecret({ ...made, ...version }, options),
    );
  } catch (error) {
    if (!/^(ResourceExists|InvalidRequest)$/.test(awsNameOf(error))) throw error;
    await putVersion(ask, ctx, { name, who: host.who, version, refusal: error });
  }
}

async function putVersion(
  ask: AskSecrets,
  ctx: CallContext,
  {
    name,
    who,
    version,
    refusal,
  }: {
    readonly name: string;
    readonly who: Identity;
    readonly version: { readonly SecretBinary: Uint8Array; readonly ClientRequestToken: string };
    readonly refusal: unknown;
  },
): Promise<void> {
  const there = await described(ask, ctx, name);
  // It goes, and its name is taken until it has gone.
  if (there === undefined) throw later(name, refusal);
  mustBeOf(who, name, there.Tags);
  if (there.DeletedDate !== undefined) {
    await deleteAtOnce(ask, ctx, name);
    throw later(name, refusal);
  }
  await ask(ctx, "PutSecretValue", (client, options) =>
    client.putSecretValue({ SecretId: name, ...version }, options),
  );
}

function versionOf({ name, content }: Put): string {
  return createHash("sha256").update(name).update("\0").update(content).digest("hex");
}

async function remove(
  ask: AskSecrets,
  ctx: CallContext,
  name: string,
  who: Identity,
): Promise<void> {
  const there = await described(ask, ctx, name);
  if (there === undefined) return;
  mustBeOf(who, name, there.Tags);
  await deleteAtOnce(ask, ctx, name);
}

/** What would wait for days could be read for days, and its name would be taken. */
function deleteAtOnce(ask: AskSecrets, ctx: CallContext, SecretId: string): Promise<void> {
  return ifThere(
    ask(ctx, "DeleteSecret", (client, options) =>
      client.deleteSecret({ SecretId, ForceDeleteWithoutRecovery: true }, options),
    ),
  );
}

async function described(
  ask: AskSecrets,
  ctx: CallContext,
  SecretId: string,
): Promise<DescribeSecretCommandOutput | undefined> {
  try {
    return await ask(ctx, "DescribeSecret", (client, options) =>
      client.describeSecret({ SecretId }, options),
    );
  } catch (error) {
    if (awsNameOf(error) === "ResourceNotFound") return undefined;
    throw error;
  }
}

async function kept(ask: AskSecrets, ctx: CallContext): Promise<KeptSecret[]> {
  const Filters = [{ Key: "name" as const, Values: [namePrefix] }];
  const pages = eachPage(async (NextToken) => {
    const answer = await ask(ctx, "ListSecrets", (client, options) =>
      client.listSecrets({ Filters, MaxResults: 100, NextToken }, options),
    );
    return { items: answer.SecretList ?? [], next: answer.NextToken };
  });
  const found: KeptSecret[] = [];
  for await (const { items } of pages) {
    for (const { Name: name = "", Tags, CreatedDate } of items) {
      const who = whoOf(Tags);
      if (who !== undefined) {
        found.push(omitUndefined({ name, who, createdAtMs: CreatedDate?.getTime() }));
      }
    }
  }
  return found;
}

function mustBeOf(who: Identity, name: string, tags: readonly Tag[] | undefined): void {
  const { cluster, clusterUid, kind, name: host, token } = who;
  const owner = whoOf(tags);
  if (sameJson(owner, { cluster, clusterUid, kind, name: host, token })) return;
  const marks =
    owner === undefined ? "without our marks" : `that of ${owner.cluster} ${owner.name}`;
  throw new CapstanError({
    code: "NOT_OURS",
    source: "cloud",
    subject: name,
    message: `cannot touch secret ${name}: it is ${marks}`,
    hint: "delete it if nobody needs it",
  });
}

function later(name: string, cause: unknown): CapstanError {
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: name,
    message: `cannot keep secret ${name}: one of its name is still being deleted`,
    retryable: true,
    cause,
  });
}

/** Nothing is lost or made twice by the same call again, so that a lost answer is no more than a reason to ask once more. */
async function repeatable(call: Promise<void>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isCapstanError(error) || !error.ambiguous) throw error;
    const { code, message, source, subject = "" } = error;
    throw new CapstanError({ code, message, source, subject, retryable: true, cause: error });
  }
}
