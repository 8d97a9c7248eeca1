import { asKnown, unobservableOf } from "../provider/unobservable.js";
import { expectDefined } from "../api/error.js";
import { type Json, type JsonObject, sameJson } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { findFacts } from "../engine/operations/found-facts.js";
import type { ClusterObject, Desired } from "../api/types.js";
import {
  dependenciesOf,
  type GraphNode,
  inDependencyOrder,
  keyOf,
  type NodeKey,
  resolveRefs,
} from "../graph/graph.js";
import type {
  CreateContext,
  Identity,
  InfrastructureProvider,
  MachineToCompile,
  Observed,
  ResourceHandler,
} from "../provider/port.js";
import { CloudResource } from "../dynamic/cloud-resource.js";
import { identityOf } from "../compile/compile.js";
import { observe as look } from "../engine/run/observe.js";
import { machineKey } from "../records/target.js";
import { makePlan } from "../plan/planner/make-plan.js";
import type { Plan } from "../plan/plan.js";
import type { PriorState, RecordedResource } from "../records/prior-state.js";
import { CallWatch } from "./call-watch.js";
import { within } from "./limit.js";
import { type Able, able, type Power } from "./powers.js";
import { emptyUserData, revisionRecord, stoppable } from "./rig-engine.js";
import {
  desiredOf,
  kindsOf,
  machinesOf,
  memberName,
  type MachineSpecs,
  sampleManifest,
} from "./sample.js";
import { type ConformanceSubject, must, type Sample, type World } from "./subject.js";

/** What a resource is registered with. */
export interface Inputs extends JsonObject {
  readonly who: Identity;
  readonly spec: JsonObject;
}

const timeoutMs = 600_000;

/** On what work is done, and how long it may take. */
interface RigOptions {
  /** The kind that a case is about; the provider's hosts without. */
  readonly kind?: string;
  readonly timeoutMs: number;
}

/** What a case's rig is made with. */
interface RigSurroundings {
  readonly kind?: string;
  readonly signal: AbortSignal;
  readonly watch: CallWatch;
}

/** An engine in memory around a provider: the product's plan and its resource protocol, and records. */
export class Rig {
  readonly context: CreateContext;
  /** The world's provider, watched: messages about its errors name the call. */
  readonly provider: InfrastructureProvider;
  /** The kind that the case is about. */
  readonly kind: string;
  /** Parts of what the case is about that could not be checked, and why. */
  readonly exceptions: string[] = [];
  private readonly records = new Map<NodeKey, RecordedResource>();
  private committed: Plan | undefined;
  private ofWorkers: readonly string[] | undefined;

  private constructor(
    readonly subject: ConformanceSubject,
    readonly world: World,
    { kind = world.provider.hostKind, signal, watch }: RigSurroundings,
  ) {
    this.kind = kind;
    this.provider = watch.watched(world.provider);
    const userData = async () => emptyUserData(world.provider);
    const clock = stoppable(world.clock, signal);
    this.context = { clock, signal, assertEngineAlive: () => {}, userData };
  }

  /** Runs work on a world of its own, for so long. */
  static async use<T>(
    subject: ConformanceSubject,
    { kind, timeoutMs }: RigOptions,
    work: (rig: Rig) => Promise<T>,
  ): Promise<T> {
    const world = await subject.open();
    const watch = new CallWatch();
    try {
      return await within(timeoutMs, watch, (signal) =>
        work(new Rig(subject, world, omitUndefined({ kind, signal, watch }))),
      );
    } finally {
      await world.close?.();
    }
  }

  /** The kinds that the sample needs, in dependency order, what lives with hosts last, and what only a control plane needs after all. */
  kinds(): string[] {
    const { provider } = this;
    const ofWorkers = kindsOf(provider, this.desired({ web: {} }));
    return [...new Set([...ofWorkers, ...kindsOf(provider, this.desired(this.withMember({})))])];
  }

  /** The machines, and a member of the control plane. */
  withMember(specs: MachineSpecs): MachineSpecs {
    return { ...specs, [memberName]: this.subject.member ?? {} };
  }

  get isHost(): boolean {
    return this.kind === this.provider.hostKind;
  }

  /** The calls on the kind that the case is about. */
  get handler(): ResourceHandler {
    return this.handlerOf(this.kind);
  }

  /** The resource protocol around the calls on a kind, as Pulumi would drive it. */
  resource(handler = this.handler, kind = this.kind): CloudResource {
    return new CloudResource(this.provider, kind, handler, {
      context: this.context,
      mode: "inline",
      readyTimeoutMs: timeoutMs,
      bootstrap: {
        userDataFor: () => this.context.userData(),
        release: () => Promise.resolve(),
        forget: () => Promise.resolve(),
      },
    });
  }

  /** The machines with which there is something of the case's kind: a member of the control plane as well, where only those have it. */
  machines(specs: MachineSpecs): MachineSpecs {
    return this.isOfMembers ? this.withMember(specs) : specs;
  }

  desired(specs: MachineSpecs, sample: Sample = this.subject): Desired {
    return desiredOf(this.provider, sampleManifest(sample, specs));
  }

  /** The sample's machine as the provider is given it. */
  sampleMachine(): MachineToCompile {
    const [machine] = machinesOf(this.provider, this.desired({ web: {} }));
    must(machine !== undefined, "accept its own sample", "it has no machine");
    return machine;
  }

  /** The sample as a user would write it. */
  manifest(specs: MachineSpecs, clusterFields?: JsonObject): { file: string; text: string } {
    return sampleManifest(this.subject, specs, clusterFields);
  }

  /** Looks at the cloud and plans, as `capstan plan` does. */
  async plan(specs: MachineSpecs): Promise<Plan> {
    const desired = this.desired(specs);
    const { prior } = this;
    const { clusterUid, clock } = this.world;
    const scope = { cluster: "default/conformance", clusterUid };
    const observation = await look(this.provider, this.context, scope, prior);
    const facts = await findFacts({
      desired,
      positionOf: () => undefined,
      provider: this.provider,
      prior,
      context: this.context,
    });
    return makePlan({
      planGoal: { kind: "objects", desired },
      prior,
      ...observation,
      ...facts,
      provider: this.provider,
      newClusterUid: clusterUid,
      nowMs: clock.now(),
      owner: "files",
      goal: { kind: "up" },
      by: "conformance",
      deadlineMs: 3_600_000,
    });
  }

  /** Carries a plan out, deletions last; calls `beforeDeletions` between. */
  async apply(plan: Plan, beforeDeletions?: () => Promise<void>): Promise<void> {
    const nodes = new Map(plan.target.nodes.map((node) => [keyOf(node), node]));
    const { steps } = plan;
    for (const { key, kind } of steps) {
      if (kind !== "delete") await this.register(expectDefined(nodes.get(key), key));
    }
    await beforeDeletions?.();
    for (const { key, kind } of steps.toReversed()) if (kind === "delete") await this.remove(key);
    this.committed = plan;
  }

  async up(specs: MachineSpecs): Promise<void> {
    await this.apply(await this.plan(specs));
  }

  /**
   * Makes everything that a resource of the case's kind needs, and answers what it is to be made with. `machine` names
   * a host.
   */
  async prepare(machine = "web", fields: JsonObject = {}): Promise<Inputs> {
    const { target } = await this.plan(this.machines({ [machine]: fields }));
    const nodes = new Map(target.nodes.map((node) => [keyOf(node), node]));
    const wanted = this.isHost
      ? nodes.get(expectDefined(hostKeyIn(target.machines, machine), `host of ${machine}`))
      : target.nodes.find(({ kind }) => kind === this.kind);
    const node = expectDefined(wanted, `${this.kind} in the sample`);
    const needed = new Set<NodeKey>();
    const need = (key: NodeKey): void => {
      if (needed.has(key)) return;
      needed.add(key);
      dependenciesOf(expectDefined(nodes.get(key), key)).forEach(need);
    };
    dependenciesOf(node).forEach(need);
    for (const one of inDependencyOrder(target.nodes)) {
      const isMissing = needed.has(keyOf(one)) && !this.records.has(keyOf(one));
      if (isMissing && this.provider.handlers.has(one.kind)) await this.register(one);
    }
    return this.inputsOf(node);
  }

  /** The inputs of the case's kind with what the subject says that changes in place; undefined where it says nothing. */
  async changedInPlace(): Promise<JsonObject | undefined> {
    const { inPlace, inPlaceOf } = this.subject;
    const fields = this.isHost ? inPlace : inPlaceOf?.[this.kind];
    if (fields === undefined) return undefined;
    if (this.isHost) return (await this.prepare("web", fields)).spec;
    return { ...(await this.prepare()).spec, ...fields };
  }

  /** The same inputs for one more of the case's kind beside the sample's: others where the cloud takes equal ones once. */
  beside(spec: JsonObject, index: number): JsonObject {
    return this.subject.beside?.(this.kind, spec, index) ?? spec;
  }

  /** Makes one of the case's kind, with everything that it needs. */
  async make(inputs: Inputs): Promise<Observed> {
    const { id } = await this.resource().create(inputs);
    const presence = await this.handler.locate(this.context, inputs.who, id);
    must(presence.found === "one", "find a resource by its id (locate)", presence.found);
    return presence.resource;
  }

  /** The world, if it can do this. Ends the case otherwise: not offered where the cloud lacks it, not checked where the world does. */
  able<K extends Power>(...powers: K[]): Able<K> {
    return able(this.world, powers);
  }

  /** Reports a part of the case as not checked without this power of the world, unless the cloud lacks it. */
  partNeeds(power: Power, about: string): void {
    const { world, exceptions } = this;
    if (world[power] !== undefined || world.lacks?.[power] !== undefined) return;
    exceptions.push(`${about}: the world has no ${power}`);
  }

  /** The record of a machine's one host. */
  hostOf(machine: string): RecordedResource {
    const hosts = [...this.records.values()].filter(({ parent }) => parent === machineKey(machine));
    const [host] = hosts;
    must(
      host !== undefined && hosts.length === 1,
      "have one host for a machine",
      `${hosts.length}`,
    );
    return host;
  }

  /** A recorded resource as the cloud shows it now. */
  async observe({ kind, id, inputs }: RecordedResource): Promise<Observed | undefined> {
    const who = inputs["who"] as Identity;
    const presence = await this.handlerOf(kind).locate(this.context, who, id);
    return presence.found === "one" ? presence.resource : undefined;
  }

  /** Whether it is shown with the inputs that it was asked to have. */
  isShownAs(observed: Observed, asked: JsonObject): boolean {
    return sameJson(this.recordedAs(observed, asked).spec, asked);
  }

  /** As a record has it that knows what was asked for: what the cloud cannot show is from there. */
  recordedAs(observed: Observed, asked: JsonObject): Observed {
    return asKnown(observed, unobservableOf(this.provider, observed.who.kind), asked);
  }

  recorded(): RecordedResource[] {
    return [...this.records.values()];
  }

  /** The identity of somebody else's resource of the same name. */
  stranger(who: Identity, change: { readonly cluster?: string; readonly uid: string }): Identity {
    const { cluster } = this.desired({});
    const namespace = change.cluster ?? cluster.metadata.namespace;
    const other: ClusterObject = { ...cluster, metadata: { ...cluster.metadata, namespace } };
    return identityOf(other, change.uid, who.kind, who.name);
  }

  /** Whether only members of a control plane need the case's kind. */
  private get isOfMembers(): boolean {
    this.ofWorkers ??= kindsOf(this.provider, this.desired({ web: {} }));
    return !this.ofWorkers.includes(this.kind);
  }

  private handlerOf(kind: string): ResourceHandler {
    const handler = this.provider.handlers.get(kind);
    must(handler !== undefined, "serve every kind that it compiles", `no handler for ${kind}`);
    return handler;
  }

  private get prior(): PriorState {
    const { committed } = this;
    const resources = this.recorded();
    if (committed === undefined) return { resources, pending: [] };
    const { transaction, target } = committed;
    return {
      resources: [...resources, revisionRecord],
      pending: [],
      transaction: { ...transaction, target },
      revision: { number: transaction.number, target, history: [] },
    };
  }

  private inputsOf(node: GraphNode): Inputs {
    return {
      who: identityOf(this.desired({}).cluster, this.world.clusterUid, node.kind, node.name),
      spec: resolveRefs(node.spec, ({ $ref, output }) => this.output($ref, output)),
    };
  }

  private output(key: NodeKey, output: string): Json {
    const record = this.records.get(key);
    const value =
      output === "id"
        ? record?.id
        : (record?.outputs["status"] as JsonObject | undefined)?.[output];
    must(
      value !== undefined,
      `make ${key} with a ${output}, since others refer to it`,
      "it has none",
    );
    return value;
  }

  private async register(node: GraphNode): Promise<void> {
    const key = keyOf(node);
    const inputs = this.inputsOf(node);
    const before = this.records.get(key);
    const resource = this.resource(this.handlerOf(node.kind), node.kind);
    const made =
      before?.id === undefined
        ? await resource.create(inputs)
        : { id: before.id, ...(await resource.update(before.id, before.outputs, inputs)) };
    const { kind, name, parent, dependsOn } = node;
    this.records.set(
      key,
      omitUndefined({
        urn: key,
        key,
        kind,
        name,
        type: "resource",
        inputs,
        dependsOn,
        parent,
        id: made.id,
        outputs: made.outs,
        secretInputs: [],
        unfinished: false,
        deleting: false,
      }),
    );
  }

  private async remove(key: NodeKey): Promise<void> {
    const record = this.records.get(key);
    if (record?.id === undefined) return;
    const { kind, id, inputs } = record;
    await this.resource(this.handlerOf(kind), kind).delete(id, inputs);
    this.records.delete(key);
  }
}

function hostKeyIn(machines: Plan["target"]["machines"], machine: string): NodeKey | undefined {
  return machines.find(({ name }) => name === machine)?.host;
}
