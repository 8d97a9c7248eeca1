import type { Clock } from "../../../src/provider/port.js";
import type { Blindness } from "../../../src/provider-conformance/index.js";

// The part of Compute Engine that a provider of hosts uses, in memory. Names are keys in their zone, changes are answered with
// operations, and an operation may fail long after the cloud has accepted it.

export const zones = ["zone-a", "zone-b", "zone-c"] as const;

export interface Instance {
  /** What the cloud gives, never twice. A name is free again after a deletion. */
  readonly number: string;
  readonly name: string;
  readonly zone: string;
  readonly image: string;
  /** Immutable. */
  readonly description: string;
  /** Immutable here: nothing of the trial changes it. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly createdMs: number;
  machineType: string;
  labels: Readonly<Record<string, string>>;
  labelFingerprint: string;
  status: "PROVISIONING" | "STAGING" | "RUNNING" | "STOPPING" | "TERMINATED";
  startedMs?: number;
}

export interface InsertBody extends Pick<
  Instance,
  "name" | "image" | "description" | "metadata" | "machineType" | "labels"
> {
  /** Whether the boot disk goes with the instance. */
  readonly autoDelete: boolean;
}

/** A boot disk: made by an insert, and gone with its instance only where it says so. */
export interface Disk {
  readonly name: string;
  readonly zone: string;
  readonly autoDelete: boolean;
  readonly user: string;
}

export interface ComputeOperation {
  readonly name: string;
  readonly zone: string;
  readonly operationType: "insert" | "delete" | "stop" | "start" | "setMachineType" | "setLabels";
  /** Number of the instance that it is about. */
  readonly targetId: string;
  readonly clientOperationId?: string;
  status: "RUNNING" | "DONE";
  readonly error?: { readonly code: string; readonly message: string };
}

interface Running extends ComputeOperation {
  endMs: number;
  readonly effect: () => void;
}

/** A page of an aggregated list: a zone that gives no answer has a warning in place of its instances. */
export interface AggregatedList {
  readonly items: Readonly<
    Record<string, { readonly instances?: readonly Instance[]; readonly warning?: string }>
  >;
  readonly unreachables: readonly string[];
  readonly nextPageToken?: string;
}

/** An answer of the cloud that is none of 2xx. */
export class ComputeError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** How an insert or a deletion that was only accepted ends, once the world says so. */
interface Fate {
  readonly error?: ComputeOperation["error"];
  end?: () => void;
}

const operationMs = 2_000;
const pageSize = 500;
/** Of the calls that change whether an instance runs, one at a time is carried out. */
const powerCalls: readonly ComputeOperation["operationType"][] = [
  "insert",
  "delete",
  "stop",
  "start",
  "setMachineType",
];

export class Compute {
  hook: (() => void) | undefined;
  hangs = false;
  losesNext = false;
  lagMs = 0;
  blindness: Blindness | undefined;
  /** The next call with a fingerprint comes after a concurrent change. */
  conflictsNext = false;
  nextFate: Fate | undefined;
  /** Of the next deletion. */
  nextRemoval: Fate | undefined;
  /** Kinds of operations that do not end meanwhile. */
  held: readonly ComputeOperation["operationType"][] = [];
  instances: Instance[] = [];
  disks: Disk[] = [];
  private operations: Running[] = [];
  private readonly hidden = new Set<string>();
  private count = 1_000;

  constructor(readonly clock: Clock) {}

  insert(
    zone: string,
    body: InsertBody,
    requestId?: string,
    signal?: AbortSignal,
  ): Promise<ComputeOperation> {
    const work = () => {
      const known = this.operations.find(
        (one) => requestId !== undefined && one.clientOperationId === requestId,
      );
      if (known !== undefined) return known;
      if (this.named(zone, body.name) !== undefined) {
        throw new ComputeError(409, `The resource '${zone}/${body.name}' already exists`);
      }
      const instance = this.add(zone, body, "PROVISIONING");
      const fate = this.nextFate;
      this.nextFate = undefined;
      const { number } = instance;
      if (fate !== undefined) this.hidden.add(number);
      const operation = this.accept("insert", instance, {
        ...(requestId !== undefined && { clientOperationId: requestId }),
        ...(fate?.error && { error: fate.error }),
        effect: () => {
          this.hidden.delete(number);
          if (fate?.error !== undefined) this.erase(number);
          else Object.assign(instance, { status: "RUNNING", startedMs: this.clock.now() });
        },
      });
      return fate === undefined ? operation : decidedBy(fate, operation);
    };
    return this.change(signal, work, true);
  }

  /** By name or number. */
  get(zone: string, key: string, signal?: AbortSignal): Promise<Instance> {
    return this.look(zone, signal, () => ({ ...this.shown(zone, key) }));
  }

  aggregatedList(pageToken?: string, signal?: AbortSignal): Promise<AggregatedList> {
    return this.look(undefined, signal, () => {
      const now = this.clock.now();
      const all = this.instances.filter(
        ({ number, createdMs }) => !this.hidden.has(number) && createdMs + this.lagMs <= now,
      );
      const from = Number(pageToken ?? 0);
      const page = all.slice(from, from + pageSize);
      const unreachables: string[] = this.blindness === "partial" ? [zones[0]] : [];
      const items: Record<string, AggregatedList["items"][string]> = {};
      for (const zone of zones) {
        items[zone] = unreachables.includes(zone)
          ? { warning: "UNREACHABLE" }
          : { instances: page.filter((one) => one.zone === zone) };
      }
      const next = from + pageSize;
      return {
        items: structuredClone(items),
        unreachables,
        ...(next < all.length && { nextPageToken: String(next) }),
      };
    });
  }

  delete(zone: string, key: string, signal?: AbortSignal): Promise<ComputeOperation> {
    return this.change(signal, () => {
      const instance = this.shown(zone, key);
      const { number } = instance;
      const under = this.running(number).find((one) => one.operationType === "delete");
      if (under !== undefined) return under;
      const fate = this.nextRemoval;
      this.nextRemoval = undefined;
      if (fate === undefined) instance.status = "STOPPING";
      const operation = this.accept("delete", instance, {
        ...(fate?.error && { error: fate.error }),
        effect: () => fate ?? this.erase(number),
      });
      return fate === undefined ? operation : decidedBy(fate, operation);
    });
  }

  stop(zone: string, key: string, signal?: AbortSignal): Promise<ComputeOperation> {
    return this.change(signal, () => {
      const instance = this.free(zone, key);
      instance.status = "STOPPING";
      const effect = () => void (instance.status = "TERMINATED");
      return this.accept("stop", instance, { effect });
    });
  }

  start(zone: string, key: string, signal?: AbortSignal): Promise<ComputeOperation> {
    return this.change(signal, () => {
      const instance = this.free(zone, key);
      instance.status = "STAGING";
      const effect = () =>
        void Object.assign(instance, { status: "RUNNING", startedMs: this.clock.now() });
      return this.accept("start", instance, { effect });
    });
  }

  setMachineType(
    zone: string,
    key: string,
    machineType: string,
    signal?: AbortSignal,
  ): Promise<ComputeOperation> {
    return this.change(signal, () => {
      const instance = this.free(zone, key);
      if (instance.status !== "TERMINATED") throw new ComputeError(400, "it has to be stopped");
      const effect = () => void (instance.machineType = machineType);
      return this.accept("setMachineType", instance, { effect });
    });
  }

  setLabels(
    zone: string,
    key: string,
    { labels, labelFingerprint }: Pick<Instance, "labels" | "labelFingerprint">,
    signal?: AbortSignal,
  ): Promise<ComputeOperation> {
    return this.change(signal, () => {
      const instance = this.shown(zone, key);
      if (this.conflictsNext) instance.labelFingerprint = this.next();
      this.conflictsNext = false;
      if (instance.labelFingerprint !== labelFingerprint) {
        throw new ComputeError(412, "Labels fingerprint either invalid or out of date");
      }
      const effect = () =>
        void Object.assign(instance, { labels, labelFingerprint: this.next() } as const);
      return this.accept("setLabels", instance, { effect });
    });
  }

  getOperation(zone: string, name: string, signal?: AbortSignal): Promise<ComputeOperation> {
    return this.look(zone, signal, () => {
      const found = this.operations.find((one) => one.name === name && one.zone === zone);
      if (found === undefined) throw new ComputeError(404, `The resource '${name}' was not found`);
      return { ...found };
    });
  }

  listOperations(zone: string, signal?: AbortSignal): Promise<readonly ComputeOperation[]> {
    return this.look(zone, signal, () => this.operations.filter((one) => one.zone === zone));
  }

  /** Forgets the operations that have ended, as Compute Engine does after some days. */
  forgetOperations(): void {
    this.settle();
    this.operations = this.operations.filter(({ status }) => status === "RUNNING");
  }

  /** Adds an instance at once: an insert begins so, and the world plants so. */
  add(zone: string, body: InsertBody, status: Instance["status"]): Instance {
    const { autoDelete, ...given } = body;
    const number = this.next();
    const createdMs = this.clock.now();
    const labelFingerprint = this.next();
    const made: Instance = { ...given, number, zone, createdMs, labelFingerprint, status };
    if (status === "RUNNING") made.startedMs = createdMs;
    this.instances.push(made);
    this.disks.push({ name: given.name, zone, autoDelete, user: number });
    return made;
  }

  /** An instance goes, and what goes with it. */
  erase(number: string): void {
    this.instances = this.instances.filter((one) => one.number !== number);
    this.disks = this.disks.filter(({ user, autoDelete }) => user !== number || !autoDelete);
  }

  /** Ends the operations whose time has come. */
  settle(): void {
    const now = this.clock.now();
    for (const operation of this.operations) {
      const isOver = operation.endMs <= now && !this.held.includes(operation.operationType);
      if (operation.status === "DONE" || !isOver) continue;
      operation.status = "DONE";
      operation.effect();
    }
  }

  private accept(
    operationType: ComputeOperation["operationType"],
    { number, zone }: Instance,
    more: Pick<Running, "effect" | "error" | "clientOperationId">,
  ): Running {
    const name = `operation-${this.next()}`;
    const endMs = this.clock.now() + operationMs;
    const about = { name, zone, operationType, targetId: number, endMs } as const;
    const operation: Running = { ...about, ...more, status: "RUNNING" };
    this.operations.push(operation);
    return operation;
  }

  private running(number: string): Running[] {
    return this.operations.filter((one) => one.targetId === number && one.status === "RUNNING");
  }

  /** A 400 while another operation decides whether it runs. */
  private free(zone: string, key: string): Instance {
    const instance = this.shown(zone, key);
    const busy = this.running(instance.number).some((one) =>
      powerCalls.includes(one.operationType),
    );
    if (busy) throw new ComputeError(400, `The resource '${instance.name}' is not ready`);
    return instance;
  }

  private named(zone: string, key: string): Instance | undefined {
    return this.instances.find(
      (one) => one.zone === zone && (one.name === key || one.number === key),
    );
  }

  private shown(zone: string, key: string): Instance {
    const instance = this.named(zone, key);
    if (instance !== undefined && !this.hidden.has(instance.number)) return instance;
    throw new ComputeError(404, `The resource '${zone}/${key}' was not found`);
  }

  private async look<T>(
    zone: string | undefined,
    signal: AbortSignal | undefined,
    work: () => T,
  ): Promise<T> {
    await this.arrives(signal);
    const { blindness } = this;
    if (blindness === "denied") throw new ComputeError(403, "Required permission is missing");
    if (blindness === "unavailable") throw new ComputeError(503, "The service is unavailable");
    if (blindness === "partial" && zone === zones[0]) throw new ComputeError(503, "zone is away");
    return work();
  }

  private async change<T>(
    signal: AbortSignal | undefined,
    work: () => T,
    isInsert = false,
  ): Promise<T> {
    await this.arrives(signal);
    this.hook?.();
    const answer = work();
    if (!isInsert || !this.losesNext) return { ...answer };
    this.losesNext = false;
    throw new Error("socket hang up");
  }

  private async arrives(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await Promise.resolve();
    if (this.hangs) {
      await new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
      });
    }
    this.settle();
  }

  private next(): string {
    return String((this.count += 1));
  }
}

/** The operation, which ends when the world says so. */
function decidedBy(fate: Fate, operation: Running): Running {
  operation.endMs = Infinity;
  fate.end = () => void (operation.endMs = 0);
  return operation;
}
