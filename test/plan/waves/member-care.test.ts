import assert from "node:assert/strict";
import type { NodeKey } from "../../../src/graph/graph.js";
import { etcdHold, mayLeaveDead } from "../../../src/plan/waves/member-care.js";
import type { EtcdHealth, MemberHealth } from "../../../src/workload/etcd/etcd-health.js";

type State = MemberHealth["state"];

const hostOf = (name: string) => `LocalHost/${name}-11111111-1` as NodeKey;

/** Members cp-0, cp-1, ... in these states. */
function etcdOf(...states: readonly State[]): EtcdHealth {
  return states.map((state, at): MemberHealth => {
    const about = { host: hostOf(`cp-${at}`), name: `cp-${at}`, votes: true };
    return state === "well" ? { ...about, state } : { ...about, state, why: `is ${state}` };
  });
}

interface Change {
  readonly changed?: readonly string[];
  readonly deleted?: readonly string[];
  readonly succeeded?: readonly string[];
  /** Whose hosts are the transaction's; all of them unless said. */
  readonly own?: readonly string[];
}

interface Case {
  readonly name: string;
  readonly change: Change;
  readonly etcd: EtcdHealth;
  /** Who holds it up; nobody without. */
  readonly want?: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "nobody where all are well",
    change: { deleted: ["cp-0"] },
    etcd: etcdOf("well", "well"),
  },
  {
    name: "another one that is ill",
    change: { succeeded: ["cp-0"] },
    etcd: etcdOf("well", "well", "ill"),
    want: ["cp-2"],
  },
  {
    name: "nobody what mends the one that is ill",
    change: { succeeded: ["cp-2"] },
    etcd: etcdOf("well", "well", "ill"),
  },
  {
    name: "its majority what mends one of two that are ill",
    change: { succeeded: ["cp-2"] },
    etcd: etcdOf("well", "ill", "ill"),
    want: ["cp-1", "cp-2"],
  },
  {
    name: "nobody who joins beside one that is dead: that leaves for it",
    change: { succeeded: ["cp-3"] },
    etcd: etcdOf("well", "well", "dead"),
  },
  {
    name: "one that is dead the commit, after which nothing names it",
    change: {},
    etcd: etcdOf("well", "well", "dead"),
    want: ["cp-2"],
  },
  {
    name: "those that nobody knows whoever joins, whatever that mends",
    change: { succeeded: ["cp-2"] },
    etcd: etcdOf("unknown", "unknown", "dead"),
    want: ["cp-0", "cp-1"],
  },
  {
    name: "those that nobody knows the end of the record of one that is dead",
    change: { deleted: ["cp-2"] },
    etcd: etcdOf("unknown", "unknown", "dead"),
    want: ["cp-0", "cp-1"],
  },
  {
    name: "nobody a change in place of one that does not run, while nobody knows the others",
    change: { changed: ["cp-2"] },
    etcd: etcdOf("unknown", "unknown", "ill"),
  },
  {
    name: "nobody, at its end, who was ill without it while the others are a majority",
    change: { own: ["cp-0"] },
    etcd: etcdOf("well", "well", "ill"),
  },
  {
    name: "at its end those of its own",
    change: { own: ["cp-2"] },
    etcd: etcdOf("well", "well", "ill"),
    want: ["cp-2"],
  },
  {
    name: "at its end whoever is ill where the others are no majority",
    change: { own: [] },
    etcd: etcdOf("well", "ill", "ill"),
    want: ["cp-1", "cp-2"],
  },
  {
    name: "at its end one that is dead: its record says whose it was",
    change: { own: [] },
    etcd: etcdOf("well", "well", "dead"),
    want: ["cp-2"],
  },
  {
    name: "nobody where a host goes that etcd does not know any more",
    change: { deleted: ["cp-9"], own: ["cp-0"] },
    etcd: etcdOf("well", "well", "ill"),
  },
  {
    name: "one that is ill where another one joins, whoever's it is",
    change: { succeeded: ["cp-9"], own: [] },
    etcd: etcdOf("well", "well", "ill"),
    want: ["cp-2"],
  },
];

describe("a change of members is held up by", () => {
  for (const { name, change, etcd, want } of cases) {
    it(name, () => {
      const { changed = [], deleted = [], succeeded = [] } = change;
      const { own = etcd.map((one) => one.name) } = change;
      const hold = etcdHold(
        {
          changed: new Set(changed.map(hostOf)),
          deleted: new Set(deleted.map(hostOf)),
          succeeded,
          own: own.map(hostOf),
        },
        etcd,
      );
      assert.deepEqual(
        hold?.ailing.map((one) => one.name),
        want,
      );
    });
  }
});

describe("members whose hosts are dead leave etcd", () => {
  const leaving: readonly { name: string; etcd: EtcdHealth; want: readonly string[] }[] = [
    { name: "where all others are well", etcd: etcdOf("well", "well", "dead"), want: ["cp-2"] },
    {
      name: "never where one is ill",
      etcd: etcdOf("well", "well", "well", "ill", "dead"),
      want: [],
    },
    { name: "never where nobody knows", etcd: etcdOf("unknown", "unknown", "dead"), want: [] },
    { name: "never where the others are no majority", etcd: etcdOf("well", "dead"), want: [] },
    { name: "and nobody else", etcd: etcdOf("well", "well", "well"), want: [] },
  ];
  for (const { name, etcd, want } of leaving) {
    it(name, () =>
      assert.deepEqual(
        mayLeaveDead(etcd).map((one) => one.name),
        want,
      ),
    );
  }
});
