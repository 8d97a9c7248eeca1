interface HostScript {
  /** "bootstrap": in what the console shows, and in the name of its log. */
  readonly name: string;
  /** A condition of sh: there is nothing left to do. */
  readonly isDone: string;
  readonly lines: readonly string[];
}

/**
 * A script that root runs on a host: sh of POSIX. Root alone can read its log. The console tells what failed, with
 * the end of the log. Pure.
 */
export function hostScript({ name, isDone, lines }: HostScript): string {
  const log = `/var/log/capstan-${name}.log`;
  return [
    "#!/bin/sh",
    "set -eu",
    `${isDone} && exit 0`,
    `(umask 077; : >> ${log})`,
    `exec >> ${log} 2>&1`,
    'step="begin"',
    "tell() {",
    "  code=$?",
    '  [ "$code" -eq 0 ] && return',
    `  { echo "capstan: ${name} failed with $code at: $step"; tail -n 20 ${log}; } > /dev/console || true`,
    "}",
    "trap tell EXIT",
    ...lines,
    "",
  ].join("\n");
}

/** A part of a script, with the name by which it is told. Pure. */
export function step(name: string, lines: readonly string[]): string[] {
  return ["", `step=${quoted(name)}; echo "$step"`, ...lines];
}

/** One word of a shell, whatever stands in it. Pure. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
