/**
 * Permits of a backend: each lets the engines of one command write there until it is withdrawn. A permit is a key whose last part
 * is a UUID, e.g. ".capstan/permits/capstan/default.demo/<uuid>". Errors as those of BackendObjects.
 */
export interface BackendPermits {
  /** Answers the URL that leads engines to the backend for as long as the permit is not withdrawn. */
  grant(permit: string): Promise<string>;
  /** Whether it was granted, and not withdrawn since. */
  isGranted(permit: string): Promise<boolean>;
  /**
   * Once this has resolved, an engine that came by the permit's URL writes nothing in folders and in PostgreSQL, however long it was
   * frozen. S3 cannot tell engines apart: there the permit's command alone heeds it. Nothing happens when there is none.
   */
  withdraw(permit: string): Promise<void>;
  /** Removes what is kept of a permit whose engines have ended. */
  forget(permit: string): Promise<void>;
  /** The last parts of the permits in a folder, withdrawn or not. */
  list(folder: string): Promise<readonly string[]>;
}

/** The same of one kind of store: keys are whole, and `url` is the backend's. */
export interface StorePermits {
  grant(permit: string, url: string, signal: AbortSignal): Promise<string>;
  isGranted(permit: string, signal: AbortSignal): Promise<boolean>;
  withdraw(permit: string, signal: AbortSignal): Promise<void>;
  forget(permit: string, signal: AbortSignal): Promise<void>;
  list(folder: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** What permits of a store without any of its own are made of: an object each. */
interface PlainObjects {
  list(folder: string, signal: AbortSignal): Promise<string[]>;
  read(key: string, signal: AbortSignal): Promise<string | undefined>;
  write(key: string, text: string, signal: AbortSignal): Promise<void>;
  remove(key: string, signal: AbortSignal): Promise<void>;
}

/** Permits where the store takes writes of all that have its credentials: the command of a permit looks for its object. */
export function plainPermits(objects: PlainObjects): StorePermits {
  const remove = (permit: string, signal: AbortSignal) => objects.remove(permit, signal);
  return {
    grant: async (permit, url, signal) => {
      await objects.write(permit, "{}", signal);
      return url;
    },
    isGranted: async (permit, signal) => (await objects.read(permit, signal)) !== undefined,
    withdraw: remove,
    forget: remove,
    list: async (folder, signal) => {
      const keys = await objects.list(folder, signal);
      return keys.map((key) => key.slice(folder.length + 1));
    },
  };
}
