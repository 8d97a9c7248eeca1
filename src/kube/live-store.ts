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
 * Objects of an API server as far as watches and answers to our own writes have told of them. These come in any
 * order: what is older than what is known changes nothing.
 */
export class LiveStore<T extends Versioned> {
  private readonly objects = new Map<string, T>();
  /** UIDs of objects that are gone: what is still told of them is old. */
  private readonly buried = new Set<string>();

  /** `nameOf` is unique in an API server; `onChange` is told once what is known has changed. */
  constructor(
    private readonly nameOf: (object: T) => string,
    private readonly onChange: (change: LiveChange<T>) => void,
  ) {}

  get(name: string): T | undefined {
    return this.objects.get(name);
  }

  put(object: T): void {
    const name = this.nameOf(object);
    const known = this.objects.get(name);
    if (this.buried.has(object.metadata.uid)) return;
    if (known !== undefined && !isNewer(object.metadata, known.metadata)) return;
    this.objects.set(name, object);
    this.onChange(known === undefined ? { after: object } : { before: known, after: object });
  }

  remove(object: T): void {
    const name = this.nameOf(object);
    const known = this.objects.get(name);
    this.bury(object.metadata.uid);
    if (known?.metadata.uid !== object.metadata.uid) return;
    this.objects.delete(name);
    this.onChange({ before: known });
  }

  /** What was deleted while nobody watched: of those that a list is about, the ones that are not in it. */
  forgetMissing(listed: LiveList<T>, isListed: (object: T) => boolean): void {
    const names = new Set(listed.items.map((item) => this.nameOf(item)));
    for (const [name, object] of this.objects) {
      if (!isListed(object) || names.has(name)) continue;
      // What we have made since the list was made is missing in it, too.
      if (!isNewer(object.metadata, listed.metadata)) this.remove(object);
    }
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

/**
 * Versions of one API server's objects count upwards, also from one object of a name to the next, so
 * that older news can be told from newer.
 */
function isNewer(
  left: Pick<LiveMetadata, "resourceVersion">,
  right: Pick<LiveMetadata, "resourceVersion">,
): boolean {
  return BigInt(left.resourceVersion) > BigInt(right.resourceVersion);
}
