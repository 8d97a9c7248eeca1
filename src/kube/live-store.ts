import type { LiveList } from "./api.js";
import type { LiveMetadata } from "./live-object.js";

/** An object as an API server has it, whatever its kind. */
interface Versioned {
  readonly metadata: LiveMetadata;
}

/** How an object was known until now, and how it is known now; one of them is absent where it came or went. */
export interface LiveChange<T> {
  readonly before?: T;
  readonly after?: T;
}

/** Objects that are known to be gone for good: late news of more than these does not come. */
const mostBuried = 10_000;

/**
 * Objects of an API server as far as lists, watches and answers to our own writes have told of them. Within one list and the watch that
 * follows it, these come in any order: what is older than what is known changes nothing. A list replaces what was known before it,
 * whatever the versions say: an API server whose etcd was restored counts anew.
 */
export class LiveStore<T extends Versioned> {
  private readonly objects = new Map<string, T>();
  /** UIDs of objects that are gone: what is still told of them is old. */
  private readonly buried = new Set<string>();
  /** UIDs of objects of which something was told while a list is being read, for each such list. */
  private readonly reading = new Set<Set<string>>();

  /** `nameOf` is unique in an API server; `onChange` is told once what is known has changed. */
  constructor(
    private readonly nameOf: (object: T) => string,
    private readonly onChange: (change: LiveChange<T>) => void,
  ) {}

  get(name: string): T | undefined {
    return this.objects.get(name);
  }

  put(object: T): void {
    this.noteTold(object);
    const known = this.objects.get(this.nameOf(object));
    if (this.buried.has(object.metadata.uid)) return;
    if (known !== undefined && !isNewer(object.metadata, known.metadata)) return;
    this.set(object);
  }

  remove(object: T): void {
    this.noteTold(object);
    const name = this.nameOf(object);
    const known = this.objects.get(name);
    this.bury(object.metadata.uid);
    if (known?.metadata.uid !== object.metadata.uid) return;
    this.objects.delete(name);
    this.onChange({ before: known });
  }

  /**
   * Reads a list, which from then on is what is known of the objects that `isListed` names. Only what was told while it was being
   * read may be newer: that is compared with the list, which is of the same history. Rejects with what `read` rejects with.
   */
  async relist<List extends LiveList<T>>(
    read: () => Promise<List>,
    isListed: (object: T) => boolean,
  ): Promise<List> {
    const told = new Set<string>();
    this.reading.add(told);
    try {
      const listed = await read();
      this.replace(listed, isListed, told);
      return listed;
    } finally {
      this.reading.delete(told);
    }
  }

  private replace(
    { items, metadata }: LiveList<T>,
    isListed: (object: T) => boolean,
    told: ReadonlySet<string>,
  ): void {
    const names = new Set(items.map((item) => this.nameOf(item)));
    for (const [name, object] of this.objects) {
      if (!isListed(object) || names.has(name)) continue;
      const { uid } = object.metadata;
      // What we have made since the list was made is missing in it, too.
      if (!told.has(uid) || !isNewer(object.metadata, metadata)) this.remove(object);
    }
    for (const item of items) {
      const { uid } = item.metadata;
      if (told.has(uid)) {
        this.put(item);
        continue;
      }
      this.buried.delete(uid);
      this.set(item);
    }
  }

  private set(object: T): void {
    const name = this.nameOf(object);
    const known = this.objects.get(name);
    if (known !== undefined && isSameVersion(known, object)) return;
    this.objects.set(name, object);
    this.onChange(known === undefined ? { after: object } : { before: known, after: object });
  }

  private noteTold({ metadata: { uid } }: T): void {
    for (const told of this.reading) told.add(uid);
  }

  private bury(uid: string): void {
    this.buried.add(uid);
    if (this.buried.size <= mostBuried) return;
    for (const oldest of this.buried) {
      this.buried.delete(oldest);
      return;
    }
  }
}

function isSameVersion(left: Versioned, right: Versioned): boolean {
  const [one, other] = [left.metadata, right.metadata];
  return one.uid === other.uid && one.resourceVersion === other.resourceVersion;
}

/**
 * Versions of one API server's objects count upwards, also from one object of a name to the next, so that older news can be told from
 * newer: between two lists, and no longer.
 */
function isNewer(
  left: Pick<LiveMetadata, "resourceVersion">,
  right: Pick<LiveMetadata, "resourceVersion">,
): boolean {
  return BigInt(left.resourceVersion) > BigInt(right.resourceVersion);
}
