import { KubeConfig } from "@kubernetes/client-node";
import { CapstanError } from "../../src/api/error.js";
import { type JsonObject, sameJson } from "../../src/api/json.js";
import type { LiveList, NamedLive, WriteResult } from "../../src/kube/api.js";
import { isDeleting, isForeign, type LiveObject, liveName } from "../../src/kube/live-object.js";
import { ObjectCache } from "../../src/kube/object-cache.js";
import type { ApiWrite } from "../../src/kube/api-write.js";
import type { Kind } from "../../src/api/schema.js";
import { FakeSecrets } from "./fake-secrets.js";
import { merge } from "./merge.js";
import type { Manifest } from "./manifests.js";

type Body = Record<string, unknown>;

/**
 * An API server in memory, as far as writes depend on it: versions, UIDs, finalizers, conflicts, empty
 * metadata that is not stored. Its watch tells a cache at once, or when a test says so.
 */
export class FakeApiServer {
  readonly cache: ObjectCache;
  readonly secrets: FakeSecrets;
  /** Every write that had an effect, oldest first. */
  readonly effects: ApiWrite[] = [];
  /** Called before each write that somebody of ours asks for. */
  beforeWrite: (write: ApiWrite) => void = () => {};
  isAway = false;
  private readonly objects = new Map<string, LiveObject>();
  private version = 100;
  private made = 0;

  constructor(onChange: (key: string) => void = () => {}) {
    this.secrets = new FakeSecrets(onChange);
    this.cache = new ObjectCache({
      config: new KubeConfig(),
      random: () => 0,
      onChange,
      api: { list: () => Promise.reject(new Error("nobody watches by the network here")) },
    });
  }

  all(): LiveObject[] {
    return [...this.objects.values()];
  }

  /** The object with such a name, "Machine cp-0"; undefined when there is none. */
  find(name: string): LiveObject | undefined {
    const [kind = "", plain = ""] = name.split(" ");
    return this.objects.get(`${kind} default/${plain}`);
  }

  /** What `kubectl apply` does: metadata and spec become these, the rest stays. */
  apply(...manifests: readonly Manifest[]): void {
    for (const manifest of manifests) {
      const { metadata, ...rest } = structuredClone(manifest) as { metadata: Body } & Body;
      const named = { namespace: "default", ...metadata } as LiveObject["metadata"];
      const known = this.objects.get(liveName({ kind: String(rest["kind"]), metadata: named }));
      if (known === undefined) this.store({ ...rest, metadata: named } as unknown as LiveObject);
      else this.change(known, { ...known, ...rest, metadata: { ...known.metadata, ...named } });
    }
  }

  /** Somebody writes the object as `change` makes it. */
  edit(name: string, change: (object: LiveObject) => object): void {
    const known = this.find(name);
    if (known !== undefined) this.change(known, { ...known, ...change(known) });
  }

  /** What `kubectl delete` does. */
  delete(name: string): void {
    const known = this.find(name);
    if (known !== undefined) this.remove(known);
  }

  private remove(known: LiveObject): void {
    if (isDeleting(known)) return;
    const deletionTimestamp = "2026-05-04T10:11:12Z";
    this.change(known, { ...known, metadata: { ...known.metadata, deletionTimestamp } });
  }

  /** What a source reads and writes. */
  get api() {
    const { readSecret, writeSecret } = this.secrets;
    return {
      read: (named: NamedLive) => this.read(named),
      write: (write: ApiWrite) => this.write(write),
      readSecret,
      writeSecret,
    };
  }

  async read({ kind, metadata }: NamedLive): Promise<LiveObject | undefined> {
    await Promise.resolve();
    if (this.isAway) throw away();
    return this.objects.get(liveName({ kind, metadata }));
  }

  async list(kind: Kind): Promise<LiveList<LiveObject>> {
    await Promise.resolve();
    if (this.isAway) throw away();
    const items = this.all().filter((one) => one.kind === kind);
    return { items, metadata: { resourceVersion: String(this.version) } };
  }

  async write(write: ApiWrite): Promise<WriteResult> {
    await Promise.resolve();
    if (this.isAway) throw away();
    this.beforeWrite(write);
    const before = this.version;
    const result = this.carryOut(write);
    if (this.version !== before) this.effects.push(write);
    return result;
  }

  /** Effects on objects that another controller keeps: there must be none. */
  trespasses(): ApiWrite[] {
    return this.effects.filter((write) => write.kind !== "create" && isForeign(write.on));
  }

  private carryOut(write: ApiWrite): WriteResult {
    const on = write.kind === "create" ? write.object : write.on;
    const known = this.objects.get(liveName(on));
    if (write.kind === "create") {
      if (known !== undefined) return { kind: "conflict" };
      return written(this.store(write.object as unknown as LiveObject));
    }
    if (known === undefined) return { kind: "gone" };
    switch (write.kind) {
      case "patch": {
        const { metadata = {} } = write.patch as { metadata?: Body };
        const asked = metadata["resourceVersion"];
        const isOld = asked !== undefined && asked !== known.metadata.resourceVersion;
        if (isOld) return { kind: "conflict" };
        const { status: _ignored, ...patch } = write.patch;
        const merged = merge(known as unknown as Body, patch) as unknown as LiveObject;
        return written(this.change(known, merged));
      }
      case "status": {
        const { resourceVersion: asked } = (write.patch["metadata"] ?? {}) as Body;
        if (asked !== undefined && asked !== known.metadata.resourceVersion)
          return { kind: "conflict" };
        const status = merge(known.status ?? {}, write.patch["status"] as Body) as JsonObject;
        const managedFields = conditionsOwned(known, status);
        const metadata = { ...known.metadata, managedFields };
        return written(this.change(known, { ...known, metadata, status }));
      }
      case "delete": {
        if (write.on.metadata.uid !== known.metadata.uid) return { kind: "conflict" };
        this.remove(known);
        const left = this.objects.get(liveName(known));
        return left === undefined ? { kind: "gone" } : written(left);
      }
    }
  }

  private store(object: LiveObject): LiveObject {
    this.made += 1;
    const metadata = stored({
      ...object.metadata,
      uid: `uid-${this.made}`,
      resourceVersion: this.next(),
      generation: 1,
      creationTimestamp: new Date(1_700_000_000_000 + this.made * 1_000).toISOString(),
    });
    return this.put({ ...object, metadata } as LiveObject);
  }

  /** Puts the object there as it is to be, unless nothing changes; gone when nothing holds it. */
  private change(known: LiveObject, next: LiveObject): LiveObject {
    const old = known.metadata;
    const { finalizers: wanted = [] } = next.metadata;
    const added = wanted.filter((one) => old.finalizers?.includes(one) !== true);
    if (isDeleting(known) && added.length > 0) throw forbidden(known, added);
    const metadata = stored({
      ...next.metadata,
      uid: old.uid,
      resourceVersion: old.resourceVersion,
    });
    const object = { ...next, metadata } as LiveObject;
    if (sameJson(object, known)) return known;
    const isEdited = !sameJson(object.spec, known.spec);
    const changed = {
      ...object,
      metadata: {
        ...metadata,
        generation: (old.generation ?? 0) + (isEdited ? 1 : 0),
        resourceVersion: this.next(),
      },
    } as LiveObject;
    const isGone = isDeleting(changed) && (changed.metadata.finalizers ?? []).length === 0;
    return isGone ? this.drop(changed) : this.put(changed);
  }

  private put(object: LiveObject): LiveObject {
    this.objects.set(liveName(object), object);
    this.cache.accept(object);
    return object;
  }

  private drop(object: LiveObject): LiveObject {
    this.objects.delete(liveName(object));
    this.cache.drop(object);
    return object;
  }

  private next(): string {
    this.version += 1;
    return String(this.version);
  }
}

/** The account of conditions that our writes have changed, of which the server keeps the rest with their writers. */
function conditionsOwned(known: LiveObject, status: JsonObject) {
  const conditionsIn = ({ conditions = [] }: JsonObject) =>
    conditions as readonly { readonly type: string }[];
  const before = conditionsIn(known.status ?? {});
  const keyOf = ({ type }: { readonly type: string }) => `k:${JSON.stringify({ type })}`;
  const [{ fieldsV1 = {} } = {}] = known.metadata.managedFields ?? [];
  const { "f:conditions": owned = {} } = (fieldsV1["f:status"] ?? {}) as JsonObject;
  const own = conditionsIn(status).filter(
    (one) => keyOf(one) in (owned as JsonObject) || !before.some((other) => sameJson(one, other)),
  );
  const fields = Object.fromEntries(own.map((one) => [keyOf(one), { ".": {} }]));
  const all = { "f:status": { "f:conditions": fields } };
  return [{ manager: "capstan", subresource: "status", fieldsV1: all }];
}

function written(object: LiveObject): WriteResult {
  return { kind: "written", object };
}

/** Metadata as it is kept: what is empty is not. */
function stored(metadata: object): object {
  const entries = Object.entries(metadata).filter(
    ([, value]) =>
      value !== undefined && (typeof value !== "object" || Object.keys(value as object).length > 0),
  );
  return Object.fromEntries(entries);
}

function away(): CapstanError {
  const message = "cannot patch: connect ECONNREFUSED";
  return new CapstanError({ code: "API_SERVER", source: "engine", message, retryable: true });
}

function forbidden(object: LiveObject, finalizers: readonly string[]): CapstanError {
  const message = `cannot patch ${liveName(object)}: it is deleted, no new ${finalizers.join()}`;
  return new CapstanError({ code: "API_SERVER", source: "engine", message });
}
