// Secrets of Secrets Manager.

import { omitUndefined } from "../../../../src/api/omit-undefined.js";
import { actionsOf, type Handler, later, never, type Scope } from "../model/scope.js";
import type { SecretRow } from "../model/tables.js";
import { ApiError } from "../protocol/api-error.js";
import type { Params } from "../protocol/params.js";
import type { WireObject } from "../protocol/xml.js";
import { jsonTagList, jsonTags, jsonTime, validationException } from "./json-tags.js";

const dayMs = 24 * 60 * 60 * 1000;
/** Of what a secret holds. */
const mostBytes = 65_536;

const createSecret: Handler = (scope, params) => {
  params.ignore("KmsKeyId");
  const name = params.required("Name");
  const content = contentOf(params);
  const description = params.text("Description") ?? "";
  const token = tokenOf(params);
  const tags = jsonTags(params);
  if (Object.keys(tags).length > 0) {
    const arn = `arn:aws:secretsmanager:${scope.region}:${scope.account}:secret:${name}`;
    scope.who.authorize("secretsmanager:TagResource", arn);
  }
  const before = scope.db.all("secrets").find((one) => one.name === name);
  if (before?.goesAtMs !== undefined) {
    throw new ApiError(
      "InvalidRequestException",
      "You can't create this secret because a secret with this name is already scheduled for deletion.",
    );
  }
  if (before !== undefined) return namesOf(sameVersion(before, content, token));
  const row: SecretRow = {
    id: `arn:aws:secretsmanager:${scope.region}:${scope.account}:secret:${name}-${scope.digits(6)}`,
    tags,
    name,
    content,
    versionId: token ?? scope.digits(32),
    description,
    createdAtMs: scope.nowMs,
  };
  scope.db.put("secrets", row);
  return namesOf(row);
};

/** The version that a call makes; the simulator names it where the call does not. */
function tokenOf(params: Params): string | undefined {
  const token = params.text("ClientRequestToken");
  if (token === undefined || (token.length >= 32 && token.length <= 64)) return token;
  throw new ApiError("InvalidParameterException", "ClientRequestToken has 32 to 64 characters.");
}

/** The same version again is the one that is there; otherwise ResourceExistsException. */
function sameVersion(
  before: SecretRow,
  content: SecretRow["content"],
  token: string | undefined,
): SecretRow {
  const isSame = token === before.versionId && content.value === before.content.value;
  if (isSame) return before;
  throw new ApiError(
    "ResourceExistsException",
    `The operation failed because the secret ${before.name} already exists.`,
  );
}

function contentOf(params: Params): SecretRow["content"] {
  const [text, binary] = [params.text("SecretString"), params.text("SecretBinary")];
  if ((text === undefined) === (binary === undefined)) {
    throw validationException("Exactly one of SecretString and SecretBinary has to be given");
  }
  const bytes = text === undefined ? Buffer.from(binary ?? "", "base64") : Buffer.from(text);
  if (bytes.byteLength > mostBytes) {
    throw validationException(`A secret has ${mostBytes} bytes at most`);
  }
  return text === undefined
    ? { kind: "binary", value: binary ?? "" }
    : { kind: "text", value: text };
}

const putSecretValue: Handler = (scope, params) => {
  const row = mustHave(scope, params);
  const [content, token] = [contentOf(params), tokenOf(params)];
  if (token === row.versionId) return { ...namesOf(sameVersion(row, content, token)), ...current };
  const changed = { ...row, content, versionId: token ?? scope.digits(32) };
  scope.db.put("secrets", changed);
  return { ...namesOf(changed), ...current };
};

const current: WireObject = { VersionStages: ["AWSCURRENT"] };

const getSecretValue: Handler = (scope, params) => {
  const row = mustHave(scope, params);
  const { kind, value } = row.content;
  return {
    ...namesOf(row),
    [kind === "text" ? "SecretString" : "SecretBinary"]: value,
    ...current,
    CreatedDate: jsonTime(row.createdAtMs),
  };
};

const deleteSecret: Handler = (scope, params) => {
  const isForced = params.flag("ForceDeleteWithoutRecovery") ?? false;
  // What waits for its end can still be ended at once.
  const row = isForced ? find(scope, params) : mustHave(scope, params);
  const days = params.number("RecoveryWindowInDays");
  if (isForced && days !== undefined) {
    throw new ApiError(
      "InvalidParameterException",
      "You can't use ForceDeleteWithoutRecovery in conjunction with RecoveryWindowInDays.",
    );
  }
  const goesInMs = isForced ? scope.settings.durations.secretGoesMs : (days ?? 30) * dayMs;
  const goesAtMs = scope.nowMs + goesInMs;
  scope.db.put(
    "secrets",
    omitUndefined<SecretRow>({ ...row, goesAtMs, isForced: isForced || undefined }),
  );
  later(scope, "secretGoes", row.id, goesInMs);
  return { ARN: row.id, Name: row.name, DeletionDate: jsonTime(goesAtMs) };
};

const restoreSecret: Handler = (scope, params) => {
  const { goesAtMs: _, ...row } = find(scope, params);
  never(scope, "secretGoes", row.id);
  scope.db.put("secrets", row);
  return { ARN: row.id, Name: row.name };
};

const describeSecret: Handler = (scope, params) => metadataOf(find(scope, params));

const listSecrets: Handler = (scope, params) => {
  const isAll = params.flag("IncludePlannedDeletion") ?? false;
  const size = params.number("MaxResults") ?? 100;
  const from = Number(params.text("NextToken") ?? 0);
  const filters = params.objects("Filters").map((filter) => ({
    key: filter.required("Key"),
    values: filter.texts("Values"),
  }));
  const rows = shownIn(scope)
    .filter(({ goesAtMs }) => isAll || goesAtMs === undefined)
    .filter((row) => filters.every(({ key, values }) => passes(row, key, values)));
  const shown = rows.slice(from, from + size);
  const NextToken = from + size < rows.length ? String(from + size) : undefined;
  return { SecretList: shown.map(metadataOf), NextToken };
};

/** Values are beginnings: of the name, of the key of a tag, of its value. */
function passes({ name, tags }: SecretRow, key: string, values: readonly string[]): boolean {
  const facts: Readonly<Record<string, readonly string[]>> = {
    name: [name],
    "tag-key": Object.keys(tags),
    "tag-value": Object.values(tags),
  };
  const known = facts[key];
  if (known === undefined) throw validationException(`The simulator has no filter ${key}`);
  return values.some((value) => known.some((one) => one.startsWith(value)));
}

/** What is ended at once is out of sight before its name is free again. */
function shownIn({ db }: Scope): SecretRow[] {
  return db.all("secrets").filter(({ isForced }) => isForced !== true);
}

/** By name or ARN, one that is not about to go. */
function mustHave(scope: Scope, params: Params): SecretRow {
  const row = find(scope, params);
  if (row.goesAtMs === undefined) return row;
  throw new ApiError(
    "InvalidRequestException",
    "You can't perform this operation on the secret because it was marked for deletion.",
  );
}

function find(scope: Scope, params: Params): SecretRow {
  const id = params.required("SecretId");
  const row = shownIn(scope).find((one) => one.id === id || one.name === id);
  if (row !== undefined) return row;
  throw new ApiError(
    "ResourceNotFoundException",
    "Secrets Manager can't find the specified secret.",
  );
}

function namesOf({ id, name, versionId }: SecretRow): WireObject {
  return { ARN: id, Name: name, VersionId: versionId };
}

function metadataOf(row: SecretRow): WireObject {
  const { id, name, description, createdAtMs, goesAtMs, tags } = row;
  return {
    ARN: id,
    Name: name,
    Description: description,
    CreatedDate: jsonTime(createdAtMs),
    LastChangedDate: jsonTime(createdAtMs),
    DeletedDate: goesAtMs === undefined ? undefined : jsonTime(goesAtMs),
    Tags: jsonTagList(tags),
  };
}

/** What happens to secrets by itself. */
export const secretTimers = {
  secretGoes: ({ db }: Scope, id: string) => db.remove("secrets", id),
};

export const secretActions = actionsOf(
  { GetSecretValue: getSecretValue, DescribeSecret: describeSecret, ListSecrets: listSecrets },
  {
    CreateSecret: createSecret,
    PutSecretValue: putSecretValue,
    DeleteSecret: deleteSecret,
    RestoreSecret: restoreSecret,
  },
);
