import assert from "node:assert/strict";
import type { EC2 } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import type { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { awsProvider } from "../../../../providers/aws/provider.js";
import { type AwsClients, awsClients } from "../../../../providers/aws/calls/clients.js";
import type { RequestPaces } from "../../../../providers/aws/calls/request-pace.js";
import { CapstanError, expectDefined } from "../../../../src/api/error.js";
import type { Json, JsonObject } from "../../../../src/api/json.js";
import { providerValue } from "../../../../src/api/types.js";
import { secretNameOf } from "../../../../src/bootstrap/host/delivery.js";
import { identityOf } from "../../../../src/compile/compile.js";
import { CloudResource } from "../../../../src/dynamic/cloud-resource.js";
import type { Properties } from "../../../../src/dynamic/protocol.js";
import type { HostBootstrapper } from "../../../../src/dynamic/host-bootstrapper.js";
import { findFacts } from "../../../../src/engine/operations/found-facts.js";
import { observe } from "../../../../src/engine/run/observe.js";
import {
  type GraphNode,
  inDependencyOrder,
  keyOf,
  nodeKey,
  type NodeKey,
  resolveRefs,
} from "../../../../src/graph/graph.js";
import { readDesired } from "../../../../src/manifest/desired.js";
import { makePlan } from "../../../../src/plan/planner/make-plan.js";
import type {
  CallContext,
  Clock,
  Identity,
  InfrastructureProvider,
  Observed,
} from "../../../../src/provider/port.js";
import { leaveClassicBalancer, leaveInterface } from "../in-cluster-controllers.js";
import { changes, type LifeChange } from "./life-changes.js";
import { type LifeShape, manifestOf } from "./life-manifest.js";

const phases = [
  "plan",
  "create",
  "unchanged",
  "secrets",
  "change",
  "leftovers",
  "destroy",
] as const;
type Phase = (typeof phases)[number];

/** A cloud that a life is lived in. */
export interface LifeCloud {
  readonly clients: AwsClients;
  readonly clock: Clock;
  /** What is shared with others of the account; each life has its own without. */
  readonly paces?: RequestPaces;
  /** Absent: none run in the cluster. */
  readonly controllers?: Controllers;
}

/** What runs in a cluster calls, with rights of its own. */
export interface Controllers {
  readonly ec2: EC2;
  readonly classicElb: ElasticLoadBalancing;
  readonly secrets: SecretsManager;
}

/** What is done about one resource in a phase. Done again after a failure it goes on from where it was. */
export interface LifeStep {
  readonly phase: Phase;
  /** "AwsVpc/vpc", or what the provider is asked for as a whole. */
  readonly about: string;
  /** Rejects unless the cloud is as it was asked to be then. */
  readonly run: () => Promise<void>;
}

interface Made {
  readonly kind: string;
  readonly id: string;
  readonly outs: Properties;
  readonly inputs: { readonly who: Identity; readonly spec: JsonObject };
}

interface LifeOptions extends LifeShape {
  /** How long a step may take, of the cloud's own time. */
  readonly timeoutMs?: number;
}
/** Whatever the simulator does takes less. */
const settledMs = 120_000;

const emptyUserData: Awaited<ReturnType<HostBootstrapper["userDataFor"]>> = {
  format: "cloud-config",
  text: "#cloud-config",
  packed: new TextEncoder().encode("#cloud-config"),
};

/**
 * One cluster from its plan to its end, by the product's plan and resource protocol and without an engine: what is there
 * is planned, made, looked at, changed in place, and taken away. Every kind of resource takes part.
 */
export class AwsLife {
  readonly provider: InfrastructureProvider;
  readonly context: CallContext;
  private readonly made = new Map<NodeKey, Made>();
  private nodes: readonly GraphNode[] = [];
  private leftovers: readonly string[] | undefined;

  constructor(
    private readonly cloud: LifeCloud,
    private readonly options: LifeOptions = {},
  ) {
    const { signal } = new AbortController();
    this.context = { clock: cloud.clock, signal, assertEngineAlive: () => undefined };
    this.provider = awsProvider(cloud.clients, {}, awsClients, cloud.paces);
  }

  /** Its steps in their order; those of a phase are known once the phase before it is over. */
  *steps(): Generator<LifeStep, void> {
    for (const phase of phases) yield* this.stepsIn(phase);
  }

  /** The resources that are made, as far as that is planned. */
  planned(): readonly GraphNode[] {
    return this.nodes;
  }

  /** What it refers to has to be there. */
  private inputsOf(node: GraphNode): { readonly who: Identity; readonly spec: JsonObject } {
    const { kind, name, spec } = node;
    const who = identityOf(this.desired.cluster, this.uid, kind, name);
    return { who, spec: this.resolved(spec) };
  }

  /** What was made under a key, and what was asked of it last. */
  asked(key: string): { readonly id: string; readonly spec: JsonObject } {
    const { id, inputs } = this.madeOf(key as NodeKey);
    return { id, spec: inputs.spec };
  }

  /** Creates it twice and lets the first one stay: their ids. An error of the second counts as an id. */
  async createTwice(node: GraphNode): Promise<readonly string[]> {
    const { who, spec } = this.inputsOf(node);
    const handler = expectDefined(this.provider.handlers.get(node.kind), node.kind);
    const context = { ...this.context, userData: () => Promise.resolve(emptyUserData) };
    const { id } = await handler.create(context, who, spec);
    const second = await handler.create(context, who, spec).catch((error: unknown) => error);
    if (!isObserved(second)) return [id, String(second)];
    if (second.id !== id) {
      // It has to be made before it can be removed, and to be gone before anybody looks.
      await context.clock.sleep(settledMs);
      await handler.remove(context, second);
      await context.clock.sleep(settledMs);
    }
    return [id, second.id];
  }

  private stepsIn(phase: Phase): LifeStep[] {
    const step = (about: string, run: () => Promise<void>) => ({ phase, about, run });
    const { controllers } = this.cloud;
    switch (phase) {
      case "plan":
        return [step("the plan", () => this.plan()), step("preflight", () => this.preflight())];
      case "create":
        return this.nodes.map((node) => step(keyOf(node), () => this.create(node)));
      case "unchanged":
        return [
          step("the listing", () => this.list()),
          ...[...this.made.keys()].map((key) => step(key, () => this.isAsAsked(key))),
          step("the console", () => this.readConsole()),
        ];
      case "secrets":
        return controllers === undefined ? [] : this.secretSteps(controllers, step);
      case "change":
        return changes.map((change) => {
          const key = expectDefined(
            [...this.made.keys()].find((one) => one.startsWith(change.about)),
            change.about,
          );
          return step(key, () => this.change(key, change));
        });
      case "leftovers":
        return controllers === undefined
          ? []
          : [
              step("an instance that stands still", () => this.startStopped(controllers)),
              step("the leftovers", () => this.removeLeftovers(controllers)),
              step("a rule of a user", () => this.addRule(controllers)),
            ];
      case "destroy":
        return [...this.made.keys()].toReversed().map((key) => step(key, () => this.destroy(key)));
    }
  }

  private async plan(): Promise<void> {
    const { desired, provider, context } = this;
    const prior = { resources: [], pending: [] };
    const scope = { cluster: `default/${desired.cluster.metadata.name}`, clusterUid: this.uid };
    const observation = await observe(provider, context, scope, prior);
    const facts = await findFacts({
      desired,
      positionOf: () => undefined,
      provider,
      prior,
      context,
    });
    const { target } = makePlan({
      planGoal: { kind: "objects", desired },
      prior,
      ...observation,
      ...facts,
      provider,
      newClusterUid: this.uid,
      nowMs: context.clock.now(),
      owner: "files",
      goal: { kind: "up" },
      by: "life",
      deadlineMs: 3_600_000,
    });
    const all = inDependencyOrder(target.nodes);
    const own = all.filter(({ kind }) => provider.handlers.has(kind));
    this.nodes = this.options.isSmall === true ? own : withSpare(own);
  }

  private async preflight(): Promise<void> {
    const steps = this.nodes.map(({ kind, name, spec }) => {
      return { does: "create" as const, kind, name, wanted: spec };
    });
    const { spec } = this.desired.cluster;
    const planned = this.nodes.map(({ kind, name, spec: wanted }) => ({
      kind,
      name,
      spec: wanted,
    }));
    const { provider, context } = this;
    const found = (await provider.preflight?.(context, steps, providerValue(spec), planned)) ?? [];
    // A right that is missing is a note to users, and an error to a life that is to go by the rights that it has.
    const denied = found.find(({ code }) => code === "PERMISSION");
    if (denied !== undefined) throw new CapstanError({ ...denied, source: "cloud" });
  }

  /** A host's secret is kept, kept anew as after a crash, listed, read by its host, and deleted. */
  private secretSteps(
    { secrets }: Controllers,
    step: (about: string, run: () => Promise<void>) => LifeStep,
  ): LifeStep[] {
    const { provider, context } = this;
    const store = expectDefined(provider.userData?.secrets, "a store");
    const { inputs } = expectDefined(
      [...this.made.values()].find(({ kind }) => kind === provider.hostKind),
      "a host",
    );
    const { who } = inputs;
    const name = secretNameOf(who.token);
    const read = async () => {
      const { SecretBinary } = await secrets.getSecretValue({ SecretId: name });
      return Buffer.from(SecretBinary ?? "").toString();
    };
    const put = async (text: string) => {
      await store.put(context, name, Buffer.from(text), { who, controlPlane: true });
      assert.equal(await read(), text);
    };
    const listed = async () => (await store.kept?.(context))?.map((one) => [one.name, one.who]);
    return [
      step("its secret", () => put("first")),
      step("its secret anew", () => put("second")),
      step("the secrets", async () => assert.deepEqual(await listed(), [[name, who]])),
      step("the end of its secret", async () => {
        await store.delete(context, name, who);
        await assert.rejects(read, { name: "ResourceNotFoundException" });
      }),
    ];
  }

  private async create(node: GraphNode): Promise<void> {
    const inputs = this.inputsOf(node);
    const { id, outs } = await this.resource(node.kind).create(inputs);
    this.made.set(keyOf(node), { kind: node.kind, id, outs, inputs });
    await this.isAsAsked(keyOf(node));
  }

  /** As the watch loop does it. */
  private async list(): Promise<void> {
    const listed = (await this.provider.owned?.(this.context)) ?? [];
    assert.deepEqual(
      listed.map(({ who }) => `${who.kind}/${who.name}`).sort(),
      [...this.made.keys()].sort(),
    );
  }

  private async change(key: NodeKey, { spec }: LifeChange): Promise<void> {
    const before = expectDefined(this.made.get(key), key);
    const current = before.inputs.spec;
    const asked = { ...current, ...spec(current, (one) => this.madeOf(one as NodeKey).id) };
    const inputs = { ...before.inputs, spec: asked };
    const { outs } = await this.resource(before.kind).update(before.id, before.outs, inputs);
    const changed = { ...before, inputs, outs };
    await this.isAsAsked(key, changed);
    this.made.set(key, changed);
  }

  /** Somebody has stopped it: the same update that changes nothing makes it run. */
  private async startStopped({ ec2 }: Controllers): Promise<void> {
    // EC2 stops no spot instance that was asked for once.
    const found = [...this.made.values()].find(
      ({ kind: one, inputs: { spec } }) => one === "AwsInstance" && spec["spot"] === undefined,
    );
    const made = expectDefined(found, "an instance that can be stopped");
    const { kind, id, outs, inputs } = made;
    await ec2.stopInstances({ InstanceIds: [id] });
    const { outs: started } = await this.resource(kind).update(id, outs, inputs);
    const presence = await this.provider.handlers.get(kind)?.locate(this.context, inputs.who, id);
    const phase = presence?.found === "one" ? presence.resource.phase : presence?.found;
    assert.ok(phase === "pending" || phase === "ready", phase);
    this.made.set(keyOf(inputs.who), { ...made, outs: started });
  }

  /** Of a node and a Service of the cluster, whose controllers are gone. */
  private async removeLeftovers({ ec2, classicElb }: Controllers): Promise<void> {
    const { provider, context, uid: clusterUid } = this;
    const { name } = this.desired.cluster.metadata;
    const places = [...this.made.values()].map(({ kind, id }) => ({ kind, id, isOurs: true }));
    const scope = { cluster: `default/${name}`, clusterUid, places };
    const { id: subnetId } = this.madeOf(nodeKey("AwsSubnet", "public-eu-north-1a"));
    const isFirst = this.leftovers === undefined;
    this.leftovers ??= [
      await leaveClassicBalancer(classicElb, { subnetIds: [subnetId], cluster: name, suffix: "" }),
      await leaveInterface(ec2, { subnetId, cluster: name }),
    ];
    const look = async () => (await provider.leftovers?.(context, scope)) ?? [];
    const found = await look();
    if (isFirst)
      assert.deepEqual(
        found.map(({ id }) => id),
        this.leftovers,
      );
    for (const one of found) await provider.removeLeftover?.(context, scope, one);
    assert.deepEqual(await look(), []);
  }

  /** An outbound rule of the control plane's group that names the group of all nodes. */
  private async addRule({ ec2 }: Controllers): Promise<void> {
    const [GroupId, other] = ["controlplane", "node"].map(
      (name) => this.madeOf(nodeKey("AwsSecurityGroup", name)).id,
    );
    const UserIdGroupPairs = [{ GroupId: other }];
    const IpPermissions = [{ IpProtocol: "tcp", FromPort: 1, ToPort: 1, UserIdGroupPairs }];
    await ec2.authorizeSecurityGroupEgress({ GroupId, IpPermissions });
  }

  private async destroy(key: NodeKey): Promise<void> {
    const { kind, id, outs } = this.madeOf(key);
    await this.resource(kind).delete(id, outs);
    this.made.delete(key);
  }

  /** As a refresh reads it. */
  private async isAsAsked(key: NodeKey, made = this.madeOf(key)): Promise<void> {
    const { kind, id, outs, inputs } = made;
    const read = await this.resource(kind).read(id, outs);
    assert.ok("inputs" in read, `${key} is there`);
    assert.deepEqual(read.inputs, inputs, `${key} is as it was asked to be`);
  }

  private async readConsole(): Promise<void> {
    const hosts = [...this.made.values()].filter(({ kind }) => kind === this.provider.hostKind);
    const { kind, id, inputs } = expectDefined(hosts[0], "a host");
    const handler = expectDefined(this.provider.handlers.get(kind), kind);
    const presence = await handler.locate(this.context, inputs.who, id);
    assert.ok(presence.found === "one", id);
    await this.provider.userData?.console?.(this.context, presence.resource);
  }

  private madeOf(key: NodeKey): Made {
    return expectDefined(this.made.get(key), key);
  }

  private get uid(): string {
    return `uid-of-${this.options.cluster ?? "life"}`;
  }

  private get desired() {
    const { clusters, diagnostics } = readDesired([manifestOf(this.options)], [this.provider]);
    return expectDefined(clusters[0], JSON.stringify(diagnostics));
  }

  private resource(kind: string): CloudResource {
    const handler = expectDefined(this.provider.handlers.get(kind), kind);
    return new CloudResource(this.provider, kind, handler, {
      context: this.context,
      mode: "inline",
      readyTimeoutMs: this.options.timeoutMs ?? 600_000,
      bootstrap: {
        userDataFor: () => Promise.resolve(emptyUserData),
        release: () => Promise.resolve(),
        forget: () => Promise.resolve(),
      },
    });
  }

  private resolved(spec: JsonObject): JsonObject {
    return resolveRefs(spec, ({ $ref, output }): Json => {
      const { id, outs } = this.madeOf($ref);
      if (output === "id") return id;
      return expectDefined((outs["status"] as JsonObject)[output], `${$ref} ${output}`);
    });
  }
}

function isObserved(value: unknown): value is Observed {
  return typeof value === "object" && value !== null && "who" in value;
}

/** A second target group, for the listener to change to. */
function withSpare(nodes: readonly GraphNode[]): GraphNode[] {
  return nodes.flatMap((node) =>
    node.kind === "AwsTargetGroup" ? [node, { ...node, name: "spare" }] : [node],
  );
}
