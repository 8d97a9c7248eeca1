import { omitUndefined } from "../../api/omit-undefined.js";
import { type ClusterObject, providerValue } from "../../api/types.js";
import type { UserData, UserDataTerms } from "../../provider/port.js";
import type { HostBootstrap } from "./host-bootstrap.js";
import { shellArchive } from "./shell-archive.js";
import { packedUserData, userDataOf } from "./user-data.js";

/** How a bootstrap gets to its host. */
interface Delivery {
  readonly userData: UserData;
  /** What a store has to keep before the host is made; absent: everything is in the user data. */
  readonly secret?: { readonly name: string; readonly content: Uint8Array };
}

/** The name under which a store keeps what is for one host: a function of its identity. Pure. */
export function secretNameOf(token: string): string {
  return `capstan-${token}`;
}

/** The terms of a cluster's hosts: without a store where their secrets travel in the user data. Pure. */
export function termsFor({ spec }: ClusterObject, terms: UserDataTerms): UserDataTerms {
  const { secrets, ...others } = terms;
  return secrets?.isUsedBy?.(providerValue(spec)) === false ? others : terms;
}

/**
 * In the user data itself, or, where the terms have a store, as one script that is kept there and that the user
 * data fetches. `token` is that of the host's identity. Pure.
 */
export function deliveryOf(
  bootstrap: HostBootstrap,
  { format, secrets }: Pick<UserDataTerms, "format" | "secrets">,
  token: string,
): Delivery {
  if (secrets === undefined) return { userData: inFormat(bootstrap, format) };
  const name = secretNameOf(token);
  const archive = shellArchive(bootstrap.files, [`exec '${bootstrap.script}'`]);
  const fetch = fetching(secrets.fetchCommand(name));
  return {
    userData: inFormat(omitUndefined({ ...fetch, template: bootstrap.template }), format),
    secret: { name, content: packedUserData(archive) },
  };
}

function inFormat(bootstrap: HostBootstrap, format: UserData["format"]): UserData {
  const text = userDataOf(bootstrap, format);
  return { format, text, packed: packedUserData(text) };
}

/** What cannot be fetched is told by the console; half of it is never run. */
function fetching(command: string): HostBootstrap {
  const script = "/usr/local/sbin/capstan-fetch";
  const content = [
    "#!/bin/sh",
    "set -eu",
    "umask 077",
    "folder=$(mktemp -d)",
    `trap 'rm -rf "$folder"' EXIT`,
    `if ! { { ${command}; } > "$folder/packed" && gunzip -c < "$folder/packed" > "$folder/script"; } 2> "$folder/why"; then`,
    '  { echo "capstan: bootstrap failed: its secret cannot be fetched"; tail -n 3 "$folder/why"; } | tee /dev/console >&2 || true',
    "  exit 1",
    "fi",
    'sh "$folder/script"',
    "",
  ].join("\n");
  return { files: [{ path: script, mode: "0700", content }], script };
}
