import type { HostFile } from "./host-file.js";

/**
 * Files, and what is run once they are there, as one script for sh. Each file takes the place of another as a whole,
 * since a shell may be reading that one. Pure.
 */
export function shellArchive(files: readonly HostFile[], lines: readonly string[]): string {
  return [
    "set -eu",
    "umask 077",
    'put() { (umask 022; mkdir -p "$(dirname "$1")"); base64 -d > "$1.new"; chmod "$2" "$1.new"; mv "$1.new" "$1"; }',
    ...files.flatMap(({ path, mode, owner, content }) => [
      `put '${path}' ${mode} <<'END'`,
      ...(Buffer.from(content)
        .toString("base64")
        .match(/.{1,76}/g) ?? []),
      "END",
      ...(owner === undefined ? [] : [`chown '${owner}' '${path}'`]),
    ]),
    ...lines,
    "",
  ].join("\n");
}
