import assert from "node:assert/strict";
import type { AccountTables } from "./account.js";
import { type HostsTold, judgeHosts } from "./hosts-judge.js";
import { instance } from "./made-account.js";

const cluster = "default/aws-demo";

const account: AccountTables = {
  instances: [
    instance("i-1", { cluster, name: "cp-0-3b81542a-1" }),
    instance("i-2", { cluster, name: "workers-dc74db75-0-9b8c73f8-1" }),
    { ...instance("i-0", { cluster, name: "cp-0-3b81542a-0" }), state: "terminated" },
    instance("i-9", { cluster: "stranger/aws-demo", name: "cp-0-3b81542a-1" }),
  ],
};
const whole: HostsTold = {
  members: [{ instance: "i-1" }],
  nodes: [{ instance: "i-1" }, { instance: "i-2" }],
  refusals: {},
  offences: [],
};

describe("the judge of the hosts of an account", () => {
  it("finds nothing where every host is a node, and every member is in etcd", () => {
    assert.deepEqual(judgeHosts(account, cluster, whole), []);
  });

  const cases: readonly (readonly [what: string, told: Partial<HostsTold>, want: string[]])[] = [
    [
      "a host that was not let in",
      { nodes: [{ instance: "i-1" }], refusals: { "i-2": "its token is not known" } },
      ["workers (i-2) is no node: its token is not known"],
    ],
    ["a member that has left etcd and runs", { members: [] }, ["cp-0 (i-1) is not in etcd"]],
    [
      "a member of etcd whose host is gone",
      { members: [{ instance: "i-0" }, { instance: "i-1" }] },
      ["i-0 is in etcd, and gone"],
    ],
    [
      "a second cluster",
      { offences: ["i-2 begins a second cluster beside i-1"] },
      ["i-2 begins a second cluster beside i-1"],
    ],
  ];
  for (const [what, told, want] of cases) {
    it(`finds ${what}`, () => {
      assert.deepEqual(judgeHosts(account, cluster, { ...whole, ...told }), want);
    });
  }
});
