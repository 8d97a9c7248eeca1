import { type CapstanError, expectDefined, isCapstanError, messageOf } from "../api/error.js";
import type { Json, JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { apiVersion, clusterNameLabel } from "../api/schema.js";
import type { ClusterObject, Desired } from "../api/types.js";
import { type GraphNode, keyOf, type NodeKey, resolveRefs } from "../graph/graph.js";
import type {
  CreateContext,
  Identity,
  InfrastructureProvider,
  Observed,
  ResourceHandler,
  UserData,
} from "../provider/port.js";
import { packedUserData, userDataOf } from "../bootstrap/host/user-data.js";
import { CloudResource } from "../dynamic/cloud-resource.js";
import { diagnosticText } from "../manifest/diagnostic.js";
import { identityOf } from "../compile/compile.js";
import { observe as look } from "../engine/run/observe.js";
import { machineKey } from "../records/target.js";
import { makePlan } from "../plan/planner/make-plan.js";
import type { Plan } from "../plan/plan.js";
import type { PriorState, RecordedResource } from "../records/prior-state.js";
import { readDesired } from "../manifest/desired.js";
import { type ConformanceSubject, must, type Sample, type World } from "./subject.js";

/** Machines of the case's cluster by name, with what differs from the subject's machineSpec. */
export type MachineSpecs = Readonly<Record<string, JsonObject>>;

/** What a resource is registered with. */
interface Inputs extends JsonObject {
  readonly who: Identity;
  readonly spec: JsonObject;
}

const timeoutMs = 600_000;

/** What every machine of the sample runs. */
export const sampleKubelet = "1.34.2";

/** What hosts of the sample are given: it does nothing. */
function emptyUserData({ userData }: InfrastructureProvider): UserData {
  const format = userData?.format ?? "cloud-config";
  const text = userDataOf({ files: [], script: "/bin/true" }, format);
  return { format, text, packed: packedUserData(text) };
}

/** An engine in memory around a provider: the product's plan and its resource protocol, and records. */
export class Rig {
  readonly context: CreateContext;
  private readonly records = new Map<NodeKey, RecordedResource>();
  private committed: Plan | undefined;

  private constructor(
    private readonly subject: ConformanceSubject,
    readonly world: World,
  ) {
    const signal = new AbortController().signal;
    const userData = async () => emptyUserData(world.provider);
    this.context = { clock: world.clock, signal, assertEngineAlive: () => {}, userData };
  }

  /** Runs work on a world of its own. */
  static async use(subject: ConformanceSubject, work: (rig: Rig) => Promise<void>): Promise<void> {
    const world = await subject.open();
    try {
      await work(new Rig(subject, world));
    } finally {
      await world.close?.();
    }
  }

  get provider(): InfrastructureProvider {
    return this.world.provider;
  }

  get hostHandler(): ResourceHandler {
    return this.handlerOf(this.provider.hostKind);
  }

  /** The resource protocol around the calls on hosts, as Pulumi would drive it. */
  resource(handler = this.hostHandler, kind = this.provider.hostKind): CloudResource {
    return new CloudResource(this.provider, kind, handler, {
      context: this.context,
      mode: "inline",
      readyTimeoutMs: timeoutMs,
      bootstrap: {
        userDataFor: () => this.context.userData(),
        deleteSecret: () => Promise.resolve(),
      },
    });
  }

  desired(specs: MachineSpecs, sample: Sample = this.subject): Desired {
    const manifest = this.manifest(specs, {}, sample);
    const { clusters, diagnostics } = readDesired([manifest], [this.provider]);
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    const problems = errors.map(diagnosticText).join("; ");
    const [only] = clusters;
    must(only !== undefined && problems === "", "accept the specs of its own sample", problems);
    return only;
  }

  /** The sample as a user would write it. */
  manifest(
    specs: MachineSpecs,
    clusterFields: JsonObject = {},
    { clusterSpec, machineSpec }: Sample = this.subject,
  ): { file: string; text: string } {
    const cluster = {
      apiVersion,
      kind: "Cluster",
      metadata: { name: "conformance" },
      spec: {
        clusterNetwork: {
          services: { cidrBlocks: ["10.96.0.0/12"] },
          pods: { cidrBlocks: ["192.168.0.0/16"] },
          serviceDomain: "cluster.local",
        },
        providerSpec: { value: { ...clusterSpec, ...clusterFields } },
      },
    };
    const machines = Object.entries(specs).map(([name, fields]) => ({
      apiVersion,
      kind: "Machine",
      metadata: { name, labels: { [clusterNameLabel]: "conformance" } },
      spec: {
        versions: { kubelet: sampleKubelet },
        providerSpec: { value: { ...machineSpec, ...fields } },
      },
    }));
    const documents = [cluster, ...machines].map((document) => JSON.stringify(document));
    return { file: "conformance.json", text: documents.join("\n---\n") };
  }

  /** Looks at the cloud and plans, as `capstan plan` does. */
  async plan(specs: MachineSpecs): Promise<Plan> {
    const desired = this.desired(specs);
    const { prior } = this;
    const { clusterUid, clock } = this.world;
    const scope = { cluster: "default/conformance", clusterUid };
    const observation = await look(this.provider, this.context, scope, prior);
    return makePlan({
      planGoal: { kind: "objects", desired },
      prior,
      ...observation,
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

  /** Makes everything that a machine's host needs, and answers what the host is to be made with. */
  async prepareHost(machine = "web"): Promise<Inputs> {
    const plan = await this.plan({ [machine]: {} });
    const host = this.hostNode(plan, machine);
    for (const { key, kind } of plan.steps) {
      const node = plan.target.nodes.find((one) => keyOf(one) === key);
      if (kind !== "delete" && node !== undefined && node !== host) await this.register(node);
    }
    return this.inputsOf(host);
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
      resources,
      pending: [],
      transaction: { ...transaction, target },
      revision: { number: transaction.number, target, history: [] },
    };
  }

  private hostNode(plan: Plan, machine: string): GraphNode {
    const key = plan.target.machines.find(({ name }) => name === machine)?.host;
    const node = plan.target.nodes.find((one) => keyOf(one) === key);
    return expectDefined(node, `host of ${machine}`);
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
    const { kind, name, type, parent, dependsOn } = node;
    this.records.set(
      key,
      omitUndefined({
        urn: key,
        key,
        kind,
        name,
        type,
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

/** The error of a promise that must not succeed; undefined when it does. */
export async function errorOf(work: Promise<unknown>): Promise<Error | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** The code of an error of ours, also inside one that tells of an unfinished resource. */
export function codeOf(error: unknown): CapstanError["code"] | undefined {
  if (isCapstanError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? codeOf(error.cause) : undefined;
}

/** What happened instead, for a failure's message. */
export function seenOf(error: unknown): string {
  return error === undefined
    ? "it succeeded"
    : `${codeOf(error) ?? "an error"} (${messageOf(error)})`;
}
