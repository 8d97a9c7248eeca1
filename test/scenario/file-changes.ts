import { resolve } from "node:path";

/** A change of files and folders, or what makes changes last. Paths are absolute. */
export type FileChange = { readonly atMs: number } & (
  | {
      readonly kind: "open";
      readonly of: OpenFile;
      readonly creates: boolean;
      readonly truncates: boolean;
      readonly appends: boolean;
    }
  /** Where the file stands, unless it says where. */
  | { readonly kind: "write"; readonly of: OpenFile; readonly data: Buffer; readonly at?: number }
  | {
      readonly kind: "copy";
      /** Where it stands, unless it says where. */
      readonly from: OpenFile & { readonly at?: number };
      readonly of: OpenFile;
      readonly bytes: number;
    }
  | { readonly kind: "resize"; readonly path: string; readonly bytes: number }
  | { readonly kind: "rename" | "link"; readonly path: string; readonly to: string }
  /** `target` as it is written: relative to the folder of the link, unless it is absolute. */
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  | { readonly kind: "remove" | "makeFolder"; readonly path: string }
  /** Of one file or folder; of everything without a path. */
  | { readonly kind: "sync"; readonly path?: string }
);

/** A file by its name and its number in a process. */
export interface OpenFile {
  readonly path: string;
  readonly fd: number;
}

const calls =
  "creat,open,openat,write,pwrite64,writev,pwritev,copy_file_range,truncate,ftruncate," +
  "rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat," +
  "fsync,fdatasync,sync,syncfs";

/**
 * The program and its arguments by which a command is run so that every change of a file that one of its processes makes is
 * written to `log`: strace, which the kernel stops for these calls alone.
 */
export function notingFileChanges(log: string): string[] {
  const how = ["-f", "-qq", "-y", "-x", "-ttt", "--seccomp-bpf", "-s", String(longestWrite)];
  return ["strace", ...how, "-e", "signal=none", "-e", `trace=${calls}`, "-o", log];
}

/** More than anybody writes at once. */
const longestWrite = 4 * 1024 * 1024;

/** What a log says of a folder: changes in the order of their ends, and files that a call was in when all ended. */
export interface NotedChanges {
  readonly changes: readonly FileChange[];
  readonly unended: ReadonlySet<string>;
}

export function changesIn(log: string, folder: string): NotedChanges {
  const begun = new Map<string, string>();
  const changes: FileChange[] = [];
  for (const line of log.split("\n")) {
    const [, thread = "", seconds = "", said = ""] = /^(\d+) +([\d.]+) (.*)$/.exec(line) ?? [];
    const unfinished = / <unfinished \.\.\.>$/.exec(said);
    if (unfinished !== null) {
      begun.set(thread, said.slice(0, unfinished.index));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>/.exec(said);
    const whole =
      resumed === null ? said : `${begun.get(thread) ?? ""}${said.slice(resumed[0].length)}`;
    if (resumed !== null) begun.delete(thread);
    if (whole.endsWith(" = ?")) begun.set(thread, whole);
    if (!whole.includes(folder) && !whole.startsWith("sync(")) continue;
    const change = changeIn(whole, Number(seconds) * 1000);
    if (change !== undefined) changes.push(change);
  }
  const unended = [...begun.values()].flatMap((call) => pathsIn(call, folder));
  return { changes, unended: new Set(unended) };
}

/** Undefined for a call that has failed. */
function changeIn(said: string, atMs: number): FileChange | undefined {
  const [, call = "", args = "", result = "", rest = ""] =
    /^(\w+)\((.*)\) += (-?\d+|\?)(.*)$/.exec(said) ?? [];
  const count = Number(result);
  if (Number.isNaN(count) || count < 0 || result === "") return undefined;
  const path = () => namesIn(args)[0] ?? "";
  switch (call) {
    case "creat":
    case "open":
    case "openat":
      return openedBy(args, `${result}${rest}`, atMs);
    case "write":
    case "writev":
      return { kind: "write", of: fileAt(args), data: dataIn(args, count), atMs };
    case "pwrite64":
    case "pwritev":
      return { kind: "write", of: fileAt(args), data: dataIn(args, count), at: lastOf(args), atMs };
    case "copy_file_range":
      return copiedBy(args, count, atMs);
    case "ftruncate":
      return { kind: "resize", path: fileAt(args).path, bytes: lastOf(args), atMs };
    case "truncate":
      return { kind: "resize", path: path(), bytes: lastOf(args), atMs };
    case "rename":
    case "renameat":
    case "renameat2":
      return { kind: "rename", path: path(), to: namesIn(args)[1] ?? "", atMs };
    case "link":
    case "linkat":
      return { kind: "link", path: path(), to: namesIn(args)[1] ?? "", atMs };
    case "symlink":
    case "symlinkat":
      return { kind: "symlink", path: namesIn(args)[1] ?? "", target: targetIn(args), atMs };
    case "unlink":
    case "unlinkat":
    case "rmdir":
      return { kind: "remove", path: path(), atMs };
    case "mkdir":
    case "mkdirat":
      return { kind: "makeFolder", path: path(), atMs };
    case "fsync":
    case "fdatasync":
      return { kind: "sync", path: fileAt(args).path, atMs };
    case "sync":
    case "syncfs":
      return { kind: "sync", atMs };
    default:
      throw new Error(`nobody asked for ${call}: ${said}`);
  }
}

function copiedBy(args: string, bytes: number, atMs: number): FileChange {
  const [, from = "", at = "", of = ""] =
    /^(\d+<[^>]*>), (?:NULL|\[(\d+)\]), (\d+<[^>]*>), NULL,/.exec(args) ?? [];
  if (of === "") throw new Error(`a copy is not understood: ${args}`);
  const source = at === "" ? fileAt(from) : { ...fileAt(from), at: Number(at) };
  return { kind: "copy", from: source, of: fileAt(of), bytes, atMs };
}

function openedBy(args: string, result: string, atMs: number): FileChange {
  const has = (flag: string) => args.includes(flag);
  const of = fileAt(result);
  return {
    kind: "open",
    of,
    creates: has("O_CREAT"),
    truncates: has("O_TRUNC"),
    appends: has("O_APPEND"),
    atMs,
  };
}

/** `22</state/locks.db>`, with which the text begins. */
function fileAt(text: string): OpenFile {
  const [, fd = "", path = ""] = /^(\d+)<([^>]*)>/.exec(text) ?? [];
  return { path, fd: Number(fd) };
}

/** The names in the arguments of a call, each behind the folder that it counts from, if that is said. */
function namesIn(args: string): string[] {
  const named = /(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"/g;
  return [...args.matchAll(named)].map(([, from = "/", name = ""]) =>
    resolve(from, unescaped(name).toString()),
  );
}

/** What a symbolic link is to lead to: the first text of its call. */
function targetIn(args: string): string {
  const [, target = ""] = /^"((?:[^"\\]|\\.)*)"/.exec(args) ?? [];
  return unescaped(target).toString();
}

function pathsIn(call: string, folder: string): string[] {
  const named = [...call.matchAll(/[<"](\/[^>"]*)[>"]/g)].map(([, path = ""]) => path);
  return named.filter((path) => path.startsWith(folder));
}

function lastOf(args: string): number {
  return Number(args.slice(args.lastIndexOf(",") + 1));
}

/** All that was handed over, up to what was taken. */
function dataIn(args: string, bytes: number): Buffer {
  const texts = [...args.matchAll(/"((?:[^"\\]|\\.)*)"(\.\.\.)?/g)];
  if (texts.some(([, , more]) => more !== undefined))
    throw new Error("a write was not noted whole");
  return Buffer.concat(texts.map(([, text = ""]) => unescaped(text))).subarray(0, bytes);
}

const letters: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  f: "\f",
  v: "\v",
};

/** strace writes what is not ASCII as a whole in hexadecimal. */
function unescaped(text: string): Buffer {
  if (text.startsWith("\\x")) return Buffer.from(text.replaceAll("\\x", ""), "hex");
  const plain = text.replace(/\\([0-7]{1,3}|.)/g, (_, code: string) =>
    /^[0-7]/.test(code) ? String.fromCharCode(Number.parseInt(code, 8)) : (letters[code] ?? code),
  );
  return Buffer.from(plain, "latin1");
}
