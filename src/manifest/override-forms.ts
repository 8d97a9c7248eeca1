import type { MemberPath } from "../api/diagnostic-codes.js";

// How a command says what is put into its manifests. Loads no YAML: help and completion read this.

export const variableName = /^[A-Za-z_]\w*$/;

/** A value that a command sets in an object of its manifests. */
export interface Setting {
  /** As it was given: "MachineDeployment/workers:spec.replicas=5". */
  readonly text: string;
  /** Absent: the only object that has something at the path. */
  readonly target?: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly path: MemberPath;
  /** Behind the "=", as it was given. */
  readonly given: string;
}

/** How a setting is told of, in the place of a file and a line. */
export function placeOfSetting({ text }: Pick<Setting, "text">): string {
  return `--set ${text}`;
}

/** What it sets, without the value. Pure. */
export function nameOfSetting({ text }: Pick<Setting, "text">): string {
  return text.slice(0, text.indexOf("="));
}

const form = /^(?:([A-Za-z]+)\/(?:([^/:=]+)\/)?([^/:=]+):)?([^=]+)=(.*)$/s;

/** "[KIND/[NAMESPACE/]NAME:]PATH=VALUE"; undefined for anything else. Pure. */
export function parseSetting(text: string): Setting | undefined {
  const [, kind, namespace, name, written = "", given = ""] = form.exec(text) ?? [];
  const path = parsePath(written);
  if (path === undefined) return undefined;
  if (kind === undefined || name === undefined) return { text, path, given };
  const target = namespace === undefined ? { kind, name } : { kind, namespace, name };
  return { text, target, path, given };
}

/** A path as it is written in a setting. Pure. */
export function settingPathText(path: MemberPath): string {
  return path.reduce<string>((before, part) => {
    if (typeof part === "number") return `${before}[${part}]`;
    const name = part.replaceAll(/[.[\]\\]/g, "\\$&");
    return before === "" ? name : `${before}.${name}`;
  }, "");
}

/** "spec.list[0].name"; a dot in a name has a backslash before it. */
function parsePath(written: string): MemberPath | undefined {
  const segments = written
    .split(/(?<!\\)\./)
    .map((segment) => /^((?:\\.|[^[\]\\])+)((?:\[\d+\])*)$/.exec(segment));
  const path = segments.flatMap((found): MemberPath => {
    const [, name = "", indexes = ""] = found ?? [];
    const list = [...indexes.matchAll(/\d+/g)].map(([index]) => Number(index));
    return [name.replaceAll(/\\(.)/g, "$1"), ...list];
  });
  const isWrong = segments.includes(null) || path.includes("__proto__");
  return isWrong ? undefined : path;
}
