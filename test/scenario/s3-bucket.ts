/** What is stored under a key. */
export interface StoredObject {
  readonly body: Buffer;
  readonly modified: Date;
}

export type WriteKind = "put" | "copy" | "delete";

/** One write that the bucket was asked for. */
export interface WriteRow {
  readonly what: WriteKind;
  /** The key without what differs from run to run: times and random ids. */
  readonly name: string;
}

/** Which write is held back, and whether before it takes effect or before its answer. */
export interface HoldRequest extends WriteRow {
  readonly side: "before" | "after";
  /** Counted from 1 among the writes alike, from the beginning of the bucket's log; or the first one that writes such a text. */
  readonly nth: number | ((body: string) => boolean);
}

/** A write that is held back as soon as it comes. */
export interface WriteHold {
  readonly isReached: boolean;
  /** Whether whoever asked for it is still connected. */
  readonly isWaitedFor: boolean;
  /**
   * Lets it go on. What nobody waits for any more is dropped, as a server does that reads from a
   * closed connection, or with `evenSo` carried out, as one that had read all of it already.
   */
  release(dead: "drop" | "evenSo"): void;
}

interface Holding {
  readonly request: HoldRequest;
  isReached: boolean;
  isWaitedFor: () => boolean;
  readonly released: Promise<"drop" | "evenSo">;
}

/** Objects by key, with a log of all writes. */
export class Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly log: WriteRow[] = [];
  private readonly holdings: Holding[] = [];

  clone(): Bucket {
    const copy = new Bucket();
    for (const [key, object] of this.objects) copy.objects.set(key, object);
    return copy;
  }

  hold(request: HoldRequest): WriteHold {
    let release: WriteHold["release"] = () => {};
    const released = new Promise<"drop" | "evenSo">((resolve) => (release = resolve));
    const holding: Holding = { request, isReached: false, isWaitedFor: () => true, released };
    this.holdings.push(holding);
    return {
      get isReached() {
        return holding.isReached;
      },
      get isWaitedFor() {
        return holding.isWaitedFor();
      },
      release,
    };
  }

  /** Carries out a write, held back where that was asked for. */
  async write(
    what: WriteKind,
    key: string,
    {
      change,
      isWaitedFor,
      body,
    }: { change: () => void; isWaitedFor: () => boolean; body?: Buffer },
  ): Promise<void> {
    const name = lastingName(key);
    this.log.push({ what, name });
    const count = this.log.filter((row) => row.what === what && row.name === name).length;
    const holding = this.holdings.find(({ request, isReached }) => {
      if (request.what !== what || request.name !== name) return false;
      if (typeof request.nth === "number") return request.nth === count;
      return !isReached && request.nth(body?.toString("utf8") ?? "");
    });
    if (holding !== undefined) holding.isWaitedFor = isWaitedFor;
    if (holding?.request.side === "before") {
      holding.isReached = true;
      if ((await holding.released) === "drop" && !isWaitedFor()) return;
    }
    change();
    if (holding?.request.side !== "after") return;
    holding.isReached = true;
    await holding.released;
  }
}

/** A key without times and random ids: the same for the same write in any run. */
function lastingName(key: string): string {
  return key
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "*")
    .replaceAll(/\d{12,}/g, "*");
}
