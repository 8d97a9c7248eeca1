import { CapstanError, type ErrorCode, isCapstanError } from "./error.js";

/** Why a file or a database could not be used, whatever it holds. */
export type StorageFailure =
  /** No room is left on its disk, or within its user's quota. */
  | "full"
  /** Another process has kept it locked for longer than anybody waits. */
  | "busy"
  /** It, its folder or its file system is not to be written or read by this user. */
  | "refused"
  /** The disk itself failed, or its file system did. */
  | "broken";

const byErrno: Readonly<Record<string, StorageFailure>> = {
  ENOSPC: "full",
  EDQUOT: "full",
  EROFS: "refused",
  EACCES: "refused",
  EPERM: "refused",
  EIO: "broken",
};

/** Primary result codes, and extended ones that say more. Source: sqlite.org/rescode.html. */
const bySqlite: Readonly<Record<number, StorageFailure>> = {
  5: "busy",
  6: "busy",
  8: "refused",
  10: "broken",
  13: "full",
  14: "refused",
  // SQLITE_IOERR_SHMSIZE: the index of a write-ahead log cannot grow.
  4874: "full",
};

/** What the system's or SQLite's code of an error stands for; undefined for any other error. Pure. */
export function storageFailureOf(error: unknown): StorageFailure | undefined {
  if (isCapstanError(error) || typeof error !== "object" || error === null) return undefined;
  const { code, errcode, syscall } = error as { code?: string; errcode?: number; syscall?: string };
  if (typeof errcode === "number") return bySqlite[errcode] ?? bySqlite[errcode & 0xff];
  return typeof syscall === "string" && typeof code === "string" ? byErrno[code] : undefined;
}

/** What each means to people, and what to do about it. */
export const storageWords: Readonly<
  Record<StorageFailure, { readonly says: string; readonly hint: string }>
> = {
  full: {
    says: "no room is left on its disk",
    hint: "free some room there; the same command then goes on",
  },
  busy: {
    says: "another process keeps it locked",
    hint: "wait until that process has ended; the same command then goes on",
  },
  refused: {
    says: "it is not open to this user, or its file system is read-only",
    hint: "make it readable and writable; the same command then goes on",
  },
  broken: {
    says: "its disk fails",
    hint: "look at the disk, e.g. with df and dmesg; the same command then goes on",
  },
};

const codes = {
  full: "NO_SPACE",
  busy: "LOCKED",
  refused: "NOT_WRITABLE",
  broken: "NOT_WRITABLE",
} as const satisfies Record<StorageFailure, ErrorCode>;

/** In words of ours: NO_SPACE, LOCKED or NOT_WRITABLE, about what could not be used. Pure. */
export function storageError(
  failure: StorageFailure,
  subject: string,
  cause: unknown,
): CapstanError {
  const code = codes[failure];
  const { says, hint } = storageWords[failure];
  const told = cause instanceof Error ? ` (${cause.message})` : "";
  return new CapstanError({
    code,
    source: failure === "busy" ? "user" : "engine",
    subject,
    hint,
    cause,
    message: `cannot use ${subject}: ${says}${told}`,
    retryable: failure === "full" || failure === "busy",
  });
}

/**
 * An error of the system or of SQLite in words of ours; anything else as it is. Pure. Where `subject` is
 * not known, the error's own path is.
 */
export function toldAsStorage(error: unknown, subject?: string): unknown {
  const failure = storageFailureOf(error);
  if (failure === undefined) return error;
  const { path } = error as { path?: string };
  return storageError(failure, subject ?? path ?? "a file of the state folder", error);
}
