import assert from "node:assert/strict";
import type { NodeKey } from "../../../src/graph/graph.js";
import {
  ailmentsText,
  etcdHealthOf,
  etcdText,
  type MemberHost,
  unknownHealth,
} from "../../../src/workload/etcd/etcd-health.js";
import type { EtcdMemberReport, EtcdReport } from "../../../src/workload/etcd/etcd-report.js";

const host = (name: string, phase: MemberHost["phase"] = "runs"): MemberHost => ({
  key: `LocalHost/${name}` as NodeKey,
  name,
  phase,
});
const member = (name: string, more: Partial<EtcdMemberReport> = {}): EtcdMemberReport => ({
  id: `id-${name}`,
  name,
  host: name,
  isLearner: false,
  answer: { kind: "answered", leader: "id-a", troubles: [] },
  ...more,
});
const answered = (leader?: string, ...troubles: string[]) => ({
  answer: { kind: "answered", troubles, ...(leader !== undefined && { leader }) } as const,
});
const silent = { answer: { kind: "silent", because: "no answer within 5 s" } } as const;
const hosts = [host("a"), host("b"), host("c")];
const others = [member("a"), member("b")];

interface Case {
  readonly name: string;
  readonly given: Partial<EtcdReport> & { readonly hosts?: readonly MemberHost[] };
  readonly want: string;
}

const cases: readonly Case[] = [
  {
    name: "nothing of members that are well",
    given: { members: [...others, member("c")] },
    want: "",
  },
  {
    name: "one that does not answer",
    given: { members: [...others, member("c", silent)] },
    want: "LocalHost/c: its etcd does not answer (no answer within 5 s)",
  },
  {
    name: "one that has no leader, or another one",
    given: { members: [...others, member("c", answered()), member("d", answered("id-d"))] },
    want: "LocalHost/c: its etcd has no leader; LocalHost/d: its etcd follows another leader than the others",
  },
  {
    name: "what a member says is wrong with it",
    given: { members: [...others, member("c", answered("id-a", "etcdserver: no leader"))] },
    want: 'LocalHost/c: its etcd says "etcdserver: no leader"',
  },
  {
    name: "an alarm, of the member that has raised it alone",
    given: {
      members: [...others, member("c")],
      alarms: [{ member: "id-b", alarm: "NOSPACE" }],
    },
    want: "LocalHost/b: its etcd has raised the alarm NOSPACE",
  },
  {
    name: "an alarm of a member that has left",
    given: {
      members: [...others, member("c")],
      alarms: [{ member: "id-x", alarm: "CORRUPT" }],
    },
    want: "member id-x of etcd: it has left, and its alarm CORRUPT is still raised",
  },
  {
    name: "one that catches up, and one that never ran",
    given: {
      members: [...others, member("c", { isLearner: true }), unnamed({ id: "9", ...silent })],
    },
    want: "LocalHost/c: its etcd has not caught up with the others yet; member 9 of etcd: it was added to etcd and has never run",
  },
  {
    name: "a host that runs and is no member",
    given: { members: others },
    want: "LocalHost/c: etcd does not list it as a member",
  },
  {
    name: "nothing of a host that is on its way and is no member yet",
    given: { members: others, hosts: [host("a"), host("b"), host("c", "pending")] },
    want: "",
  },
  {
    name: "one that nobody knows and that does not answer, and nothing of one that does",
    given: {
      members: [...others, member("c"), stranger("x", silent), stranger("y")],
    },
    want: "member x of etcd: its etcd does not answer (no answer within 5 s)",
  },
];

function unnamed(more: Partial<EtcdMemberReport>): EtcdMemberReport {
  const { name: _name, host: _host, ...rest } = member("x", more);
  return rest;
}

function stranger(name: string, more: Partial<EtcdMemberReport> = {}): EtcdMemberReport {
  const { host: _host, ...rest } = member(name, more);
  return rest;
}

describe("the health of etcd tells", () => {
  for (const { name, given, want } of cases) {
    it(name, () => {
      const { members = [], alarms = [] } = given;
      const known = given.hosts ?? [...hosts, ...(name.includes("another one") ? [host("d")] : [])];
      const health = etcdHealthOf({ members, alarms }, known);
      assert.equal(ailmentsText(health.filter(({ state }) => state !== "well")), want);
    });
  }

  it("who is dead as its host is, so that nobody waits for it", () => {
    const members = [...others, member("c", silent)];
    const known = [host("a"), host("b"), host("c", "dead")];
    const health = etcdHealthOf({ members, alarms: [] }, known);
    assert.deepEqual(
      health.map(({ state }) => state),
      ["well", "well", "dead"],
    );
  });

  it("who counts for the majority: no learner", () => {
    const members = [...others, member("c", { isLearner: true })];
    const health = etcdHealthOf({ members, alarms: [] }, hosts);
    assert.deepEqual(
      health.map(({ votes }) => votes),
      [true, true, false],
    );
  });

  it("that nobody knows where it cannot be asked, and who does not run all the same", () => {
    const known = [host("a"), host("b", "pending"), host("c", "dead")];
    const health = unknownHealth("no answer", known);
    assert.deepEqual(
      health.map(({ state, votes }) => [state, votes]),
      [
        ["unknown", true],
        ["ill", true],
        ["dead", false],
      ],
    );
    assert.equal(ailmentsText(health.filter(({ state }) => state === "unknown")), "no answer");
  });

  it("is told in one line", () => {
    const told = (members: readonly EtcdMemberReport[]) =>
      etcdText(etcdHealthOf({ members, alarms: [] }, hosts.slice(0, members.length)));
    assert.equal(told([...others, member("c")]), "3 members, all well");
    assert.equal(told([member("a")]), "1 member, well");
    assert.equal(
      told([...others, member("c", silent)]),
      "2 of 3 members well: LocalHost/c: its etcd does not answer (no answer within 5 s)",
    );
    assert.equal(etcdText(unknownHealth("no answer", hosts)), "not known: no answer");
  });

  it("nothing while no host runs: there is no etcd to take care of", () => {
    assert.deepEqual(unknownHealth("no answer", [host("a", "pending"), host("b", "dead")]), []);
  });
});
