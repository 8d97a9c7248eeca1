import { counted } from "../../api/counted.js";
import { type CapstanError, isCapstanError } from "../../api/error.js";
import { providerValue } from "../../api/types.js";
import { type HostKeys, keysAt, trustedPem } from "../../bootstrap/certificates/key-ring.js";
import { deliveryOf, secretNameOf, termsFor } from "../../bootstrap/host/delivery.js";
import { hostBootstrap } from "../../bootstrap/host/host-bootstrap.js";
import { caCertHashesOf, roleWith } from "../../bootstrap/host/host-secrets.js";
import { hostSettings } from "../../bootstrap/host/machine-settings.js";
import { type BootstrapKind, bootstrapKindOf } from "../../bootstrap/host/member-role.js";
import { newBootstrapToken } from "../../bootstrap/tokens/bootstrap-token.js";
import { identityOf, machineToCompile } from "../../compile/compile.js";
import type { HostBootstrapper } from "../../dynamic/host-bootstrapper.js";
import { mapBounded } from "../../provider/bounded.js";
import { joiningTerms } from "../../provider/joining-terms.js";
import { keyOf, nodeKey, type NodeKey, nodeName } from "../../graph/graph.js";
import type {
  ApiEndpoint,
  CallContext,
  Identity,
  InfrastructureProvider,
  Observed,
  SecretStore,
  UserData,
  UserDataTerms,
} from "../../provider/port.js";
import { hostMachines } from "../../records/host-machine.js";
import type { PriorState } from "../../records/prior-state.js";
import { stageOfHost } from "../../records/recorded-keys.js";
import {
  clusterIn,
  keepsControlPlane,
  livingWith,
  type Target,
  type TargetMachine,
} from "../../records/target.js";
import {
  configureSettled,
  configureToJoin,
  membersOf,
  settledControlPlane,
} from "./control-plane-settings.js";
import { controlPlaneLost, noEndpoint, noKeys } from "./bootstrap-refusals.js";
import { consolesOf } from "./host-consoles.js";
import type { Observation } from "./observe.js";
import { presentAmong } from "../../plan/observation.js";
import { hostsToProve, unprovenAmong, withPending } from "./joining-hosts.js";
import { LeavingMembers } from "./leaving-members.js";
import { OwedCalls } from "./owed-calls.js";
import { nodeHostOf } from "./node-host.js";
import type { RunEvent } from "./run-event.js";
import { RunWorkload } from "./run-workload.js";
import type { OpenWorkload, WorkloadCluster } from "./workload-cluster.js";

/** How long a token is good for the one host that it was made for. */
const tokenTtlMs = 15 * 60_000;
/** How long the API server is asked at the end to take no token any more that nobody needs; it expires all the same. */
const revokeTimeoutMs = 30_000;
/** As in Cluster API. Source: docs/cluster-api.md#deletion. */
const nodeDeletionTimeoutSeconds = 10;
/** An API server that does not answer holds up a look at its hosts, so it is not asked at every one. */
const silenceMs = 30_000;
/** As many as an API server and a store answer without asking to slow down. */
const settlesAtATime = 8;

/** What hosts are made from. */
interface BootstrapRequest {
  readonly provider: InfrastructureProvider;
  readonly terms: UserDataTerms;
  readonly target: Target;
  readonly openWorkload: OpenWorkload;
  readonly report: (event: RunEvent) => void;
}

/** Whoever has no way to ask clusters makes no host. */
type Means = Pick<BootstrapRequest, "provider" | "report"> &
  Partial<Pick<BootstrapRequest, "openWorkload">>;

/** What a host does first, and where its cluster answers. */
interface HostPlace {
  readonly kind: BootstrapKind;
  readonly endpoint: ApiEndpoint;
}

interface HostToMake {
  readonly machine: TargetMachine;
  readonly keys: HostKeys;
}

type TokensOf = (host: Identity) => Promise<WorkloadCluster>;

/**
 * What one run gives to the hosts that it makes, and takes back from them once they are nodes: user data, tokens
 * and what a store keeps. Nothing of it is recorded: whoever comes after a crash finds tokens by their host, and
 * secrets by their name. Source: docs/adr/0020.
 */
export class RunBootstrap {
  /** How the cluster is reached. */
  readonly workload: RunWorkload;
  /** How members leave its etcd. */
  readonly members: LeavingMembers;
  /** When the token of each host has to be extended, milliseconds since the epoch; at once where it was made before. */
  private readonly extendAtMs = new Map<string, number>();
  /** Hosts that this run has let begin a cluster. */
  private readonly tokenless = new Set<string>();
  private readonly settled = new Set<string>();
  private announced: Promise<void> | undefined;
  /** Hosts, by their tokens, of which their cluster has shown Nodes. */
  private readonly joined = new Set<string>();
  /** Hosts that run, and of which nobody could say at the last look whether they have joined, each with why. */
  unproven: ReadonlyMap<NodeKey, string> = new Map();
  /** Nodes of hosts that this run deletes, and tokens of hosts that have joined. */
  readonly owed = new OwedCalls();

  private constructor(private readonly request: BootstrapRequest) {
    const { target, terms, provider } = request;
    this.workload = new RunWorkload(request);
    const { hostKind } = provider;
    this.members = new LeavingMembers({ target, hostKind, terms, workload: this.workload });
  }

  /** Of a provider whose hosts take user data, for whoever may ask their clusters. */
  static of(target: Target, { provider, openWorkload, report }: Means): RunBootstrap | undefined {
    if (openWorkload === undefined) return undefined;
    const terms = joiningTerms(provider, providerValue(clusterIn(target).spec));
    return terms && new RunBootstrap({ provider, terms, target, openWorkload, report });
  }

  /** As the bridge asks for it in one pass, by the records as they are when it asks. */
  over(records: () => PriorState): HostBootstrapper {
    // A worker has no more to ask than where to join: a thousand of them do not list the cluster a thousand times.
    let endpoint: ApiEndpoint | undefined;
    return {
      userDataFor: async (ctx, who) => {
        const machine = this.machineOf(who);
        const keys = keysIn(records(), who);
        const place: HostPlace =
          endpoint === undefined || machine.controlPlane
            ? await this.placeOf(ctx, who, machine, records())
            : { kind: "joinWorker", endpoint };
        endpoint = place.endpoint;
        return this.userDataFor(ctx, who, { machine, keys, ...place });
      },
      release: (ctx, resource) => this.release(ctx, resource, records()),
      forget: (ctx, resource) => this.forgetNode(ctx, resource, records()),
    };
  }

  private machineOf({ kind, name }: Identity): TargetMachine {
    const { machines } = this.request.target;
    const machine = machines.find(({ host }) => host === nodeKey(kind, name));
    if (machine === undefined) throw new Error(`no machine of the target has host ${name}`);
    return machine;
  }

  /** By the cloud as it is now. */
  private async placeOf(
    ctx: CallContext,
    who: Identity,
    { controlPlane }: TargetMachine,
    records: PriorState,
  ): Promise<HostPlace> {
    const observed = await this.workload.listed(ctx, who);
    const endpoint = this.workload.endpointAmong(observed);
    if (endpoint === undefined) throw noEndpoint(who);
    const beside = this.members.beside(who.name, observed, records);
    const kind = bootstrapKindOf({ controlPlane, ...beside });
    if (kind === "lost") throw controlPlaneLost(who);
    return { kind, endpoint };
  }

  /**
   * Made for one create. Throws NOT_FOUND where the cluster's keys are not known, CONTROL_PLANE_LOST for a member
   * that would begin a second cluster, a retryable error while nobody can tell the endpoint or no token is to be had,
   * and what the store refuses.
   */
  private async userDataFor(
    ctx: CallContext,
    who: Identity,
    { machine, keys, kind, endpoint }: HostPlace & HostToMake,
  ): Promise<UserData> {
    const { target, provider } = this.request;
    const cluster = clusterIn(target);
    const terms = termsFor(cluster, this.request.terms);
    const token = await this.tokenFor(kind, ctx, who, { machine, endpoint, keys });
    const settings = hostSettings({
      cluster,
      machine: machineToCompile(provider, machine),
      members: membersOf({ provider, target }),
      terms,
      endpoint,
      role: roleWith(kind, {
        keys,
        token,
        caCertHashes: caCertHashesOf(keys),
      }),
    });
    const { userData, secret } = deliveryOf(hostBootstrap(settings), terms, who.token);
    if (secret !== undefined) {
      const host = { who, controlPlane: machine.controlPlane };
      await ctx.assertEngineAlive();
      await terms.secrets?.put(ctx, secret.name, secret.content, host);
    }
    return userData;
  }

  private async tokenFor(
    kind: BootstrapKind,
    ctx: CallContext,
    who: Identity,
    at: Pick<HostPlace, "endpoint"> & HostToMake,
  ): Promise<string> {
    const { clock } = ctx;
    if (kind === "init") {
      this.tokenless.add(who.token);
      return newBootstrapToken();
    }
    const cluster = await this.workload.at(who, at, clock);
    await this.announce(cluster, at.keys);
    if (kind === "joinControlPlane") {
      await this.members.removeDead(ctx, cluster);
      await this.members.removeIll(ctx, at.machine, cluster);
      // The host reads it when it joins, whatever the members before it were made with.
      const { endpoint } = at;
      this.tell(await configureToJoin(cluster, { ...this.request, endpoint }, at.machine));
    }
    const nowMs = clock.now();
    const token = await cluster.issue(who, nowMs + tokenTtlMs);
    this.extendAtMs.set(who.token, nowMs + tokenTtlMs / 2);
    return token;
  }

  private tell(what: string | undefined): void {
    if (what !== undefined) this.request.report({ kind: "configured", what });
  }

  /**
   * Of a cluster that has reached its target: the ConfigMap kubeadm-config says what its members have, and then kube-proxy and
   * CoreDNS follow. Throws API_SERVER, and as `RunWorkload.among` does.
   */
  async settleControlPlane(
    ctx: CallContext,
    observation: Pick<Observation, "observedResources">,
    records: PriorState,
  ): Promise<void> {
    const { target } = this.request;
    const hosts = presentAmong(
      target.machines.map(({ host }) => host),
      observation,
    );
    const [first] = hosts.values();
    const present = [...observation.observedResources.values()].filter((one) => one !== "gone");
    const endpoint = this.workload.endpointAmong(present);
    if (first === undefined || endpoint === undefined) return;
    const settled = settledControlPlane({ ...this.request, endpoint });
    if (settled === undefined) return;
    const cluster = await this.workload.beside(observation, first, records, ctx);
    await configureSettled(cluster, settled, (what) => this.tell(what));
  }

  /** Nodes of these hosts bear what their Machines ask for, and bore something else before. */
  reportMarks(hosts: readonly NodeKey[]): void {
    if (hosts.length === 0) return;
    const names = hosts.map((key) => nodeName(key)).join(", ");
    const what = `labels, annotations and taints written to ${counted(hosts.length, "Node")}: ${names}`;
    this.request.report({ kind: "configured", what, hosts });
  }

  /** Objects of the cluster stay as they are until the next command. */
  reportUnsettled({ message: reason }: CapstanError): void {
    this.request.report({ kind: "unconfigured", reason });
  }

  /** Hosts find there whom to trust: once in a run, whose hosts are all made with the same keys. */
  private announce(cluster: WorkloadCluster, keys: HostKeys): Promise<void> {
    this.announced ??= cluster.announce(trustedPem(keys, "ca")).catch((error: unknown) => {
      this.announced = undefined;
      throw error;
    });
    return this.announced;
  }

  /**
   * For some hosts: what was made for those that serve, or are not wanted any more, is deleted, and tokens of the
   * others stay good. What fails is tried again, a token at the end of the run, and nothing depends on it: tokens expire,
   * and a secret goes at the latest with its host.
   */
  async settle(
    ctx: CallContext,
    observation: Observation,
    keys: readonly NodeKey[],
    records: PriorState,
  ): Promise<void> {
    const observed = [...observation.observedResources.values()].filter((one) => one !== "gone");
    const tokensOf = (who: Identity) => this.workload.among(observed, who, records, ctx);
    const wanted = new Set(this.request.target.machines.map(({ host }) => host));
    const hosts = [...presentAmong(keys, observation)].filter(
      ([, { who }]) => who.kind === this.request.provider.hostKind,
    );
    await mapBounded(hosts, settlesAtATime, async ([key, { who }]) => {
      const isAwaited = wanted.has(key) && !this.serves(key, observation);
      try {
        await (isAwaited
          ? this.extend(ctx, who, tokensOf)
          : this.forget(ctx, who, tokensOf, records));
      } catch (error) {
        if (!isCapstanError(error)) throw error;
      }
    });
  }

  /** A host that runs may still be reading what it was told: a first member answers behind its load balancer once it has. */
  private serves(host: NodeKey, observation: Pick<Observation, "observedResources">): boolean {
    const parts = [host, ...livingWith([host], this.request.target)];
    const present = presentAmong(parts, observation);
    return parts.every((key) => present.get(key)?.phase === "ready");
  }

  /**
   * A look at the cloud, in which hosts that run and have not joined are on their way. Only their cluster can tell; what it does not
   * answer is no proof.
   */
  async asJoined(
    ctx: CallContext,
    observation: Observation,
    records: PriorState,
  ): Promise<Observation> {
    const { provider, target } = this.request;
    const { hostKind } = provider;
    const toProve = hostsToProve({ target, records, hostKind }, observation);
    const waiting = [...toProve.values()].filter(
      ({ who }) => !this.tokenless.has(who.token) && !this.joined.has(who.token),
    );
    const [first] = waiting;
    this.unproven = new Map();
    if (first === undefined) return observation;
    try {
      const cluster = await this.workload.beside(observation, first, records, ctx);
      const nodes = await cluster.nodes(waiting.map(nodeHostOf));
      for (const { who } of waiting) if (nodes.has(who.name)) this.joined.add(who.token);
    } catch (error) {
      if (!isCapstanError(error)) throw error;
      this.unproven = unprovenAmong(waiting);
    }
    const pending = waiting.filter(({ who }) => !this.joined.has(who.token));
    return withPending(observation, new Set(pending.map(({ who }) => keyOf(who))));
  }

  /** For all hosts that the last revision does not have. */
  settleNew(ctx: CallContext, observation: Observation, records: PriorState): Promise<void> {
    const { hostKind } = this.request.provider;
    this.members.noteLook(observation, records);
    const before = new Set(records.revision?.target.machines.map(({ host }) => host));
    const added = [...observation.observedResources].flatMap(([key, observed]) =>
      observed !== "gone" && observed.who.kind === hostKind && !before.has(key) ? [key] : [],
    );
    return this.settle(ctx, observation, added, records);
  }

  /**
   * At the end of a run, when its hosts have joined: no token is good any more that no host of the target still waits with. What an API
   * server was too busy to take back by then goes here, also for a run before, and what was made for a host that never came to be.
   * Throws API_SERVER, and as `RunWorkload.among` does.
   */
  async revokeOthers(
    ctx: CallContext,
    observation: Pick<Observation, "observedResources">,
    records: PriorState,
  ): Promise<void> {
    const { target } = this.request;
    if (records.transaction?.keys === undefined || !keepsControlPlane(target)) return;
    const wanted = target.machines.map(({ host }) => host);
    const hosts = [...presentAmong(wanted, observation)];
    const [first] = hosts;
    if (first === undefined) return;
    const cluster = await this.workload.beside(observation, first[1], records, ctx);
    const awaited = hosts.filter(([key]) => !this.serves(key, observation));
    await cluster.revokeOthers(awaited.map(([, { who }]) => who));
  }

  /** What hosts that do not become nodes have printed last, by host. */
  printedBy(
    ctx: CallContext,
    observation: Observation,
    keys: readonly NodeKey[],
  ): Promise<ReadonlyMap<NodeKey, string>> {
    return consolesOf(presentAmong(keys, observation), this.request.terms, ctx);
  }

  private async forget(
    ctx: CallContext,
    who: Identity,
    tokensOf: TokensOf,
    records: PriorState,
  ): Promise<void> {
    if (this.settled.has(who.token)) return;
    await this.deleteSecret(ctx, who, records);
    // Where no control plane is to be left, its API server is not asked for anything.
    if (keepsControlPlane(this.request.target) && !this.tokenless.has(who.token)) {
      const call = async () => (await tokensOf(who)).revoke(who);
      await this.owed.tryOnce({ timeoutMs: revokeTimeoutMs, call }, ctx);
    }
    this.extendAtMs.delete(who.token);
    this.settled.add(who.token);
  }

  private async extend({ clock }: CallContext, who: Identity, tokensOf: TokensOf): Promise<void> {
    const nowMs = clock.now();
    if (this.tokenless.has(who.token) || nowMs < (this.extendAtMs.get(who.token) ?? 0)) return;
    this.extendAtMs.set(who.token, nowMs + silenceMs);
    await (await tokensOf(who)).extend(who, nowMs + tokenTtlMs);
    this.extendAtMs.set(who.token, nowMs + tokenTtlMs / 2);
  }

  /**
   * What an open transaction may have kept for hosts that it never made, or that its successor does not want: their
   * names stand in its record alone. Throws what the store refuses.
   */
  async forgetUnmade(ctx: CallContext, records: PriorState): Promise<void> {
    const { terms, target, provider } = this.request;
    const { transaction } = records;
    if (transaction === undefined || terms.secrets === undefined) return;
    // Of what is wanted, put comes before anything else; a cluster that does without a store puts nothing.
    const puts = termsFor(clusterIn(target), terms).secrets !== undefined;
    const wanted = new Set(puts ? target.machines.map(({ host }) => host) : []);
    const { clusterUid, target: before } = transaction;
    const unwanted = before.nodes.filter(
      (node) => node.kind === provider.hostKind && !wanted.has(keyOf(node)),
    );
    for (const { kind, name } of unwanted) {
      await this.deleteSecret(ctx, identityOf(clusterIn(before), clusterUid, kind, name), records);
    }
  }

  /** Before a host goes: what a store keeps for it, and its member of etcd. Throws what the store refuses, and as `LeavingMembers.release` does. */
  private async release(ctx: CallContext, host: Observed, records: PriorState): Promise<void> {
    await this.deleteSecret(ctx, host.who, records);
    await this.members.release(ctx, host, records);
  }

  private async forgetNode(
    ctx: CallContext,
    host: Pick<Observed, "who" | "status">,
    records: PriorState,
  ): Promise<void> {
    const { who } = host;
    const { target } = this.request;
    if (who.kind !== this.request.provider.hostKind || !keepsControlPlane(target)) return;
    const { heldAs } = records.transaction ?? {};
    const { deletion } = hostMachines(target, records, { heldAs })(keyOf(who)) ?? {};
    const seconds = deletion?.nodeDeletionTimeoutSeconds ?? nodeDeletionTimeoutSeconds;
    // 0: as long as any deletion may take.
    const timeoutMs = seconds === 0 ? Number.POSITIVE_INFINITY : seconds * 1_000;
    const call = async (now: CallContext) => {
      const cluster =
        this.workload.current ??
        this.workload.among(await this.workload.listed(now, who), who, records, now);
      await (await cluster).deleteNode(nodeHostOf(host));
    };
    await this.owed.tryOnce({ timeoutMs, call }, ctx);
  }

  /** What a store keeps for a host, before the host is deleted or once it is a node. Throws what the store refuses. */
  private async deleteSecret(ctx: CallContext, who: Identity, records: PriorState): Promise<void> {
    const store = this.storeSince(records);
    if (store === undefined || who.kind !== this.request.provider.hostKind) return;
    await ctx.assertEngineAlive();
    await store.delete(ctx, secretNameOf(who.token), who);
  }

  /**
   * The store of the cluster as it is to be, or as it was while a host that is recorded was made. One that never had one is
   * not asked: whoever does without may have no right to it.
   */
  private storeSince({ transaction, revision }: PriorState): SecretStore | undefined {
    const { terms, target } = this.request;
    const all = [target, transaction?.target, revision?.target];
    const clusters = all.flatMap((one) => (one === undefined ? [] : [clusterIn(one)]));
    return clusters.flatMap((cluster) => termsFor(cluster, terms).secrets ?? [])[0];
  }
}

function keysIn(records: PriorState, who: Identity): HostKeys {
  const { kind, name } = who;
  const keys = keysAt(records.transaction?.keys, stageOfHost(records, nodeKey(kind, name)));
  if (keys === undefined) throw noKeys(who);
  return keys;
}
