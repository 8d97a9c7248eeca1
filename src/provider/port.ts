import type { ErrorCode } from "../api/error.js";
import type { JsonObject } from "../api/json.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import type { ClusterObject, MachineSpec } from "../api/types.js";
import type { GraphNode } from "../graph/graph.js";
import type { Leftover, LeftoverScope } from "./leftovers.js";

/**
 * Who a cloud resource is, for ever. It is written into the create call itself (as tags, a name, or
 * whatever the cloud offers) and compared before anything is changed or deleted.
 */
export interface Identity extends JsonObject {
  /** "<namespace>/<name>" of the Cluster. */
  readonly cluster: string;
  /**
   * Minted once for each life of a cluster. A UUID whose last group tells who has made the cluster (docs/adr/0039), so it is
   * kept as it is.
   */
  readonly clusterUid: string;
  /** Kind of the resource, e.g. "LocalHost". */
  readonly kind: string;
  /** Name in the graph. A host's name carries its generation and incarnation. */
  readonly name: string;
  /** Idempotency token: a function of all the above, never of an attempt. 32 hexadecimal digits. */
  readonly token: string;
}

/**
 * What a cloud resource is doing. `stopped`: it stands with all that it has, runs nothing, and `start` makes it run; a host that cannot
 * be started again has failed. `deleting`: the cloud has accepted its deletion and still shows it, so that it is there and
 * never serves again. `gone` is positive knowledge, never a guess.
 */
export type Phase = "pending" | "ready" | "stopped" | "failed" | "deleting" | "gone";

/** Why a resource failed. Told wherever the failure is: in errors, plans, status and drift. */
export interface Failure {
  /** The cloud's own words, one sentence. They may change: nothing is compared with them. */
  readonly reason: string;
  /** What Capstan makes of it: QUOTA, PERMISSION and others reach the Machine's errorReason. CLOUD_FAILED without. */
  readonly code?: ErrorCode;
}

/** A resource as the cloud describes it. */
export interface Observed {
  readonly id: string;
  readonly who: Identity;
  readonly phase: Phase;
  /** Of the phases "failed" and "stopped": why, where the cloud says so. */
  readonly failure?: Failure;
  /** The settable fields as they are now, in the shape of the inputs. */
  readonly spec: JsonObject;
  /** Stable computed facts (addresses, provider id). Nothing that changes by itself. */
  readonly status: JsonObject;
  /** When the cloud made it, milliseconds since the epoch; absent where the cloud does not say. */
  readonly createdAtMs?: number;
  /** When it last became ready, milliseconds since the epoch; only while it is. minReadySeconds count from it. */
  readonly readySinceMs?: number;
  /**
   * When the cloud takes it away by itself, as it has said beforehand: milliseconds since the epoch. Its machine gets
   * another host.
   */
  readonly leavesAtMs?: number;
  /** A host that has left its control plane for good, as `markLeft` has marked it: it can only go. Its phase is "failed". */
  readonly hasLeft?: true;
  /** What the host's node last said about itself; absent before it did, and where nobody can tell. */
  readonly node?: NodeReport;
  /**
   * Of an answer to `create` or `update`: the cloud has accepted it and goes on by itself. The handle is recorded, so
   * that `poll` can be asked what became of it whoever comes next.
   */
  readonly operation?: string;
}

/** What became of something that a cloud has accepted. */
export type OperationState =
  | { readonly state: "running" }
  | { readonly state: "done" }
  | { readonly state: "failed"; readonly failure: Failure };

/** A removal that the cloud has accepted. */
export interface AcceptedRemoval {
  /** The handle that `poll` is asked with. */
  readonly operation: string;
}

/** A call that ends without a value names no operation. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type
export type RemovalAnswer = AcceptedRemoval | void;

/** A resource as the cloud describes it to whoever knows no more than its id. */
export interface Found extends Omit<Observed, "who"> {
  /** Whose marks it bears; absent: none of ours, of whatever cluster. */
  readonly who?: Identity;
}

/** What a node says about itself. What a provider tells of it may lag behind what its host was asked for, so that is never compared. */
export interface NodeReport {
  /** Semantic version without "v", as in versions.kubelet. */
  readonly kubelet: string;
  /** Of the control plane that runs on it. */
  readonly controlPlane?: string;
  readonly containerRuntime?: { readonly name: string; readonly version: string };
  /** The operating system as it calls itself. */
  readonly osImage?: string;
  /** Of the Node object, where somebody knows it. */
  readonly uid?: string;
  /** Of the Node object; absent: it is called as its host is. */
  readonly name?: string;
  /** Of the Node object, where somebody reads them. */
  readonly addresses?: readonly NodeAddress[];
  /** Conditions of the Node object, where the provider reads them. They must not move by themselves. */
  readonly conditions?: readonly ReportedCondition[];
  /** Who keeps pods from the Node: a drain of ours, or somebody else; absent: nobody, or nobody has asked. */
  readonly cordonedBy?: "capstan" | "others";
  /** A drain of ours has cordoned the Node, somebody else has let it take pods again, and our mark is left; absent: it is not. */
  readonly cordonMarkIsLeft?: true;
  /**
   * Of the fields of its host's spec that Capstan keeps on the Node (`isNodeMark`) those that it bears otherwise than its Machine asks
   * for, as it bears them: { nodeLabels: {} } of a Node without a label that is wanted. Absent: none, or the Node was not compared.
   */
  readonly otherMarks?: JsonObject;
}

export interface NodeAddress {
  /** "InternalIP", "Hostname" or another one of Kubernetes. */
  readonly type: string;
  readonly address: string;
}

/** A condition as a Node has it, without its heartbeat, which changes all the time. */
export interface ReportedCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  /** RFC 3339. */
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The answer to "does it exist?". Unknown is not none: nothing is created or forgotten on unknown. */
export type Presence =
  | { readonly found: "none" }
  | { readonly found: "one"; readonly resource: Observed }
  | { readonly found: "many"; readonly ids: readonly string[] }
  | { readonly found: "unknown"; readonly reason: string };

/** What it takes to get from recorded inputs to wanted inputs. */
export type Verdict =
  | { readonly kind: "same" }
  | {
      readonly kind: "inPlace";
      readonly paths: readonly string[];
      /** What the change of each of these paths disturbs: "the host is stopped and started"; absent: nothing. */
      readonly disruptions?: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "replace" | "unsupported";
      readonly paths: readonly string[];
      readonly reason: string;
      /** Why each of these paths cannot be changed in place; absent: the reason is about all of them. */
      readonly reasons?: Readonly<Record<string, string>>;
    };

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`, rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** What every call to a cloud is given. */
export interface CallContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Throws ENGINE_DEAD when the engine that asked no longer lives, and LOCKED when another command has taken the place of the one
   * that asked. Called and awaited before each mutation.
   */
  assertEngineAlive(): Promise<void> | void;
}

/** Who reads user data on a host: cloud-init nearly everywhere, Ignition on Flatcar and Fedora CoreOS. */
export type UserDataFormat = "cloud-config" | "ignition";

/** Where a host's software comes from: packages of its distribution, or an image that holds all of it. */
export type SoftwareSource = "apt" | "image";

/**
 * What hosts of a provider take at their first start, and what only they know. Data and pure functions, but for
 * `secrets` and `console`. Source: docs/adr/0020.
 */
export interface UserDataTerms {
  readonly format: UserDataFormat;
  /** The most that the cloud takes, and whether it counts before or after gzip. No limit without. */
  readonly limit?: { readonly bytes: number; readonly counts: "plain" | "packed" };
  /** Pure; asked of machines and templates alike, with the providerSpec of their Cluster. */
  software(machine: MachineToCompile, clusterSpec: JsonObject): SoftwareSource;
  /**
   * The container runtime of hosts whose Machine names none: what the image holds, or what is installed. A function says it of
   * clusters by their providerSpec, where their hosts differ; it gives the same each time.
   */
  readonly containerRuntime: RuntimeTerms | ((clusterSpec: JsonObject) => RuntimeTerms);
  /** Commands for sh, each printing one line on the host. */
  readonly commands: HostCommands;
  /** Whether a controller of the cloud, in the cluster, tells nodes their addresses. Without: none does. */
  readonly hasCloudController?: boolean;
  /**
   * Its hosts run nothing, so none of them waits for another: the terms are for `capstan render` alone. A pure function says it of
   * clusters by their providerSpec, where some run something.
   */
  readonly simulated?: true | ((clusterSpec: JsonObject) => boolean);
  /** Without it secrets travel in the user data itself. */
  readonly secrets?: SecretStore;
  /**
   * Marks a member of a control plane that is about to leave it for good: whoever looks from then on is shown `hasLeft`, so that
   * nobody takes it for one that serves if nothing comes of its deletion. Without it a deletion that is taken back after the member has
   * left keeps a host that serves no more.
   */
  markLeft?(ctx: CallContext, host: Observed): Promise<void>;
  /** The last lines that a host printed, newest last: why its bootstrap failed. Throws when it cannot tell. */
  console?(ctx: CallContext, host: Observed): Promise<string>;
}

/** A container runtime: a semantic version without "v". */
export interface RuntimeTerms {
  readonly name: string;
  readonly version: string;
}

/** What a host alone can tell. */
export interface HostCommands {
  /** Of the Node; for a cloud controller it has to be what the cloud calls the host. */
  readonly name: string;
  /** Where its API server listens. */
  readonly address: string;
  /** providerID of the Node; absent: a controller of the cloud tells it. */
  readonly providerId?: string;
}

/** The host that a secret is kept for. */
export interface SecretHost {
  readonly who: Identity;
  readonly controlPlane: boolean;
}

/** What a store keeps for a host. */
export interface KeptSecret {
  readonly name: string;
  /** Of the host. */
  readonly who: Identity;
  /** Milliseconds since the epoch. */
  readonly createdAtMs?: number;
}

/**
 * Where a cloud keeps secrets for its hosts. A name is a function of a host's identity, so that whoever comes after
 * a crash finds what is there. Source: docs/adr/0020, docs/adr/0034.
 */
export interface SecretStore {
  /** The most that it keeps under one name. No limit without. */
  readonly limitBytes?: number;
  /** Keeps the content under the name, whatever was there for this host. Refuses what is kept for another one. */
  put(ctx: CallContext, name: string, content: Uint8Array, host: SecretHost): Promise<void>;
  /** Success also when there is none. Refuses what is kept for another host than this one. */
  delete(ctx: CallContext, name: string, who: Identity): Promise<void>;
  /** All that is kept and bears marks, of whatever cluster. Without it a sweep does not see what is kept. */
  kept?(ctx: CallContext): Promise<readonly KeptSecret[]>;
  /** A command for sh that prints the content on the host, or tells why not on its standard error. Pure. */
  fetchCommand(name: string): string;
  /** Whether hosts of a cluster with this providerSpec fetch their secrets: those of every cluster without. Pure. */
  isUsedBy?(clusterSpec: JsonObject): boolean;
  /** Why a machine's host could not fetch anything; undefined where it can. Each can without. Pure. */
  obstacleOf?(machine: MachineToCompile): FetchObstacle | undefined;
}

/** What keeps a host from fetching. */
export interface FetchObstacle {
  /** "its instance has no profile". */
  readonly reason: string;
  /** What of the machine's spec asks for it. */
  readonly member: readonly (string | number)[];
}

/** What one host is given, made when it is created. A secret, unless a store keeps the secrets of it. */
export interface UserData {
  readonly format: UserDataFormat;
  /** As the host reads it: a cloud that wants base64 is given that by its provider. */
  readonly text: string;
  /** The same by gzip, which cloud-init and Ignition unpack by themselves. */
  readonly packed: Uint8Array;
}

/** What a create is given. */
export interface CreateContext extends CallContext {
  /**
   * The user data of this host, of a provider that has `userData`. Made once for each create, however often the
   * cloud has to be asked. Throws a retryable error while nobody can tell the endpoint of the cluster, and
   * INVALID_INPUT where nobody makes any.
   */
  readonly userData: () => Promise<UserData>;
}

/** A resource that is looked for, with its id as far as that is known. */
export interface Wanted {
  readonly who: Identity;
  readonly id?: string;
}

/**
 * One kind of cloud resource. A provider writes these calls; find-or-create, adoption, waiting,
 * ownership checks and error protocol around them are done once, by src/dynamic.
 */
export interface ResourceHandler {
  /** How fast resources of the kind are, where that is not as the cloud is in general. */
  readonly timing?: KindTiming;
  /**
   * Inputs that the cloud cannot show. What is recorded of them counts, whatever `spec` of an observed resource has:
   * they never drift, and `capstan drift` says that they were not checked.
   */
  readonly unobservable?: readonly string[];
  /**
   * Inputs that hold secrets: encrypted in records and never shown. Of hosts, the fields whose schema in the Machine's object says
   * `writeOnly` are such inputs without being named here.
   */
  readonly secretInputs?: readonly string[];
  /** Members of `status` that are secrets. What takes one by a Ref holds a secret as well. */
  readonly secretOutputs?: readonly string[];
  /**
   * The cloud answers a create under a token that it knows with what that once made, also when that is gone. What is lost of
   * such a kind is made again under another name, and so under another token.
   */
  readonly tokensLast?: true;
  /**
   * By `id` when it is known, otherwise by identity tags, then by token. Throws retryable errors
   * only; what it cannot find out is `unknown`.
   */
  locate(ctx: CallContext, who: Identity, id?: string): Promise<Presence>;
  /**
   * The same for many, in their order: asked for what a listing did not show. Without it `locate` is asked for each of
   * them, several at a time.
   */
  locateMany?(ctx: CallContext, wanted: readonly Wanted[]): Promise<readonly Presence[]>;
  /** Makes one resource and returns as soon as its id exists; never waits for readiness. */
  create(ctx: CreateContext, who: Identity, spec: JsonObject): Promise<Observed>;
  /**
   * What became of an operation that a create, an update or a removal was answered with. Only looks; throws what it cannot find
   * out. Asked while the cloud shows nothing of a recorded resource: it is gone only once that operation is done.
   */
  poll?(ctx: CallContext, operation: string): Promise<OperationState>;
  /**
   * Changes what `verdict` called in place. Without it every change is a replacement. Called again after a failure, or by whoever
   * comes after an engine that was killed in it, with what the cloud shows by then: it goes on from there until the resource
   * runs. So `current` may be stopped and have all of `spec`, as when a start alone is missing. Returns once the cloud has accepted
   * the last call; phase "failed" in its answer says that the change is done and the resource will not run, phase "stopped" that
   * `start` is still to be called.
   */
  update?(ctx: CallContext, current: Observed, spec: JsonObject): Promise<Observed>;
  /**
   * Makes a resource of phase "stopped" run, whoever has stopped it, and changes nothing else. Returns once the cloud has accepted it.
   * Success also when it runs already. Without it no resource of the kind is ever shown as stopped.
   */
  start?(ctx: CallContext, current: Observed): Promise<Observed>;
  /**
   * Removes it. Success also when it is gone already. Ownership was checked by the caller. Returns once the cloud has accepted it, with
   * its operation where the cloud may still refuse it: `poll` is asked of that while the resource shows, and is not called again as long as it runs.
   */
  remove(ctx: CallContext, current: Observed): Promise<RemovalAnswer>;
  /**
   * Takes our marks off and leaves it as it is. To us it is gone from then on: `locate` answers none, by id, marks
   * and token, and no listing shows it. Success also when it is gone, or has none. Ownership was checked by the
   * caller. Without it nothing of the kind can be let go (`capstan state forget`).
   */
  disown?(ctx: CallContext, current: Observed): Promise<void>;
  /**
   * Whatever has this id and is of this kind, whether it bears marks or not, with its spec in the shape of the inputs;
   * undefined where the cloud positively has none. Never lags, and changes nothing. Throws what it cannot find out.
   */
  find?(ctx: CallContext, id: string): Promise<Found | undefined>;
  /**
   * Puts our marks on what bears none, and changes nothing else. From then on `locate` answers it by id and by marks,
   * and listings show it; the token of a create does not have to lead to it. Success also when it bears these marks
   * already. Refuses what bears others: the caller has looked, but somebody may have been faster. Nothing of a kind
   * without `find`, `mark` and `disown` can be imported (`capstan import`).
   */
  mark?(ctx: CallContext, current: Found, who: Identity): Promise<void>;
}

/**
 * Which cloud answers, for ever: account, region and endpoint, or whatever tells it from every other one
 * that the same code could talk to. Flat, texts only, no secret, and nothing that changes while it is the
 * same cloud.
 */
export type CloudIdentity = Readonly<Record<string, string>>;

/** The scope of a listing: one life of a cluster, or every life of the name when no uid is given. */
export interface InventoryScope {
  readonly cluster: string;
  readonly clusterUid?: string;
}

/** A machine as a provider sees it. */
export interface MachineToCompile {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly spec: MachineSpec;
  /** spec.providerSpec.value, valid against the provider's schema. */
  readonly providerSpec: JsonObject;
  /** What `resolve` has answered for it; empty where it was not asked. */
  readonly lookedUp: JsonObject;
}

/** What is looked up before anything is compiled. Data, the same for all templates that ask the same. */
export type LookupQuestion =
  /** About machines with this providerSpec.value, in a cluster with this one. */
  | {
      readonly kind: "machine";
      readonly providerSpec: JsonObject;
      readonly clusterSpec: JsonObject;
    }
  /** About what machines share. */
  | { readonly kind: "cluster"; readonly clusterSpec: JsonObject };

/** Fields of the provider's objects that questions hold. An object that is left out asks nothing by its fields. */
export interface LookupInputs {
  /** Of a Machine's: one that has none of them is not asked about. */
  readonly machine?: readonly string[];
  /** Of the Cluster's: with none of them the cluster is not asked about. */
  readonly cluster?: readonly string[];
  /** Further ones of the Cluster's, of which only questions about the cluster itself tell: a change of them asks no machine anew. */
  readonly clusterOnly?: readonly string[];
}

/** Answers by the digest of their questions. */
export type Lookups = Readonly<Record<string, JsonObject>>;

/** A resource of one machine alone: a volume, an address, its place behind a load balancer. */
export interface Satellite {
  readonly kind: string;
  /** Unique among those of its kind and machine, and the same for ever. */
  readonly name: string;
  /**
   * May hold Refs at any depth: to the infrastructure, and to the host, which goes by the machine's name here. It is
   * made after what it refers to, and goes before.
   */
  readonly spec: JsonObject;
  /** What becomes of it when its host goes: deleted, or kept in the cloud without our marks. "delete" without. */
  readonly whenHostGoes?: "delete" | "keep";
}

/** The provider's part of the graph: what the cluster needs, and one host for each machine. */
export interface CompiledParts {
  /** Shared infrastructure; edges by Ref and dependsOn. */
  readonly infrastructure: readonly GraphNode[];
  /** Inputs of each machine's host, keyed by machine name; may hold Refs to the infrastructure. */
  readonly hosts: ReadonlyMap<string, JsonObject>;
  /** What lives with each machine's host, keyed by machine name. A host serves once all of it is ready. */
  readonly satellites?: ReadonlyMap<string, readonly Satellite[]>;
}

/** Where an API server answers: a DNS name or an address. */
export interface ApiEndpoint {
  readonly host: string;
  readonly port: number;
}

/** What a plan is about to do to one resource, for who looks before the first change. */
export interface PlannedStep {
  readonly does: "create" | "update" | "delete";
  readonly kind: string;
  readonly name: string;
  /** What is to be deleted or changed, as it is recorded. */
  readonly current?: { readonly id: string; readonly spec: JsonObject };
  /** The inputs that it is to have; unknown values (src/api/unknown) for what other resources will tell. */
  readonly wanted?: JsonObject;
}

/** A cloud resource that a cluster has once a plan is carried out, whether or not the plan changes it. */
export interface PlannedResource {
  readonly kind: string;
  readonly name: string;
  /** Of a resource that has been created. */
  readonly id?: string;
  /** Its inputs after the plan; unknown values (src/api/unknown) for what other resources will tell. */
  readonly spec: JsonObject;
}

/** What stands against a plan. */
export interface PreflightFinding {
  /** QUOTA, PERMISSION or another one: what the first call that fails would throw. */
  readonly code: ErrorCode;
  /** One sentence: "64 vCPUs are needed, 32 are left in eu-north-1". */
  readonly message: string;
  /** The next action. */
  readonly hint?: string;
  /** "warning": it may go well. Without, the plan is not carried out. */
  readonly severity?: "warning";
}

/** The two calls of a provider that knows what controllers leave. It has both or neither. */
export interface LeftoverCalls {
  /**
   * What is left of a cluster's controllers, lowest wave first. Only looks. Throws when it cannot see all of it.
   */
  leftovers(ctx: CallContext, scope: LeftoverScope): Promise<readonly Leftover[]>;
  /**
   * Removes one of them; returns once that is accepted. Whether it still is of this scope is looked at right before, and
   * NOT_OURS is thrown if it is not. Success also when it is gone. IN_USE while something else uses it.
   */
  removeLeftover(ctx: CallContext, scope: LeftoverScope, leftover: Leftover): Promise<void>;
}

/** A cloud. See docs/adr/0004 for the division of labour. */
export interface InfrastructureProvider extends ProviderSpecs, Partial<LeftoverCalls> {
  /** Kind of the resource that is a machine's host. */
  readonly hostKind: string;
  /** How fast the cloud is at its slowest; `defaultTiming` without. */
  readonly timing?: CloudTiming;
  /**
   * How many calls the account takes: those of all kinds, listings and looks together wait for their turn. A call
   * counts once, however often it asks its cloud. As many as there are without.
   */
  readonly calls?: CallRate;
  /** What its hosts take at their first start; without it they take no user data. */
  readonly userData?: UserDataTerms;
  /** Every kind that the provider puts into graphs. */
  readonly handlers: ReadonlyMap<string, ResourceHandler>;
  /**
   * Inputs that people look at first, by kind: what a resource costs and where it is. Plans show them of what
   * they create; without, all inputs with `--details` alone.
   */
  readonly keyInputs?: Readonly<Record<string, readonly string[]>>;
  /**
   * Pure. Throws nothing; specs were validated against the schemas before. `lookedUp` is what `resolve` has answered
   * for the cluster; empty where it was not asked. Which external nodes there are depends on the cluster alone.
   */
  compile(
    cluster: ClusterObject,
    providerSpec: JsonObject,
    machines: readonly MachineToCompile[],
    lookedUp?: JsonObject,
  ): CompiledParts;
  /** Pure. Unknown values (src/api/unknown) never compare as equal. */
  verdict(kind: string, recorded: JsonObject, wanted: JsonObject): Verdict;
  /**
   * Pure. What a host may be instead where the cloud has no room for it, best first: inputs like those given, which may
   * hold Refs. A create that fails with CAPACITY is made with the next of them, under the same identity and token, and a
   * host that is like one of them counts as it is wanted. Without it there is none.
   */
  alternatives?(host: JsonObject): readonly JsonObject[];
  /** Pure. The inputs that cannot change in place: they name a new generation. */
  generationInputs(kind: string, spec: JsonObject): JsonObject;
  /** Everything that carries our marks in the scope, gone resources included while the cloud shows them. */
  inventory(ctx: CallContext, scope: InventoryScope): Promise<readonly Observed[]>;
  /**
   * Everything that carries marks of ours, of whatever cluster, as `inventory` would show it. Throws
   * when it cannot list all of it. A provider without it cannot be swept.
   */
  owned?(ctx: CallContext): Promise<readonly Observed[]>;
  /**
   * Which cloud the credentials in use lead to. Asked before anything is looked at or changed, so it should
   * remember its answer as long as these stay the same. Throws when it cannot tell. Of a provider without
   * it nobody can tell a wrong cloud from an empty one.
   */
  identity?(ctx: CallContext): Promise<CloudIdentity>;
  /**
   * What stands against a plan before anything is changed: quotas and rights that the credentials can look up. Only
   * looks. Asked with the steps of each plan that changes something, in their order, the providerSpec of its Cluster, and
   * every resource of the cluster after the plan; an error counts as a warning.
   */
  preflight?(
    ctx: CallContext,
    steps: readonly PlannedStep[],
    clusterSpec: JsonObject,
    planned: readonly PlannedResource[],
  ): Promise<readonly PreflightFinding[]>;
  /**
   * Looks up what no manifest says: the newest image of a family, networks by a filter. Only reads. The answer is a
   * flat object that `compile` is given; it is pinned with the target, so a question that has a recorded answer is
   * not asked again until somebody wants it to be. Throws what it cannot find out.
   */
  resolve?(ctx: CallContext, question: LookupQuestion): Promise<JsonObject>;
  /** What of the provider's objects questions hold; all of both without. */
  readonly lookupInputs?: LookupInputs;
  /**
   * Pure. Where the API servers of a cluster answer, told by its shared resources and the provider's object of the
   * Cluster; none as long as nobody can tell.
   */
  apiEndpoints?(
    infrastructure: readonly Observed[],
    clusterSpec: JsonObject,
  ): readonly ApiEndpoint[];
  /**
   * The same provider with the credentials that the provider's object of a Cluster names, for all calls about that
   * cluster; undefined where it names none. Looks at nothing. The same credentials give the same provider, which goes
   * on as long as the one that gave it. Calls without a spec (locate, remove, listings) get account, project and region from here.
   */
  forCluster?(clusterSpec: JsonObject): InfrastructureProvider | undefined;
  /** Lets go of what it holds open. Called once, at the end of a command. */
  close?(): void;
}

/** What a provider that is loaded from outside is given. */
export interface ProviderContext {
  /** Absolute path of the folder that holds the state; a provider may keep files of its own there. */
  readonly stateDir: string;
  readonly clock: Clock;
  /** The environment of the process: where credentials are found. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a module named by `capstan.providers` exports: a provider, or a function that makes one. */
export type ProviderModule =
  InfrastructureProvider | ((context: ProviderContext) => InfrastructureProvider);

/** How fast a cloud is at its slowest. */
export interface CloudTiming {
  /** How long after a change listings may still show what was before, milliseconds. */
  readonly listingLagMs: number;
  /** How long after its caller died a call may still take effect, milliseconds. */
  readonly longestCallMs: number;
  /** How long something that was just made may take until other calls can use it, milliseconds. 2 minutes without. */
  readonly usableWithinMs?: number;
}

/** How fast resources of one kind are. */
export interface KindTiming {
  /**
   * The most between two looks at a resource that is waited for, milliseconds; the first ones follow each other
   * faster. 1 second without.
   */
  readonly pollMs?: number;
}

/** How many calls an account takes. */
export interface CallRate {
  readonly perSecond: number;
  /** How many at once after a while without any; 1 or more. */
  readonly burst: number;
}
