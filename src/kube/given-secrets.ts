import { CapstanError } from "../api/error.js";
import type { ClusterKeys } from "../bootstrap/certificates/cluster-keys.js";
import { keySecretNames, keysInSecrets } from "../bootstrap/certificates/secrets.js";
import type { KubeApi } from "./api.js";
import { isOfClusterApi, isOwned, type LiveSecret, secretNameOf } from "./cluster-secrets.js";
import type { LiveObject } from "./live-object.js";
import type { SecretCache } from "./secret-cache.js";

/**
 * The keys that a user has put into Secrets of a cluster's names, with a label or without; undefined where there is
 * no such Secret. Throws INVALID_INPUT with all that is wrong with them, without their contents, and API_SERVER.
 */
export async function givenKeysOf(
  { metadata }: LiveObject,
  api: Pick<KubeApi, "readSecret">,
  nowMs: number,
): Promise<Partial<ClusterKeys> | undefined> {
  const { namespace } = metadata;
  const read = keySecretNames(metadata).map((name) => api.readSecret({ namespace, name }));
  const secrets = (await Promise.all(read))
    .filter((one) => one !== undefined)
    .filter((one) => !isOwned(one, { metadata }));
  if (secrets.length === 0) return undefined;
  const given = keysInSecrets(secrets, metadata, nowMs);
  const problems = [
    ...secrets.filter(isOfClusterApi).map(foreignText),
    ...(given.kind === "unusable" ? given.problems : []),
  ];
  if (given.kind === "keys" && problems.length === 0) return given.keys;
  throw unusable(`${namespace}/${metadata.name}`, problems);
}

/** What tells whether a user has put other Secrets there than before, as far as is known. Holds no contents. */
export function givenVersions(cluster: LiveObject, cache: SecretCache): string[] {
  const { namespace } = cluster.metadata;
  return keySecretNames(cluster.metadata)
    .flatMap((name) => cache.secretOf(namespace, name) ?? [])
    .filter((secret) => !isOwned(secret, cluster))
    .map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`);
}

function foreignText(secret: LiveSecret): string {
  const [owner] = secret.metadata.ownerReferences ?? [];
  return `Secret ${secretNameOf(secret)} belongs to ${owner?.kind ?? ""} ${owner?.name ?? ""} of Cluster API`;
}

function unusable(cluster: string, problems: readonly string[]): CapstanError {
  return new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: cluster,
    message: `cannot make Cluster ${cluster} with the keys in its Secrets: ${problems.join("; ")}`,
    hint: "put valid pairs there, or delete these Secrets, and keys are made; nothing was touched",
  });
}
