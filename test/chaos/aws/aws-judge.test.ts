import assert from "node:assert/strict";
import type { Deployment } from "../../scenario/ledger-judge.js";
import { emptyPlan, nothingAnnounced } from "../announcement.js";
import { lawProblems } from "../laws.js";
import { callsOf, instance, type MadeCall, targetGroup, volume, vpc } from "./made-account.js";
import type { AccountTables, AccountRow } from "./account.js";
import { linesOf } from "./account-text.js";
import { awsBoundaries } from "./aws-boundary.js";
import { judgeAccount, judgeAccountWanted } from "./aws-judge.js";
import { crowdedMachines, enrolled, ledgerRowsOf } from "./aws-laws.js";

const cluster = "default/aws-demo";
const stranger = vpc("vpc-stranger", { cluster: "stranger/aws-demo", name: "vpc" });
const surroundings: AccountTables = { vpcs: [stranger] };

const recordedOf = (...ids: readonly string[]): Deployment => ({
  resources: ids.map((id) => ({
    urn: `urn of ${id}`,
    type: "pulumi-nodejs:dynamic/capstan:AwsAny",
    id,
  })),
});

const host = instance("i-1", { cluster, name: "cp-0-3b81542a-1" });
const disk = volume("vol-1", { cluster, name: "cp-0-3b81542a-1-backup" }, "i-1");
const ours: AccountTables = {
  vpcs: [stranger, vpc("vpc-1", { cluster, name: "vpc" })],
  // What AWS makes with a VPC, a group and an instance, and takes away with them.
  routeTables: [{ id: "rtb-main", vpcId: "vpc-1", routes: [], associations: [{ id: "a" }] }],
  groups: [{ id: "sg-default", vpcId: "vpc-1", name: "default" }],
  rules: [{ id: "sgr-own", groupId: "sg-default", isEgress: true }],
  interfaces: [{ id: "eni-1", attachment: { instanceId: "i-1" } }],
  volumes: [disk, { id: "vol-root", attachment: { instanceId: "i-1", deleteOnTermination: true } }],
  instances: [
    host,
    { ...instance("i-0", { cluster, name: "cp-0-3b81542a-0" }), state: "terminated" },
  ],
  targetGroups: [targetGroup("tg", { cluster, name: "api" })],
  targets: [
    { id: "tg i-1:6443", targetGroupArn: "tg", targetId: "i-1", port: 6443, state: "healthy" },
  ],
};
const recorded = ["vpc-1", "i-1", "vol-1", "tg", "tg|i-1:6443"];

const judged = (account: AccountTables, deployment = recordedOf(...recorded)) =>
  judgeAccount({ surroundings, account, deployment, cluster });

/** The account with more in one table. */
const having = (table: string, ...rows: readonly AccountRow[]): AccountTables => ({
  ...ours,
  [table]: [...(ours[table] ?? []), ...rows],
});

describe("the judge of simulated accounts", () => {
  it("finds nothing where all that lives is recorded, belongs to it, or was there", () => {
    const none = { orphans: [], duplicates: [], missing: [], wrongContent: [], pending: [] };
    assert.deepEqual(judged(ours), none);
  });

  const orphans: readonly (readonly [what: string, table: string, row: AccountRow])[] = [
    ["an instance", "instances", instance("i-2", { cluster, name: "cp-1-3b81542a-1" })],
    ["a target", "targets", { id: "tg i-9:6443", targetGroupArn: "tg", targetId: "i-9" }],
    [
      "an interface of an instance that is gone",
      "interfaces",
      { id: "eni-2", attachment: { instanceId: "i-0" } },
    ],
    [
      "a root volume of an instance that is gone",
      "volumes",
      { id: "vol-2", attachment: { instanceId: "i-0", deleteOnTermination: true } },
    ],
    [
      "a secret that its host does not need any more",
      "secrets",
      { id: "secret", name: "capstan-1" },
    ],
    ["an address", "addresses", { id: "eipalloc-1", publicIp: "192.0.2.1" }],
    [
      "a rule with marks",
      "rules",
      { id: "sgr-2", groupId: "sg-default", isEgress: true, tags: { "capstan:token": "t" } },
    ],
  ];
  for (const [what, table, row] of orphans) {
    it(`finds ${what} that a delete was left out for`, () => {
      assert.equal(judged(having(table, row)).orphans.length, 1);
    });
  }

  it("finds two instances of a launch without a token, whatever is recorded", () => {
    const second = instance("i-2", { cluster, name: "cp-0-3b81542a-2", token: "another" });
    const { orphans: none, duplicates } = judged(
      having("instances", second),
      recordedOf(...recorded, "i-2"),
    );
    assert.deepEqual([none, duplicates], [[], ["instance of cp-0"]]);
  });

  it("finds two under one name and two under one token", () => {
    const twin = vpc("vpc-2", { cluster, name: "vpc", token: "another" });
    assert.deepEqual(judged(having("vpcs", twin)).duplicates, ["AwsVpc vpc"]);
    const same = volume(
      "vol-3",
      { cluster, name: "other", token: disk.tags?.["capstan:token"] ?? "" },
      "i-1",
    );
    assert.equal(judged(having("volumes", same)).duplicates.length, 1);
  });

  it("finds what is recorded and gone, owed or pending", () => {
    const deployment: Deployment = {
      ...recordedOf(...recorded, "nat-1"),
      pending_operations: [{ type: "creating" }],
    };
    const { missing, pending } = judged(ours, deployment);
    assert.deepEqual([missing, pending], [["urn of nat-1"], ["creating"]]);
  });

  it("finds what was somebody else's and has changed, or is gone", () => {
    const changed = { ...ours, vpcs: [{ ...stranger, tags: { ...stranger.tags, more: "1" } }] };
    assert.match(judged(changed).wrongContent.join(), /vpc-stranger has changed/);
    assert.match(judged({ ...ours, vpcs: [] }).wrongContent.join(), /vpc-stranger is gone/);
  });

  it("finds each line that manifests ask for and is not there, and each that nobody asks for", () => {
    const lines = judgeAccountWanted(ours, cluster, undefined);
    assert.equal(lines.length, linesOf(ours, cluster).length);
    assert.match(lines.join("\n"), /nobody wants: target cp-0:6443 in api, healthy/);
    const wanted = judgeAccountWanted({}, cluster, clusterObjects);
    assert.match(wanted.join("\n"), /is not there: natGateways nat-eu-north-1a/);
    assert.ok(wanted.every((line) => line.startsWith("is not there")));
  });
});

const clusterObjects = [
  {
    kind: "Cluster",
    metadata: { name: "aws-demo" },
    spec: { providerSpec: { value: { zones: ["eu-north-1a"], ingressRules: [] } } },
  },
];

describe("the laws of a simulated account's ledger", () => {
  const launch = { action: "ec2:RunInstances", changes: ["+ instances i-1", "+ volumes vol-root"] };
  const end = { action: "ec2:TerminateInstances", changes: ["~ instances i-1"] };
  const marks = { cluster, name: "cp-0-3b81542a-1" };
  const rowsOf = (...calls: readonly MadeCall[]) => {
    const ledger = callsOf(...calls);
    return ledgerRowsOf(ledger, enrolled(new Map(), {}, ledger));
  };

  it("are told what each call made, changed and ended of what bears marks", () => {
    const rows = rowsOf(
      { ...launch, marks },
      { action: "ec2:CreateTags", changes: ["~ instances i-1"] },
      end,
    );
    assert.deepEqual(
      rows.map(({ effect, id, name }) => [effect, id, name]),
      ["created", "updated", "terminated"].map((effect) => [effect, "i-1", marks.name]),
    );
  });

  it("name an instance that goes without a plan, and none that a plan names", () => {
    const problems = (key: string) => {
      const plan = { ...emptyPlan, steps: [{ kind: "delete", key }] };
      const typed = { ...nothingAnnounced, plans: [plan], words: "up", from: 1, to: 2 };
      const ledger = rowsOf({ ...launch, marks }, end);
      const course = {
        cluster,
        hostKind: "AwsInstance",
        ledger,
        members: new Set<string>(),
        sets: [],
      };
      return lawProblems({ ...course, typed: [{ ...typed, leads: "forward" }] });
    };
    assert.match(problems("AwsInstance/another").join(), /terminates cp-0-3b81542a-1/);
    assert.deepEqual(problems(`AwsInstance/${marks.name}`), []);
  });

  it("name two instances of one machine at one time, and none one after the other", () => {
    const again = {
      ...launch,
      changes: ["+ instances i-2"],
      marks: { cluster, name: "cp-0-3b81542a-2" },
    };
    assert.equal(crowdedMachines(rowsOf({ ...launch, marks }, again), cluster, 1).length, 1);
    assert.deepEqual(crowdedMachines(rowsOf({ ...launch, marks }, again), cluster, 2), []);
    assert.deepEqual(crowdedMachines(rowsOf({ ...launch, marks }, end, again), cluster, 1), []);
  });

  it("are tried at both sides of each call that changes something, until it has succeeded", () => {
    const refused = { action: "elasticloadbalancing:RegisterTargets", status: 400 };
    const look = { action: "ec2:DescribeVpcs", isMutating: false };
    const calls = callsOf(
      { ...launch, marks },
      refused,
      refused,
      { ...refused, status: 200, changes: ["+ targets t"] },
      look,
      look,
      look,
      look,
    );
    const told = awsBoundaries(calls).map(({ side, what, nth }) => `${side} ${what} ${nth}`);
    assert.deepEqual(told, [
      "before ec2:RunInstances 1",
      "after ec2:RunInstances 1",
      "before elasticloadbalancing:RegisterTargets 1",
      "after elasticloadbalancing:RegisterTargets 1",
      ...["before", "after"].flatMap((side) =>
        [1, 2].map((nth) => `${side} ec2:DescribeVpcs ${nth}`),
      ),
    ]);
  });
});
