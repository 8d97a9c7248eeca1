import type { BackendPermits, StorePermits } from "./backend-permits.js";
import { CapstanError, isCapstanError, messageOf } from "../../api/error.js";

/** One kind of store: whole keys, errors of its own, answers when they come. */
interface ObjectStore {
  /** What to do when it fails. */
  readonly advice: string;
  /** Keys of the objects directly in a folder, in any order. */
  list(folder: string, signal: AbortSignal): Promise<string[]>;
  read(key: string, signal: AbortSignal): Promise<string | undefined>;
  write(key: string, text: string, signal: AbortSignal): Promise<void>;
  remove(key: string, signal: AbortSignal): Promise<void>;
  readonly permits: StorePermits;
  close(): Promise<void>;
  /** Whether a failure of its own may pass by itself; only what never reached the server does without. */
  mayPass?(error: unknown): boolean;
}

interface StoreOptions {
  /** The backend as people may see it. */
  readonly name: string;
  /** As Pulumi takes it. */
  readonly url: string;
  /** Before each key in the store, and before none outside. */
  readonly prefix: string;
  /** The longest that one call takes, with connecting, milliseconds. */
  readonly limitMs: number;
}

/**
 * A store under its prefix: each call ends in time, and fails in words of ours. Throws BAD_STATE, or what the
 * store has told in words of ours itself.
 */
export class BoundedObjects {
  constructor(
    private readonly store: ObjectStore,
    private readonly options: StoreOptions,
  ) {}

  async list(folder: string): Promise<readonly string[]> {
    const { prefix } = this.options;
    const plain = folder.replace(/(?<!\/)\/+$/, "");
    const keys = await this.within(`list ${plain}`, (signal) =>
      this.store.list(`${prefix}${plain}`, signal),
    );
    return keys.map((key) => key.slice(prefix.length)).sort();
  }

  read(key: string): Promise<string | undefined> {
    return this.within(`read ${key}`, (signal) => this.store.read(this.whole(key), signal));
  }

  write(key: string, text: string): Promise<void> {
    return this.within(`write ${key}`, (signal) => this.store.write(this.whole(key), text, signal));
  }

  remove(key: string): Promise<void> {
    return this.within(`remove ${key}`, (signal) => this.store.remove(this.whole(key), signal));
  }

  get permits(): BackendPermits {
    const { url } = this.options;
    const { permits } = this.store;
    const bounded =
      <T>(verb: string, call: (key: string, signal: AbortSignal) => Promise<T>) =>
      (key: string) =>
        this.within(`${verb} ${key}`, (signal) => call(this.whole(key), signal));
    return {
      grant: bounded("write", (permit, signal) => permits.grant(permit, url, signal)),
      isGranted: bounded("read", (permit, signal) => permits.isGranted(permit, signal)),
      withdraw: bounded("write", (permit, signal) => permits.withdraw(permit, signal)),
      forget: bounded("remove", (permit, signal) => permits.forget(permit, signal)),
      list: bounded("list", (folder, signal) => permits.list(folder, signal)),
    };
  }

  /** A server that does not take leave, or was never reached, is left without it: nothing is lost by that. */
  async close(): Promise<void> {
    await inTime(leaveMs, () => this.store.close()).catch(() => {});
  }

  private whole(key: string): string {
    return `${this.options.prefix}${key}`;
  }

  private async within<T>(doing: string, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await inTime(this.options.limitMs, call);
    } catch (error) {
      throw isCapstanError(error) ? error : this.told(doing, error);
    }
  }

  private told(doing: string, error: unknown): CapstanError {
    const { name } = this.options;
    return new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      subject: name,
      message: `cannot ${doing} in the backend ${name}: ${causeIn(error)}`,
      hint: this.store.advice,
      retryable: isOfTheWay(error) || this.store.mayPass?.(error) === true,
      cause: error,
    });
  }
}

/** The longest that taking leave of a server may take. */
const leaveMs = 1_000;

class TooLate extends Error {}

/** An answer that comes later is dropped, and so is its error. */
async function inTime<T>(limitMs: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const patience = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new TooLate(`no answer within ${limitMs / 1000} s`);
      reject(error);
      patience.abort(error);
    }, limitMs);
  });
  try {
    return await Promise.race([call(patience.signal), end]);
  } finally {
    clearTimeout(timer);
  }
}

/** Node tells of a host with several addresses that none of them answers, each in an error of its own. */
function causeIn(error: unknown): string {
  if (error instanceof AggregateError) {
    return [...new Set(error.errors.map((one) => messageOf(one)))].join(", ");
  }
  const message = messageOf(error);
  return error instanceof Error && message === "" ? error.name : message;
}

/** Whether nothing was answered: then the same call may succeed later. */
function isOfTheWay(error: unknown): boolean {
  if (error instanceof TooLate || error instanceof AggregateError) return true;
  return typeof (error as NodeJS.ErrnoException).syscall === "string";
}
