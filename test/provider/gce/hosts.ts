import { CapstanError } from "../../../src/api/error.js";
import { type JsonObject, sameJson } from "../../../src/api/json.js";
import { defineProvider } from "../../../src/provider/define.js";
import type { MachineCalls } from "../../../src/provider/definition.js";
import type {
  CallContext,
  CreateContext,
  Failure,
  Found,
  Identity,
  InfrastructureProvider,
  Observed,
  OperationState,
  Phase,
  Presence,
  RemovalAnswer,
} from "../../../src/provider/port.js";
import {
  type Compute,
  ComputeError,
  type Instance,
  type ComputeOperation,
  zones,
} from "./compute.js";

// A provider of hosts on Compute Engine, as its author would write it. Each decision that is easily made wrong is a method of its
// own, so that a seeded defect replaces that one and nothing else.

export const gceApiVersion = "gce.example.dev/v1alpha1";
const specKey = "capstan-spec";

/** Where an instance is, as its id says: "zones/zone-a/instances/web-0#1001". */
export interface InstancePlace {
  readonly zone: string;
  readonly name: string;
  readonly number: string;
}

export class GceHosts implements MachineCalls {
  /** Without it what is stopped counts as failed, and an update alone starts it. */
  readonly isStartable: boolean = true;

  constructor(protected readonly compute: Compute) {}

  /** At most 63 characters; the token is never cut. */
  nameOf({ name, token }: Identity): string {
    const readable = name.toLowerCase().replaceAll(/[^a-z0-9-]/g, "-");
    return `c-${readable.slice(0, 28)}-${token}`;
  }

  /** A description holds 2,048 characters, a label 63. */
  descriptionOf(who: Identity): string {
    return JSON.stringify(who);
  }

  whoOf({ description }: Instance): Identity | undefined {
    return description.startsWith('{"cluster"') ? (JSON.parse(description) as Identity) : undefined;
  }

  isOf(instance: Instance, who: Identity): boolean {
    return sameJson(this.whoOf(instance) ?? null, who);
  }

  phaseOf({ status }: Instance): Phase {
    if (status === "RUNNING") return "ready";
    if (status === "PROVISIONING" || status === "STAGING") return "pending";
    return this.isStartable ? "stopped" : "failed";
  }

  /** Of one create all attempts are one request, until the cloud has refused it after it was accepted. */
  async requestIdOf(
    { signal }: CallContext,
    { token }: Identity,
    zone: string,
  ): Promise<string | undefined> {
    const all = await asked(this.compute.listOperations(zone, signal));
    const failed = all.filter(
      ({ clientOperationId = "", error, status }) =>
        status === "DONE" && error !== undefined && clientOperationId.startsWith(token),
    );
    return `${token}-${failed.length}`;
  }

  found(instance: Instance): Found {
    const { number, machineType, labels, zone, image, metadata, createdMs, startedMs } = instance;
    const who = this.whoOf(instance);
    const phase = this.phaseOf(instance);
    return {
      id: idOf(instance),
      ...(who !== undefined && { who }),
      phase,
      spec: {
        ...(JSON.parse(metadata[specKey] ?? "{}") as JsonObject),
        machineType,
        labels,
        zone,
        image,
      },
      status: { address: `10.128.0.${number}`, providerId: `gce://demo/${zone}/${number}` },
      createdAtMs: createdMs,
      ...(phase === "ready" && startedMs !== undefined && { readySinceMs: startedMs }),
    };
  }

  /** Only what bears marks is a resource to Capstan. */
  observed(instance: Instance): Observed | undefined {
    const { who, ...found } = this.found(instance);
    return who === undefined ? undefined : { ...found, who };
  }

  /** By name or number; undefined where the zone says that there is none. */
  async look({ signal }: CallContext, zone: string, key: string): Promise<Instance | undefined> {
    return unlessNone(asked(this.compute.get(zone, key, signal)));
  }

  async locate(ctx: CallContext, who: Identity, id?: string): Promise<Presence> {
    if (id !== undefined) {
      const { zone, number } = placeOf(id);
      const instance = await this.look(ctx, zone, number);
      const resource = instance && this.observed(instance);
      return resource === undefined ? { found: "none" } : { found: "one", resource };
    }
    const alike: Observed[] = [];
    for (const zone of zones) {
      const instance = await this.look(ctx, zone, this.nameOf(who));
      const resource = instance && this.isOf(instance, who) ? this.observed(instance) : undefined;
      if (resource !== undefined) alike.push(resource);
    }
    const [one, ...others] = alike;
    if (one === undefined) return { found: "none" };
    if (others.length === 0) return { found: "one", resource: one };
    return { found: "many", ids: alike.map((each) => each.id) };
  }

  /** External machines are read by their id. Marks stand in descriptions, which nothing changes: there is no `mark`. */
  async find(ctx: CallContext, id: string): Promise<Found | undefined> {
    const { zone, number } = placeOf(id);
    const instance = await this.look(ctx, zone, number);
    return instance && this.found(instance);
  }

  async create(ctx: CreateContext, who: Identity, spec: JsonObject): Promise<Observed> {
    const { machineType, labels, zone, image, ...unseen } = spec;
    const requestId = await this.requestIdOf(ctx, who, String(zone));
    const body = {
      name: this.nameOf(who),
      description: this.descriptionOf(who),
      machineType: String(machineType),
      image: String(image),
      labels: labels as Instance["labels"],
      metadata: { [specKey]: JSON.stringify(unseen) },
      autoDelete: true,
    };
    try {
      const inserted = this.compute.insert(String(zone), body, requestId, ctx.signal);
      return await this.made(ctx, { who, spec }, await inserted);
    } catch (error) {
      if (!(error instanceof ComputeError)) throw error;
      return error.status === 409 ? this.taken(ctx, who, String(zone)) : refused(error);
    }
  }

  /** An operation that runs tells all; of one that was over before, the instance does, if it is still there. */
  async made(
    { signal }: CallContext,
    { who, spec }: { readonly who: Identity; readonly spec: JsonObject },
    { name, zone, targetId, status }: ComputeOperation,
  ): Promise<Observed> {
    const id = idOf({ zone, name: this.nameOf(who), number: targetId });
    const answer: Observed = { id, who, phase: "pending", spec, status: {} };
    if (status === "RUNNING") return { ...answer, operation: handleOf({ zone, name }) };
    const instance = await unlessNone(this.compute.get(zone, targetId, signal));
    return (instance && this.observed(instance)) ?? { ...answer, phase: "gone" };
  }

  /** The name is taken: by the instance of this identity, by one that is being deleted, or by another owner's. */
  async taken(ctx: CallContext, who: Identity, zone: string): Promise<Observed> {
    const instance = await this.look(ctx, zone, this.nameOf(who));
    if (instance === undefined || instance.status === "STOPPING") throw notYet("its name is taken");
    const resource = this.isOf(instance, who) ? this.observed(instance) : undefined;
    if (resource !== undefined) return resource;
    throw new CapstanError({
      code: "NOT_OURS",
      source: "cloud",
      message: `cannot create ${who.name}: ${idOf(instance)} has its name and belongs to another owner`,
    });
  }

  /** An operation that the cloud does not know any more is over. */
  forgotten(): OperationState {
    return { state: "done" };
  }

  outcomeOf({ status, error }: ComputeOperation): OperationState {
    if (status === "RUNNING") return { state: "running" };
    return error === undefined ? { state: "done" } : { state: "failed", failure: failureOf(error) };
  }

  async poll({ signal }: CallContext, operation: string): Promise<OperationState> {
    const [, zone = "", , name = ""] = operation.split("/");
    const found = await unlessNone(asked(this.compute.getOperation(zone, name, signal)));
    return found === undefined ? this.forgotten() : this.outcomeOf(found);
  }

  /** One step of the way to another type each time: it is asked again until the instance runs. */
  async update(ctx: CallContext, current: Observed, spec: JsonObject): Promise<Observed> {
    const { zone, number } = placeOf(current.id);
    const instance = await this.look(ctx, zone, number);
    const resource = instance && this.observed(instance);
    if (instance === undefined || resource === undefined) throw gone(current);
    const { status } = instance;
    const isOther = instance.machineType !== spec["machineType"];
    if (isOther) await this.towardType(ctx, instance, String(spec["machineType"]));
    const started =
      status === "TERMINATED"
        ? await asked(this.compute.start(zone, number, ctx.signal))
        : undefined;
    const labels = spec["labels"] as Instance["labels"];
    const isLabelled = sameJson(instance.labels, labels);
    if (started !== undefined && !isLabelled) {
      ctx.signal.throwIfAborted();
      await ctx.assertEngineAlive();
    }
    const labelled = isLabelled ? undefined : await this.relabel(ctx, instance, labels);
    const last = labelled ?? started;
    const phase = started === undefined ? resource.phase : "pending";
    return this.changed({ ...resource, phase }, last);
  }

  /** Answers with the operation, so that the change is waited for. */
  changed(resource: Observed, last: ComputeOperation | undefined): Observed {
    return { ...resource, ...(last !== undefined && { operation: handleOf(last) }) };
  }

  async relabel(
    { signal }: CallContext,
    { zone, number, labelFingerprint }: Instance,
    labels: Instance["labels"],
  ): Promise<ComputeOperation | undefined> {
    return asked(this.compute.setLabels(zone, number, { labels, labelFingerprint }, signal));
  }

  /** Stops it, or gives it its type. Always ends with "not yet". */
  async towardType(
    { signal }: CallContext,
    { zone, number, status }: Instance,
    machineType: string,
  ): Promise<never> {
    if (status === "RUNNING") await asked(this.compute.stop(zone, number, signal));
    else if (status === "TERMINATED") {
      await asked(this.compute.setMachineType(zone, number, machineType, signal));
    }
    throw notYet("it has to be stopped, and is to get another type");
  }

  async start({ signal }: CallContext, current: Observed): Promise<Observed> {
    if (current.phase === "ready") return current;
    const { zone, number } = placeOf(current.id);
    const operation = await asked(this.compute.start(zone, number, signal));
    return { ...current, phase: "pending", operation: handleOf(operation) };
  }

  async remove({ signal }: CallContext, { id }: Observed): Promise<RemovalAnswer> {
    const { zone, number } = placeOf(id);
    const operation = await unlessNone(asked(this.compute.delete(zone, number, signal)));
    if (operation !== undefined) return { operation: handleOf(operation) };
  }

  async list({ signal }: CallContext): Promise<readonly Observed[]> {
    const listed: Observed[] = [];
    let page: string | undefined;
    do {
      const { items, unreachables, nextPageToken } = await asked(
        this.compute.aggregatedList(page, signal),
      );
      this.mustBeWhole(unreachables);
      const all = Object.values(items).flatMap(({ instances = [] }) => instances);
      listed.push(...all.flatMap((one) => this.observed(one) ?? []));
      page = nextPageToken;
    } while (page !== undefined);
    return listed;
  }

  /** A zone that gives no answer is missing in the list: half a listing looks like a loss. */
  mustBeWhole(unreachables: readonly string[]): void {
    if (unreachables.length > 0) throw unavailable(`no answer from ${unreachables.join(", ")}`);
  }

  provider(): InfrastructureProvider {
    return defineProvider({
      name: "gce",
      apiVersion: gceApiVersion,
      machineSpec: {
        kind: "GceMachineProviderSpec",
        schema: {
          properties: {
            zone: { enum: [...zones], description: "Where it is." },
            machineType: { type: "string", default: "e2-small", description: "How large it is." },
            image: { type: "string", default: "debian-12", description: "What it boots." },
            labels: { type: "object", additionalProperties: { type: "string" }, default: {} },
          },
        },
      },
      rules: {
        machineType: { kind: "inPlace", disruptive: "the host is stopped and started" },
        labels: { kind: "inPlace" },
      },
      failureDomains: { field: "zone", of: () => zones },
      identity: async () => ({ project: "demo" }),
      machine: this.calls(),
    });
  }

  private calls(): MachineCalls {
    return {
      locate: this.locate.bind(this),
      find: this.find.bind(this),
      create: this.create.bind(this),
      poll: this.poll.bind(this),
      update: this.update.bind(this),
      ...(this.isStartable && { start: this.start.bind(this) }),
      remove: this.remove.bind(this),
      list: this.list.bind(this),
    };
  }
}

export function idOf({ zone, name, number }: InstancePlace): string {
  return `zones/${zone}/instances/${name}#${number}`;
}

export function placeOf(id: string): InstancePlace {
  const [, zone = "", , name = "", number = ""] = id.split(/[/#]/);
  return { zone, name, number };
}

export function handleOf({ zone, name }: Pick<ComputeOperation, "zone" | "name">): string {
  return `zones/${zone}/operations/${name}`;
}

/** Undefined for "not found", which alone says that there is none. */
export async function unlessNone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ComputeError && error.status === 404) return undefined;
    throw error;
  }
}

/** Answers that say that nothing has happened become errors of the port; others stay as they are. */
export async function asked<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof ComputeError) || error.status === 404) throw error;
    return refused(error);
  }
}

function refused({ status, message }: ComputeError): never {
  if (status === 403) throw new CapstanError({ code: "PERMISSION", source: "cloud", message });
  if (status === 503) throw unavailable(message);
  throw notYet(message);
}

function unavailable(message: string): CapstanError {
  return new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message, retryable: true });
}

/** Something else is under way: nothing has happened, and later it will. */
export function notYet(message: string): CapstanError {
  return new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message, retryable: true });
}

function gone({ id }: Observed): CapstanError {
  return new CapstanError({ code: "RESOURCE_GONE", source: "cloud", message: `${id} is gone` });
}

function failureOf({ code, message }: NonNullable<ComputeOperation["error"]>): Failure {
  const isFull = code.startsWith("ZONE_RESOURCE_POOL_EXHAUSTED");
  return { reason: message, code: isFull ? "CAPACITY" : "CLOUD_FAILED" };
}
