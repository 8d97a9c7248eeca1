import { counted } from "../../api/counted.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { NodeKey } from "../../graph/graph.js";
import type { EtcdMemberReport, EtcdReport } from "./etcd-report.js";

/** A host that is a member of its control plane, or was one. */
export interface MemberHost {
  readonly key: NodeKey;
  readonly name: string;
  /** `dead`: gone, or failed and not wanted, so that it is taken out of etcd when the next one joins. */
  readonly phase: "runs" | "pending" | "dead";
}

interface MemberName {
  /** Absent of one that is on no host that anybody knows. */
  readonly host?: NodeKey;
  /** What people are told: the key of its host, or what etcd calls it. */
  readonly name: string;
  /** It counts for the majority. */
  readonly votes: boolean;
}

/** How one member of etcd is. JSON data. */
export type MemberHealth = MemberName & MemberState;

/** `dead`: as its host is. `unknown`: nobody could ask etcd. */
type MemberState =
  { readonly state: "well" } | { readonly state: "ill" | "dead" | "unknown"; readonly why: string };

/** Etcd, member by member: those that it lists, then hosts that run and that it does not list. */
export type EtcdHealth = readonly MemberHealth[];

/** How etcd is, by what it says itself. Pure. */
export function etcdHealthOf(report: EtcdReport, hosts: readonly MemberHost[]): EtcdHealth {
  const hostNamed = new Map(hosts.map((host) => [host.name, host]));
  const leader = commonLeader(report);
  const unlistedAlarms = report.alarms.filter(
    ({ member }) => !report.members.some(({ id }) => id === member),
  );
  const listed = new Set(report.members.map(({ host }) => host));
  return [
    ...report.members.map((member): MemberHealth => {
      const host = hostNamed.get(member.host ?? member.name ?? "");
      const about = omitUndefined<MemberName>({
        host: host?.key,
        name: host?.key ?? `member ${member.name ?? member.id} of etcd`,
        votes: !member.isLearner,
      });
      const why = ailmentOf(member, report, leader);
      if (why === undefined) return { ...about, state: "well" };
      return { ...about, state: host?.phase === "dead" ? "dead" : "ill", why };
    }),
    ...hosts
      .filter(({ name, phase }) => phase === "runs" && !listed.has(name))
      .map(({ key }) => unlisted(key, "etcd does not list it as a member")),
    ...unlistedAlarms.map(({ member, alarm }): MemberHealth => ({
      name: `member ${member} of etcd`,
      votes: false,
      state: "ill",
      why: `it has left, and its alarm ${alarm} is still raised`,
    })),
  ];
}

function unlisted(key: NodeKey, why: string): MemberHealth {
  return { host: key, name: key, votes: false, state: "ill", why };
}

/**
 * How etcd is where nobody can ask it: what does not run is ill, and of what runs nobody knows. Nothing while no host runs, as
 * there is no etcd to take care of. Whether etcd still counts on the dead nobody knows either: they do not count here. Pure.
 */
export function unknownHealth(why: string, hosts: readonly MemberHost[]): EtcdHealth {
  if (!hosts.some(({ phase }) => phase === "runs")) return [];
  return hosts.map(({ key, phase }): MemberHealth => {
    const about = { host: key, name: key, votes: phase !== "dead" };
    if (phase === "runs") return { ...about, state: "unknown", why };
    const state = phase === "dead" ? "dead" : "ill";
    return { ...about, state, why: "its host does not run" };
  });
}

/** "LocalHost/cp-1: its etcd does not answer (no answer within 5 s); LocalHost/cp-2: ...". Pure. */
export function ailmentsText(members: EtcdHealth): string {
  const [first, ...others] = members.flatMap((one) => ("why" in one ? [one] : []));
  if (first?.state === "unknown" && others.every(({ why }) => why === first.why)) return first.why;
  return [first, ...others].flatMap((one) => (one ? [`${one.name}: ${one.why}`] : [])).join("; ");
}

/** Whether all members are known to be well. Pure. */
export function isEtcdWell(members: EtcdHealth): boolean {
  return members.every(({ state }) => state === "well");
}

/** "3 members, all well"; "2 of 3 members well: LocalHost/cp-1: ..."; "not known: no answer". Pure. */
export function etcdText(members: EtcdHealth): string {
  const unknown = members.find(({ state }) => state === "unknown");
  if (unknown !== undefined) return `not known: ${ailmentsText([unknown])}`;
  const well = members.filter(({ state }) => state === "well").length;
  const count = counted(members.length, "member");
  if (isEtcdWell(members)) return well === 1 ? `${count}, well` : `${count}, all well`;
  return `${well} of ${count} well: ${ailmentsText(members)}`;
}

/** Whom most members that answer follow. */
function commonLeader({ members }: EtcdReport): string | undefined {
  const followed = members.flatMap(({ answer }) =>
    answer.kind === "answered" && answer.leader !== undefined ? [answer.leader] : [],
  );
  const count = (leader: string) => followed.filter((one) => one === leader).length;
  return followed.toSorted((one, other) => count(other) - count(one))[0];
}

function ailmentOf(
  { id, name, isLearner, answer }: EtcdMemberReport,
  { alarms }: EtcdReport,
  leader: string | undefined,
): string | undefined {
  if (name === undefined) return "it was added to etcd and has never run";
  const alarm = alarms.find(({ member }) => member === id)?.alarm;
  if (alarm !== undefined) return `its etcd has raised the alarm ${alarm}`;
  if (answer.kind === "silent") return `its etcd does not answer (${answer.because})`;
  const [trouble] = answer.troubles;
  if (trouble !== undefined) return `its etcd says "${trouble}"`;
  if (answer.leader === undefined) return "its etcd has no leader";
  if (answer.leader !== leader) return "its etcd follows another leader than the others";
  return isLearner ? "its etcd has not caught up with the others yet" : undefined;
}
