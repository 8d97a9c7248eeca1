import { gunzipSync } from "node:zlib";
import semver from "semver";
import { parse } from "yaml";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import type { BootstrapKind } from "../../src/bootstrap/host/member-role.js";
import { publicKeyHash } from "../../src/bootstrap/certificates/certificate.js";
import { configurationPath } from "../../src/bootstrap/host/host-bootstrap.js";
import type { KubeadmObject } from "../../src/bootstrap/kubeadm/configuration.js";
import { keyFolder } from "../../src/bootstrap/host/key-files.js";
import { type NodeMarks, otherMarksOf } from "../../src/workload/node-marks.js";
import type { EtcdAnswer, EtcdReport } from "../../src/workload/etcd/etcd-report.js";
import type { NodeHost, OpenWorkload } from "../../src/engine/run/workload-cluster.js";
import type {
  NodeReport,
  Observed,
  SecretStore,
  UserData,
  UserDataTerms,
} from "../../src/provider/port.js";
import type { MachineDrainRule } from "../../src/workload/drain/drain-rule.js";
import type { DrainBlocker } from "../../src/workload/drain/eviction-round.js";
import { isMajority } from "../../src/sets/quorum.js";
import { machineOf } from "./host-names.js";
import type { LawWatch } from "./law-watch.js";

/** Of a Node that Capstan has not written to. */
const noMarks: NodeMarks = { labels: {}, annotations: {}, taints: [], takesPods: false };

/** What a host does first, whose certificates it takes, and by which keys it signs, told by digests of these. */
interface FirstStart {
  readonly kind: BootstrapKind;
  readonly trusts: readonly string[];
  /** Of members. */
  readonly signs: string | undefined;
}

interface HostTrust {
  readonly trusts: readonly string[];
  /** Who may have signed its own certificate. */
  readonly signedBy: readonly string[];
}

/** Names of members that are not well, as far as somebody could know; undefined: etcd could not be asked. */
export interface EtcdKnowledge {
  readonly ill: ReadonlySet<string> | undefined;
}

/** A `machineQuota` of Clusters whose hosts are told everything by their user data. */
export const quotaWithoutStore = 999;

/** What a cloud's hosts do with what they are given at their first start: begin a cluster, or join it. */
export class FakeHosts {
  /** By whose keys members sign, by id. */
  private readonly signs = new Map<string, string>();
  /** What is kept for hosts, by name. */
  readonly kept = new Map<string, Uint8Array>();
  /** How often the store was asked to keep or to forget something. */
  storeCalls = 0;
  /** Tokens that are good, by the identity token of the host that they are for. */
  readonly tokens = new Map<string, string>();
  /** Whose tokens were extended, the same way. */
  readonly extended = new Set<string>();
  private readonly did = new Map<string, BootstrapKind>();
  /** Whom hosts trust, and who signs for them, by id. */
  private readonly trust = new Map<string, HostTrust>();
  /** Names of hosts that have left etcd. */
  readonly leftMembers = new Set<string>();
  /** Ids of hosts that are marked as members which have left. */
  readonly marked = new Set<string>();
  /** Names of hosts whose Node was deleted. */
  readonly deletedNodes = new Set<string>();
  /** Names of hosts that have run at some time. */
  private readonly ran = new Set<string>();
  /** Names of hosts that take no more pods. */
  readonly cordoned = new Set<string>();
  private readonly cordonedAtMs = new Map<string, number>();
  /** Names of hosts that no pod was left on. */
  readonly drained = new Set<string>();
  /** Asked whenever a Node is to take pods or none, before that has its effect and after it. */
  onCordon: (what: "drain" | "uncordon") => Promise<void> | undefined = () => undefined;
  /** Asked whenever somebody wants to know whether Nodes are ready. */
  onReadiness: () => Promise<void> | undefined = () => undefined;
  /** How often a host was disturbed that no pod was left on. */
  drainedFirst = 0;
  /** The last drain that was asked for found nobody who answers. */
  private isSilent = false;
  /** Names of hosts that were disturbed, until they run and take pods again. */
  private readonly disturbed = new Set<string>();
  /** When hosts were disturbed last, milliseconds since the epoch, by their names. */
  private readonly disturbedAtMs = new Map<string, number>();
  /** What becomes of a host that is disturbed: its kubelet says that it is not ready, or nothing any more. */
  breaks: (host: string) => "unready" | "mute" | undefined = () => undefined;
  /** How many hosts of those that share them with a host may be disturbed and not ready at once; absent: any number. */
  turnsOf: (host: string) => { readonly sharers: RegExp; readonly most: number } | undefined = () =>
    undefined;
  /** Pods that do not go from a host, by its name. */
  blockersOf: (host: string, rules: readonly MachineDrainRule[]) => readonly DrainBlocker[] =
    () => [];
  /** Volumes that are attached to a host, by its name. */
  volumesOf: (host: string) => readonly string[] = () => [];
  /** Whether a host that runs has become a node, by its name. */
  hasJoined: (host: string) => boolean = () => true;
  /** What Nodes bear, by their hosts' names. */
  readonly marks = new Map<string, NodeMarks>();
  /** What a host's Node says of itself, by its name. */
  nodeSays: (host: string) => NodeReport | undefined = () => undefined;
  /** Whether a host's Node is not deleted when it is asked for, by its name. */
  keepsNode: (host: string) => boolean = () => false;
  /** Whether its API server is too busy to take the token of a host back, by the host's name. */
  keepsToken: (host: string) => boolean = () => false;
  /** What is wrong with the member of etcd on a host that serves, by its name; undefined: nothing. */
  ails: (host: string) => string | undefined = () => undefined;
  /** Whether the member on a host that serves is heard; of one that is not, only what it shows is known. */
  isHeard: (host: string) => boolean = () => true;
  /** Until when the certificates of a host count, by its name; undefined: nobody can tell. */
  certificateUntilMs: (host: string) => number | undefined = () => undefined;
  /** Names of hosts that went because they were asked to, or that others have succeeded. */
  private readonly succeeded = new Set<string>();
  /** Names of hosts that have ever been members of etcd. */
  private readonly everMembers = new Set<string>();
  /** Whether the cluster's own API server answers, where a member serves that it could be on. */
  answers: () => boolean = () => true;
  /** Whether nothing answers where most members are gone. */
  needsMajority = false;
  /** How often the cluster's own API server was asked for anything. */
  asks = 0;
  /** What was found when somebody asked last, if nobody has touched a member since. */
  private found: EtcdKnowledge | undefined;
  /** Whether hosts had become nodes when somebody asked last, by their names. */
  private readonly joined = new Map<string, boolean>();
  /** The version of the control plane that the ConfigMap kubeadm-config says. */
  private configured = "";
  /** The version of kube-proxy. */
  private addons = "";
  /** Whether etcd takes nobody out. */
  refusesToLeave = false;
  /** Whether the cluster is to have a control plane once what is under way is done. */
  goesOn: () => boolean = () => false;
  /** Whether a revision with a control plane is recorded. */
  isCommitted: () => boolean = () => false;

  constructor(
    private readonly watch: LawWatch,
    private readonly nowMs: () => number,
  ) {}

  /** Members that have left etcd and whose hosts are there all the same. */
  leftAmong(alive: readonly Observed[]): string[] {
    return alive.map(({ who }) => who.name).filter((name) => this.leftMembers.has(name));
  }

  /** Terms of a provider whose cloud keeps secrets, and whose hosts run. */
  terms(
    { simulated: _simulated, ...terms }: UserDataTerms,
    change: <T>(what: string, effect: () => T) => Promise<T>,
  ): UserDataTerms {
    const asked = <T>(what: string, effect: () => T) => {
      this.storeCalls += 1;
      return change(what, effect);
    };
    const secrets: SecretStore = {
      put: (_ctx, name, content) => asked(`keep ${name}`, () => void this.kept.set(name, content)),
      delete: (_ctx, name) => asked(`forget ${name}`, () => void this.kept.delete(name)),
      fetchCommand: (name) => `fetch ${name}`,
      isUsedBy: ({ machineQuota }) => machineQuota !== quotaWithoutStore,
    };
    return { ...terms, secrets };
  }

  /** Of a cluster of which some member serves. */
  openWorkload(members: () => readonly Observed[]): OpenWorkload {
    const answering = <T>(effect: () => T): Promise<T> => {
      this.asks += 1;
      return this.isAnswering(members()) ? Promise.resolve(effect()) : Promise.reject(noAnswer());
    };
    return async () => ({
      announce: () => answering(() => undefined),
      configure: (wanted) =>
        answering(() => {
          const version = versionIn(wanted);
          const { configured } = this;
          this.configured = version;
          return version === configured ? undefined : `kubeadm-config: ${version}`;
        }),
      updateAddons: (configuration) =>
        answering(() => this.updateAddons(versionIn(configuration), members())),
      issue: ({ token }) =>
        answering(() => {
          this.tokens.set(token, "abcdef.0123456789abcdef");
          return "abcdef.0123456789abcdef";
        }),
      nodes: (hosts) =>
        answering(() => {
          const all = members();
          const joined = hosts.filter(({ name }) => this.isNode(name, all));
          for (const one of hosts) this.joined.set(one.name, joined.includes(one));
          return new Map(joined.map(({ name, marks }) => [name, this.reportOf(name, marks)]));
        }),
      readiness: async (hosts) => {
        await this.onReadiness();
        return answering(() => {
          const all = members();
          const nodes = hosts.filter(({ name }) => this.hasJoined(name));
          return new Map(
            nodes.map(({ name }) => {
              const isCordoned = this.cordoned.has(name);
              const cordonedAtMs = isCordoned ? (this.cordonedAtMs.get(name) ?? 0) : undefined;
              const readyAtMs = this.readyAtMs(name, all);
              return [name, omitUndefined({ name, cordonedAtMs, readyAtMs })];
            }),
          );
        });
      },
      extend: ({ token }) =>
        answering(() => {
          if (this.tokens.has(token)) this.extended.add(token);
        }),
      drain: async ({ name }, rules) => {
        await this.onCordon("drain");
        this.isSilent = true;
        const look = await answering(() => {
          this.isSilent = false;
          if (!this.cordoned.has(name)) this.cordonedAtMs.set(name, this.nowMs());
          this.cordoned.add(name);
          const blockers = this.blockersOf(name, rules);
          if (blockers.length === 0) this.drained.add(name);
          return { blockers };
        });
        await this.onCordon("drain");
        return look;
      },
      keepMarks: (hosts) =>
        answering(() => {
          const changed = hosts.filter(
            ({ host, marks }) => this.otherMarksOn(host.name, marks) !== undefined,
          );
          for (const { host, marks } of hosts) this.marks.set(host.name, marks);
          return changed.map(({ host }) => host.name);
        }),
      attachedVolumes: ({ name }) => answering(() => this.volumesOf(name)),
      uncordon: async (hosts) => {
        await this.onCordon("uncordon");
        await answering(() => {
          for (const { name } of hosts) this.takesPods(name, members());
        });
        await this.onCordon("uncordon");
      },
      etcd: (hosts) => {
        this.found = { ill: undefined };
        return answering(() => this.etcdReport(members(), hosts));
      },
      removeMember: async ({ name }) =>
        answering(() => {
          const isLeft = !this.refusesToLeave && this.leaves(name, members());
          if (!isLeft) throw noAnswer("etcd has no majority without it");
        }),
      deleteNode: ({ name }) =>
        this.keepsNode(name)
          ? Promise.reject(noAnswer("it is too busy"))
          : answering(() => void this.deletedNodes.add(name)),
      revoke: ({ name, token }) =>
        this.keepsToken(name)
          ? Promise.reject(noAnswer("it is too busy"))
          : answering(() => void this.tokens.delete(token)),
      revokeOthers: (hosts) =>
        this.keepsToken("of any host")
          ? Promise.reject(noAnswer("it is too busy"))
          : answering(() => {
              const kept = new Set(hosts.map(({ token }) => token));
              const others = [...this.tokens.keys()].filter((token) => !kept.has(token));
              for (const token of others) this.tokens.delete(token);
            }),
    });
  }

  /** Law 21: kube-proxy is never newer than any API server. */
  private updateAddons(version: string, all: readonly Observed[]): string[] {
    const older = this.membersAmong(all).find(({ spec }) => semver.gt(version, versionOf(spec)));
    if (older !== undefined) {
      const what = `kube-proxy ${version} beside ${older.who.name}, ${versionOf(older.spec)}`;
      this.watch.blame("law 21: versions", what);
    }
    const { addons } = this;
    this.addons = version;
    return version === addons ? [] : [`kube-proxy: ${version}`];
  }

  /** Law 21: once a command has got to its end, a cluster that answers says of itself what its members have. */
  mustSayVersions(alive: readonly Observed[]): void {
    if (!this.isAnswering(alive)) return;
    const versions = this.membersAmong(alive).map(({ spec }) => versionOf(spec));
    const [oldest = "", newest = oldest] = [versions.toSorted(semver.compare)].flatMap((all) => [
      all[0],
      all.at(-1),
    ]);
    const blame = (what: string, has: string, wants: string) => {
      if (has === wants) return;
      this.watch.blame("law 21: versions", `${what} says ${has}, and members have ${wants}`);
    };
    blame("kubeadm-config", this.configured, newest);
    blame("kube-proxy", this.addons, oldest);
  }

  /** One that has never run has not joined, whatever it would do. */
  private isNode(name: string, all: readonly Observed[]): boolean {
    const runs = all.some(({ who, phase }) => who.name === name && phase === "ready");
    if (runs) this.ran.add(name);
    return this.hasJoined(name) && this.ran.has(name);
  }

  /** Whether the API server of a member has ever served its cluster. */
  hasServed({ id, phase, who: { name } }: Observed): boolean {
    const runs = phase === "ready" || this.ran.has(name);
    return runs && isMember(this.did.get(id)) && this.hasJoined(name);
  }

  private reportOf(name: string, wanted: NodeMarks | undefined): NodeReport | undefined {
    const says = this.nodeSays(name);
    const otherMarks = wanted && this.otherMarksOn(name, wanted);
    if (otherMarks === undefined && !this.cordoned.has(name)) return says;
    const cordonedBy = this.cordoned.has(name) ? ("capstan" as const) : undefined;
    return omitUndefined({ kubelet: "", ...says, cordonedBy, otherMarks });
  }

  private otherMarksOn(name: string, wanted: NodeMarks): NodeReport["otherMarks"] {
    const { labels, annotations, taints } = this.marks.get(name) ?? noMarks;
    return otherMarksOf({ metadata: { labels, annotations }, spec: { taints } }, wanted);
  }

  /** Whether its API server answers. */
  isAnswering(all: readonly Observed[]): boolean {
    const serves = ({ id, phase }: Observed) => phase === "ready" && isMember(this.did.get(id));
    return this.answers() && all.some(serves) && (!this.needsMajority || this.hasMajority(all));
  }

  /** Whether those that serve are a majority of the members that etcd counts on. */
  hasMajority(all: readonly Observed[]): boolean {
    const { serving, members } = this.etcdAmong(all);
    return isMajority(serving.length, members.size);
  }

  /** Whether some serve that are too few for etcd to change anything, its members included. */
  hasLostMajority(all: readonly Observed[]): boolean {
    return this.etcdAmong(all).serving.length > 0 && !this.hasMajority(all);
  }

  /** Names of members that serve, and of all that etcd counts on. One that is marked as leaving serves until it has left. */
  private etcdAmong(all: readonly Observed[]) {
    const serving = all
      .filter(({ id, phase }) => phase === "ready" || this.marked.has(id))
      .filter(({ id, who }) => isMember(this.did.get(id)) && !this.leftMembers.has(who.name))
      .map(({ who }) => who.name);
    const listed = [...this.everMembers].filter((name) => !this.leftMembers.has(name));
    return { serving, members: new Set([...serving, ...listed]) };
  }

  /** Names of members that etcd counts on, and of which no host is left. */
  deadMembers(alive: readonly Observed[]): string[] {
    const names = new Set(alive.map(({ who }) => who.name));
    return [...this.everMembers].filter((name) => !this.leftMembers.has(name) && !names.has(name));
  }

  /** What whoever touches a member now knows of the others. */
  knowledge(alive: readonly Observed[]): EtcdKnowledge {
    const ill = alive.map(({ who }) => who.name).filter((name) => this.ails(name) !== undefined);
    return this.found ?? { ill: this.isAnswering(alive) ? new Set(ill) : undefined };
  }

  /** Lets something happen that was asked for when this was known. */
  knowing<T>(knowledge: EtcdKnowledge, effect: () => T): T {
    const { found } = this;
    this.found = knowledge;
    try {
      return effect();
    } finally {
      this.found = found;
    }
  }

  /** Who was a member and has not left: one whose host does not serve says nothing. */
  private etcdReport(all: readonly Observed[], hosts: readonly NodeHost[]): EtcdReport {
    const serving = new Set(
      all
        .filter(({ id, phase }) => phase === "ready" || this.marked.has(id))
        .filter(({ id, who: { name } }) => {
          const did = this.did.get(id);
          return (
            did === "init" || (isMember(did) && (this.joined.get(name) ?? this.hasJoined(name)))
          );
        })
        .map(({ who }) => who.name),
    );
    for (const name of serving) this.everMembers.add(name);
    const members = [...this.everMembers].filter((name) => !this.leftMembers.has(name));
    this.found = { ill: new Set(members.filter((name) => this.ails(name) !== undefined)) };
    return {
      alarms: [],
      members: members.map((name) => {
        const trouble = this.ails(name);
        const isKnown = hosts.some((host) => host.name === name);
        const certificateUntilMs = serving.has(name) ? this.certificateUntilMs(name) : undefined;
        const answer = omitUndefined<EtcdAnswer>(
          serving.has(name) && this.isHeard(name)
            ? {
                kind: "answered",
                leader: "1",
                troubles: trouble === undefined ? [] : [trouble],
                certificateUntilMs,
              }
            : { kind: "silent", because: "no answer", certificateUntilMs },
        );
        const about = { id: name, name, isLearner: false, answer };
        return isKnown ? { ...about, host: name } : about;
      }),
    };
  }

  /** A host has been made that does this first. `others`: everything that is alive. */
  made(host: Observed, { kind, trusts, signs }: FirstStart, others: readonly Observed[]): void {
    const signers = others.flatMap(({ id, who }) =>
      who.clusterUid === host.who.clusterUid ? (this.signs.get(id) ?? []) : [],
    );
    this.did.set(host.id, kind);
    // One of this name in another life of the cluster had another Node.
    const { cordoned, drained, disturbed, disturbedAtMs, ran } = this;
    for (const known of [cordoned, drained, disturbed, disturbedAtMs, ran]) {
      known.delete(host.who.name);
    }
    if (kind === "joinControlPlane") {
      this.mayDisturb(host, others);
      this.mustFindItsVersion(host);
    }
    for (const name of this.everMembers) {
      if (machineOf(name) === machineOf(host.who.name)) this.succeeded.add(name);
    }
    if (kind === "init") {
      // Another life of the cluster, with an etcd of its own and perhaps the same names.
      const all = [this.everMembers, this.leftMembers, this.joined, this.succeeded];
      for (const known of all) known.clear();
    }
    if (kind === "init") this.configured = this.addons = versionOf(host.spec);
    this.mustTrust(host, { kind, trusts, signs }, others);
    if (signs !== undefined) this.signs.set(host.id, signs);
    // Whichever member leads signs for a worker.
    this.trust.set(host.id, { trusts, signedBy: signs === undefined ? signers : [signs] });
    if (kind !== "init") return;
    const { name, clusterUid } = host.who;
    const hosts = others.filter(
      ({ id, who }) => id !== host.id && who.clusterUid === clusterUid && this.did.has(id),
    );
    const [other] = hosts;
    if (other !== undefined) {
      this.watch.blame(
        "law 16: one cluster",
        `${name} begins a second one beside ${other.who.name}`,
      );
    }
    if (this.isCommitted()) {
      this.watch.blame("law 16: one cluster", `${name} begins one where one was committed`);
    }
  }

  /** Law 21: a member that joins gets the control plane that kubeadm-config names, which is its own. */
  private mustFindItsVersion({ who, spec }: Observed): void {
    if (this.configured === versionOf(spec)) return;
    const what = `${who.name}, ${versionOf(spec)}, joins what kubeadm-config calls ${this.configured}`;
    this.watch.blame("law 21: versions", what);
  }

  /** Law 19: pods find a host that runs. */
  private takesPods(name: string, all: readonly Observed[]): void {
    const isUp = all.some(({ who, phase }) => who.name === name && phase === "ready");
    if (this.disturbed.has(name) && !isUp) {
      this.watch.blame("law 19: drain", `${name} takes pods before it runs again`);
    } else if (this.disturbed.has(name) && !this.isReady(name, all)) {
      this.watch.blame("law 19: drain", `${name} takes pods before its Node is ready again`);
    }
    this.cordoned.delete(name);
    this.drained.delete(name);
    this.disturbed.delete(name);
  }

  /** Law 19: what runs on a host of a cluster that answers, and goes on, has moved away before something is done to that. */
  private mustBeDrained(
    { id, phase, who: { name } }: Observed,
    all: readonly Observed[],
    what: "goes" | "is disturbed",
  ): void {
    const answers = !this.isSilent && this.isAnswering(all);
    const isNode = phase === "ready" && this.did.has(id) && this.hasJoined(name);
    const hasPods = isNode && !this.drained.has(name);
    if (!answers || !this.goesOn() || !hasPods) return;
    const how = this.cordoned.has(name) ? "while pods are left on it" : "and takes pods";
    this.watch.blame("law 19: drain", `${name} ${what} ${how}`);
  }

  /** Law 19, of hosts that stay. */
  disturbs(host: Observed, all: readonly Observed[]): void {
    const { name } = host.who;
    this.ran.add(name);
    this.mustBeDrained(host, all, "is disturbed");
    const answers = !this.isSilent && this.isAnswering(all);
    if (answers && this.goesOn() && this.isReady(name, all)) this.mustHaveItsTurn(name, all);
    if (this.drained.has(name)) this.drainedFirst += 1;
    this.disturbed.add(name);
    this.disturbedAtMs.set(name, this.nowMs());
  }

  /** Law 19: the others that share its bounds are ready again, but for as many as these allow beside it. */
  private mustHaveItsTurn(name: string, all: readonly Observed[]): void {
    const turns = this.turnsOf(name);
    if (turns === undefined) return;
    const others = all
      .map(({ who }) => who.name)
      .filter((one) => one !== name && turns.sharers.test(one) && this.disturbedAtMs.has(one));
    // Who serves in its place counts for it.
    const isServed = (machine: string) =>
      all.some(({ who }) => machineOf(who.name) === machine && this.isReady(who.name, all));
    const sick = others.filter((one) => !isServed(machineOf(one)));
    if (sick.length < turns.most) return;
    this.watch.blame("law 19: drain", `${name} is disturbed while ${sick.length} are not ready`);
  }

  private isReady(name: string, all: readonly Observed[]): boolean {
    const isUp = all.some(({ who, phase }) => who.name === name && phase === "ready");
    return isUp && (!this.disturbedAtMs.has(name) || this.breaks(name) === undefined);
  }

  /** When a kubelet last said that its Node is ready: of one that stopped without a word, what it said before counts on for a while. */
  private readyAtMs(name: string, all: readonly Observed[]): number | undefined {
    if (this.isReady(name, all)) return this.nowMs();
    const isUp = all.some(({ who, phase }) => who.name === name && phase === "ready");
    if (isUp && this.breaks(name) === "unready") return undefined;
    const disturbedAtMs = this.disturbedAtMs.get(name);
    return disturbedAtMs === undefined ? undefined : disturbedAtMs - 1;
  }

  /** Law 19: once a command has got to its end, hosts that are there take pods, as long as their cluster answers. */
  mustTakePods(alive: readonly Observed[]): void {
    if (!this.isAnswering(alive)) return;
    for (const { who } of alive.filter((one) => this.cordoned.has(one.who.name))) {
      this.watch.blame("law 19: drain", `${who.name} is left without pods`);
    }
  }

  /** A host that serves is changed in place, and does not serve meanwhile. */
  changes(host: Observed, others: readonly Observed[]): void {
    this.ran.add(host.who.name);
    if (isMember(this.did.get(host.id))) this.mayDisturb(host, others);
  }

  /**
   * Law 18: no member is touched that is well while another one is not, which whoever touches it has asked for, nor while nobody
   * could tell. One that comes mends what its machine has.
   */
  private mayDisturb({ id, who }: Observed, others: readonly Observed[]): void {
    const own = machineOf(who.name);
    const peers = this.membersAmong(others).filter((one) => one.id !== id);
    const known = this.knowledge(others);
    const ill = peers
      .map((one) => one.who.name)
      .filter((name) => this.ails(name) !== undefined && known.ill?.has(name) === true);
    this.found = undefined;
    if (!this.goesOn()) return;
    // What was ill may have left etcd already, for the one that comes.
    const isIll = (name: string) =>
      machineOf(name) === own && (this.ails(name) !== undefined || this.isDead(name, others));
    const isIllOwn = [who.name, ...others.map((one) => one.who.name), ...this.everMembers].some(
      isIll,
    );
    // A destroy that broke off has left its machine without any.
    const isOwn = (name: string) => machineOf(name) === own;
    const hasNone = !others.some((one) => one.id !== id && isOwn(one.who.name));
    if (
      isIllOwn ||
      (hasNone && [...this.everMembers].some((one) => one !== who.name && isOwn(one)))
    )
      return;
    const [other] = ill;
    const [peer] = peers;
    if (other !== undefined) {
      this.watch.blame("law 18: etcd", `${own} is touched while ${machineOf(other)} is not well`);
    } else if (known.ill === undefined && peer !== undefined) {
      const name = machineOf(peer.who.name);
      this.watch.blame("law 18: etcd", `${own} is touched while nobody knows how ${name} is`);
    }
  }

  /** A member whose host somebody else has ended, and whose machine has got no other one yet. */
  private isDead(name: string, alive: readonly Observed[]): boolean {
    const isThere = alive.some(({ who }) => who.name === name);
    return this.everMembers.has(name) && !isThere && !this.succeeded.has(name);
  }

  /**
   * Whether a member has left: etcd lets no burden go while the others are no majority. Law 18: nobody asks for that who could have known
   * it when etcd was asked last; what falls ill since, etcd alone knows.
   */
  private leaves(name: string, all: readonly Observed[]): boolean {
    const { serving, members } = this.etcdAmong(all);
    const others = serving.filter((one) => one !== name);
    const isStuck = (isIll: (name: string) => boolean) => {
      const isBurden = isIll(name) || !serving.includes(name);
      const well = others.filter((one) => !isIll(one));
      return isBurden && !isMajority(well.length, members.size) ? well.length : undefined;
    };
    const isIll = (one: string) => this.ails(one) !== undefined;
    if (!members.has(name) || isStuck(isIll) === undefined) {
      this.leftMembers.add(name);
      return true;
    }
    const { ill } = this.knowledge(all);
    const left = isStuck((one) => isIll(one) && ill?.has(one) !== false);
    if (left !== undefined) {
      this.watch.blame("law 18: etcd", `${name} leaves, and ${left} others are no majority`);
    }
    return false;
  }

  private membersAmong(all: readonly Observed[]): Observed[] {
    return all.filter(
      ({ id, phase, who }) =>
        phase === "ready" && isMember(this.did.get(id)) && !this.leftMembers.has(who.name),
    );
  }

  /** A host goes: a member that runs has left the others before, unless there are none, or they go, too. */
  goes(host: Observed, others: readonly Observed[]): void {
    if (host.phase === "ready") this.ran.add(host.who.name);
    const runs = ({ id, phase }: Observed) => phase === "ready" && isMember(this.did.get(id));
    const { who } = host;
    if (runs(host) && !this.leftMembers.has(who.name)) this.mayDisturb(host, others);
    this.mustBeDrained(host, others, "goes");
    this.succeeded.add(who.name);
    const isOneOfMany =
      runs(host) &&
      others.some(
        (one) => one.id !== host.id && one.who.clusterUid === who.clusterUid && runs(one),
      );
    if (!isOneOfMany || !this.goesOn() || this.leftMembers.has(who.name)) return;
    this.watch.blame("law 16: one cluster", `${who.name} goes, and has not left its control plane`);
  }

  /** Law 17: a host that comes and those that are there take each other's certificates. */
  private mustTrust(
    { id, who }: Observed,
    { trusts, signs }: FirstStart,
    others: readonly Observed[],
  ): void {
    const blame = (what: string) => {
      this.watch.blame("law 17: trust", what);
    };
    for (const other of others.filter((one) => one.who.clusterUid === who.clusterUid)) {
      const known = this.trust.get(other.id);
      if (other.id === id || known === undefined) continue;
      const signer = this.signs.get(other.id);
      if (signer !== undefined && !trusts.includes(signer)) {
        blame(`${who.name} does not trust ${other.who.name}`);
      }
      if (signs === undefined) continue;
      if (!known.trusts.includes(signs)) blame(`${other.who.name} does not trust ${who.name}`);
      const isKnown = known.signedBy.every((one) => trusts.includes(one));
      if (!isKnown) blame(`${who.name} may not know the certificate of ${other.who.name}`);
    }
  }

  /** What a host does with what it is given. Throws an Error for user data that leads to nothing. */
  firstStartOf({ text }: UserData): FirstStart {
    const [, name] = /fetch (capstan-[0-9a-f]+)/.exec(text) ?? [];
    const fileAt = name === undefined ? writtenIn(text) : this.fetched(name);
    const configuration = fileAt(configurationPath);
    const authorities = fileAt(`${keyFolder}/ca.crt`);
    const ownHashes = authorities
      .split(/(?<=-----END CERTIFICATE-----\n)/)
      .filter((one) => one.includes("BEGIN"))
      .map(publicKeyHash);
    const [signs] = ownHashes;
    const told = configuration.match(/sha256:[0-9a-f]{64}/g) ?? [];
    if (configuration.includes("kind: InitConfiguration")) {
      return { kind: "init", trusts: ownHashes, signs };
    }
    return configuration.includes("controlPlane:")
      ? { kind: "joinControlPlane", trusts: ownHashes, signs }
      : { kind: "joinWorker", trusts: told, signs: undefined };
  }

  private fetched(name: string): (path: string) => string {
    const content = this.kept.get(name);
    if (content === undefined) throw new Error(`nothing is kept as ${name}`);
    const script = gunzipSync(content).toString();
    return (path) => {
      const [, encoded] = script.split(`put '${path}' `);
      const [lines = ""] = encoded?.slice("0600 <<'END'\n".length).split("\nEND\n", 1) ?? [];
      return Buffer.from(lines, "base64").toString();
    };
  }

  /** What is still kept, or still good, for hosts that are nodes or that nobody has. */
  leftOver(alive: readonly Observed[]): string[] {
    const pending = new Set(
      alive.filter(({ phase }) => phase !== "ready").map(({ who }) => who.token),
    );
    const kept = [...this.kept.keys()].map((name) => name.replace("capstan-", ""));
    return kept.filter((token) => !pending.has(token));
  }
}

/** The files of a cloud-config. */
function writtenIn(text: string): (path: string) => string {
  const { write_files: files } = parse(text) as {
    readonly write_files: readonly { readonly path: string; readonly content: string }[];
  };
  return (path) => files.find((one) => one.path === path)?.content ?? "";
}

/** "1.34.2" of a ClusterConfiguration. */
function versionIn({ kubernetesVersion }: KubeadmObject): string {
  return String(kubernetesVersion).replace(/^v/, "");
}

/** Of a member's control plane, as its host has it. */
function versionOf(spec: JsonObject): string {
  return String(spec["controlPlane"]);
}

function isMember(kind: BootstrapKind | undefined): boolean {
  return kind === "init" || kind === "joinControlPlane";
}

function noAnswer(message = "no API server answers"): CapstanError {
  return new CapstanError({
    code: "API_SERVER",
    source: "cloud",
    message,
    retryable: true,
  });
}
