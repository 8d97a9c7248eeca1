import { CapstanError, isCapstanError } from "../../api/error.js";
import { providerValue } from "../../api/types.js";
import { publicKeyHash } from "../../bootstrap/certificates/certificate.js";
import type { ClusterKeys } from "../../bootstrap/certificates/cluster-keys.js";
import { deliveryOf, secretNameOf } from "../../bootstrap/host/delivery.js";
import { hostBootstrap } from "../../bootstrap/host/host-bootstrap.js";
import { roleWith } from "../../bootstrap/host/host-secrets.js";
import { hostSettings } from "../../bootstrap/host/machine-settings.js";
import { type BootstrapKind, bootstrapKindOf } from "../../bootstrap/host/member-role.js";
import { endpointText } from "../../bootstrap/kubeadm/settings.js";
import { newBootstrapToken } from "../../bootstrap/tokens/bootstrap-token.js";
import { identityOf, machineToCompile } from "../../compile/compile.js";
import type { HostBootstrapper } from "../../dynamic/cloud-resource.js";
import { mapBounded } from "../../provider/bounded.js";
import { joiningTerms } from "../../provider/joining-terms.js";
import { keyOf, type NodeKey, nodeKey } from "../../graph/graph.js";
import type {
  ApiEndpoint,
  CallContext,
  Identity,
  InfrastructureProvider,
  Observed,
  UserData,
  UserDataTerms,
} from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { clusterIn, type Target, type TargetMachine } from "../../records/target.js";
import { consolesOf } from "./host-consoles.js";
import type { Observation } from "./observe.js";
import { membersAmong } from "./member-hosts.js";
import type { OpenTokens, TokenStore } from "./token-store.js";

/** How long a token is good for the one host that it was made for. */
const tokenTtlMs = 15 * 60_000;
/** As many as an API server and a store answer without asking to slow down. */
const settlesAtATime = 8;

/** What hosts are made from. */
interface BootstrapRequest {
  readonly provider: InfrastructureProvider;
  readonly terms: UserDataTerms;
  readonly target: Target;
  readonly openTokens: OpenTokens;
}

/** What a host does first, and where its cluster answers. */
interface HostPlace {
  readonly kind: BootstrapKind;
  readonly endpoint: ApiEndpoint;
}

interface HostToMake {
  readonly machine: TargetMachine;
  readonly keys: ClusterKeys;
}

/**
 * What one run gives to the hosts that it makes, and takes back from them once they are nodes: user data, tokens
 * and what a store keeps. Nothing of it is recorded: whoever comes after a crash finds tokens by their host, and
 * secrets by their name. Source: docs/adr/0020.
 */
export class RunBootstrap {
  private tokens: { readonly server: string; readonly store: TokenStore } | undefined;
  /** When the token of each host has to be extended, milliseconds since the epoch. */
  private readonly extendAtMs = new Map<string, number>();
  private readonly settled = new Set<string>();

  private constructor(private readonly request: BootstrapRequest) {}

  /** Of a provider whose hosts take user data. */
  static of(
    target: Target,
    { provider, openTokens }: Pick<BootstrapRequest, "provider" | "openTokens">,
  ): RunBootstrap | undefined {
    const terms = joiningTerms(provider);
    return terms && new RunBootstrap({ provider, terms, target, openTokens });
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
      deleteSecret: (ctx, who) => this.deleteSecret(ctx, who),
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
    const { provider, target } = this.request;
    const { cluster, clusterUid } = who;
    const observed = await provider.inventory(ctx, { cluster, clusterUid });
    const endpoint = this.endpointIn(observed, who);
    const known = { target, records, hostKind: provider.hostKind, observed };
    const kind = bootstrapKindOf({ controlPlane, ...membersAmong(known, who.name) });
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
    const { terms, target } = this.request;
    const token = await this.tokenFor(kind, ctx, who, {
      server: `https://${endpointText(endpoint)}`,
      keys,
    });
    const settings = hostSettings({
      cluster: clusterIn(target),
      machine: machineToCompile(machine),
      terms,
      endpoint,
      role: roleWith(kind, {
        keys,
        token,
        caCertHashes: [publicKeyHash(keys.ca.certificatePem)],
      }),
    });
    const { userData, secret } = deliveryOf(hostBootstrap(settings), terms, who.token);
    if (secret !== undefined) {
      ctx.assertEngineAlive();
      await terms.secrets?.put(ctx, secret.name, secret.content);
    }
    return userData;
  }

  /** Of the resources of the target alone: another generation may stand beside them. */
  private endpointIn(observed: readonly Observed[], { cluster, name }: Identity) {
    const { provider, target } = this.request;
    const wanted = new Set(target.nodes.map(keyOf));
    const shared = observed.filter(
      ({ who, phase }) =>
        phase !== "gone" &&
        who.kind !== provider.hostKind &&
        wanted.has(nodeKey(who.kind, who.name)),
    );
    const clusterSpec = providerValue(clusterIn(target).spec);
    const [endpoint] = provider.apiEndpoints?.(shared, clusterSpec) ?? [];
    if (endpoint !== undefined) return endpoint;
    throw new CapstanError({
      code: "UNKNOWN_PRESENCE",
      source: "cloud",
      subject: name,
      message: `cannot tell host ${name} where the API server of ${cluster} answers: the cloud does not show it yet`,
      retryable: true,
    });
  }

  private async tokenFor(
    kind: BootstrapKind,
    { clock }: CallContext,
    who: Identity,
    { server, keys }: { readonly server: string; readonly keys: ClusterKeys },
  ): Promise<string> {
    if (kind === "init") return newBootstrapToken();
    const { openTokens } = this.request;
    if (this.tokens?.server !== server) {
      const access = { cluster: who.cluster, server, keys, clock };
      this.tokens = { server, store: await openTokens(access) };
    }
    const nowMs = clock.now();
    const token = await this.tokens.store.issue(who, nowMs + tokenTtlMs);
    this.extendAtMs.set(who.token, nowMs + tokenTtlMs / 2);
    return token;
  }

  /**
   * For some hosts: what was made for those that are nodes is deleted, and tokens of those that are not yet
   * stay good. What fails is tried again with the next look, and nothing depends on it: tokens expire, and a secret
   * goes at the latest with its host.
   */
  async settle(
    ctx: CallContext,
    observation: Observation,
    keys: readonly NodeKey[],
  ): Promise<void> {
    const hosts = [...hostsAmong(observation, keys).values()];
    await mapBounded(hosts, settlesAtATime, async ({ who, phase }) => {
      try {
        await (phase === "ready" ? this.forget(ctx, who) : this.extend(ctx, who));
      } catch (error) {
        if (!isCapstanError(error)) throw error;
      }
    });
  }

  /** For all hosts that the last revision does not have. */
  settleNew(ctx: CallContext, observation: Observation, { revision }: PriorState): Promise<void> {
    const before = new Set(revision?.target.machines.map(({ host }) => host));
    const hosts = this.request.target.machines.map(({ host }) => host);
    return this.settle(
      ctx,
      observation,
      hosts.filter((host) => !before.has(host)),
    );
  }

  /** What hosts that do not become nodes have printed last, by host. */
  printedBy(
    ctx: CallContext,
    observation: Observation,
    keys: readonly NodeKey[],
  ): Promise<ReadonlyMap<NodeKey, string>> {
    return consolesOf(hostsAmong(observation, keys), this.request.terms, ctx);
  }

  private async forget(ctx: CallContext, who: Identity): Promise<void> {
    if (this.settled.has(who.token)) return;
    await this.tokens?.store.revoke(who);
    await this.deleteSecret(ctx, who);
    this.extendAtMs.delete(who.token);
    this.settled.add(who.token);
  }

  private async extend({ clock }: CallContext, who: Identity): Promise<void> {
    const nowMs = clock.now();
    if (nowMs < (this.extendAtMs.get(who.token) ?? Infinity)) return;
    await this.tokens?.store.extend(who, nowMs + tokenTtlMs);
    this.extendAtMs.set(who.token, nowMs + tokenTtlMs / 2);
  }

  /**
   * What an open transaction may have kept for hosts that it never made, or that its successor does not want: their
   * names stand in its record alone. Throws what the store refuses.
   */
  async forgetUnmade(ctx: CallContext, { transaction }: PriorState): Promise<void> {
    const { terms, target, provider } = this.request;
    if (transaction === undefined || terms.secrets === undefined) return;
    const wanted = new Set(target.machines.map(({ host }) => host));
    const { clusterUid, target: before } = transaction;
    const unwanted = before.nodes.filter(
      (node) => node.kind === provider.hostKind && !wanted.has(keyOf(node)),
    );
    for (const { kind, name } of unwanted) {
      await this.deleteSecret(ctx, identityOf(clusterIn(before), clusterUid, kind, name));
    }
  }

  /** What a store keeps for a host, before the host is deleted or once it is a node. Throws what the store refuses. */
  private async deleteSecret(ctx: CallContext, who: Identity): Promise<void> {
    const {
      provider,
      terms: { secrets },
    } = this.request;
    if (secrets === undefined || who.kind !== provider.hostKind) return;
    ctx.assertEngineAlive();
    await secrets.delete(ctx, secretNameOf(who.token));
  }
}

function hostsAmong({ observedResources }: Observation, keys: readonly NodeKey[]) {
  return new Map(
    keys.flatMap((key) => {
      const observed = observedResources.get(key);
      return observed === undefined || observed === "gone" ? [] : [[key, observed] as const];
    }),
  );
}

function keysIn({ transaction }: PriorState, { cluster, name }: Identity): ClusterKeys {
  if (transaction?.keys !== undefined) return transaction.keys;
  throw new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: name,
    message: `cannot make host ${name} a node: the state of ${cluster} holds no keys`,
    hint: "it was adopted without them: they are in a backup, if there is one, for capstan up --adopt --certificates",
  });
}

function controlPlaneLost({ cluster, name }: Identity): CapstanError {
  return new CapstanError({
    code: "CONTROL_PLANE_LOST",
    source: "cloud",
    subject: cluster,
    message: `cannot make host ${name}: the control plane of ${cluster} has run, and no member of it is left to join`,
    hint: "a new one would begin another cluster under its name; capstan destroy removes what is left, and capstan up makes it anew",
  });
}
