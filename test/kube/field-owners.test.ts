import assert from "node:assert/strict";
import {
  conditionsBeside,
  type ManagedFields,
  releasedToUsers,
} from "../../src/kube/field-owners.js";

const owner = { ".": {}, 'k:{"uid":"u"}': {} };

describe("releasedToUsers", () => {
  const user: ManagedFields = {
    manager: "kubectl",
    fieldsV1: { "f:spec": { "f:versions": { "f:kubelet": {} } } },
  };
  const status: ManagedFields = {
    manager: "capstan",
    subresource: "status",
    fieldsV1: { "f:status": { "f:phase": {} } },
  };
  const ofCapstan = (fieldsV1: NonNullable<ManagedFields["fieldsV1"]>): ManagedFields => ({
    manager: "capstan",
    fieldsV1,
  });
  for (const { name, given, want } of [
    {
      name: "keeps what no user writes",
      given: ofCapstan({
        "f:metadata": {
          "f:finalizers": { ".": {}, 'v:"machine.cluster.k8s.io"': {} },
          "f:ownerReferences": owner,
          "f:annotations": { "f:capstan.dev/cluster-uid": {}, "f:team": {} },
          "f:labels": { "f:set": {} },
        },
        "f:spec": { "f:providerID": {}, "f:versions": { "f:kubelet": {} } },
      }),
      want: [
        ofCapstan({
          "f:metadata": {
            "f:finalizers": { ".": {}, 'v:"machine.cluster.k8s.io"': {} },
            "f:ownerReferences": owner,
            "f:annotations": { "f:capstan.dev/cluster-uid": {} },
          },
          "f:spec": { "f:providerID": {} },
        }),
      ],
    },
    {
      name: "drops an entry of which nothing is left",
      given: ofCapstan({
        "f:metadata": { "f:annotations": { ".": {}, "f:team": {} } },
        "f:spec": { "f:replicas": {} },
      }),
      want: [],
    },
    { name: "leaves those of others", given: user, want: [user] },
    { name: "leaves that of the status", given: status, want: [status] },
  ]) {
    it(name, () => {
      assert.deepEqual(releasedToUsers([given]), want);
      assert.deepEqual(releasedToUsers(want), want, "a second time it changes nothing");
    });
  }
});

describe("conditionsBeside", () => {
  const condition = (type: string, status = "True") => ({ type, status });
  const owning = (...types: readonly string[]): ManagedFields[] => [
    {
      manager: "capstan",
      subresource: "status",
      fieldsV1: {
        "f:status": {
          "f:conditions": Object.fromEntries(
            types.map((type) => [`k:${JSON.stringify({ type })}`, {}]),
          ),
        },
      },
    },
  ];
  const ready = condition("Ready");
  const foreign = condition("Backup");
  for (const { name, own, present, entries, want } of [
    {
      name: "keeps those of other controllers",
      own: [condition("Ready", "False")],
      present: [foreign, ready],
      entries: owning("Ready"),
      want: [condition("Ready", "False"), foreign],
    },
    {
      name: "drops its own that it writes no more",
      own: [ready],
      present: [ready, condition("Deleting"), foreign],
      entries: owning("Ready", "Deleting"),
      want: [ready, foreign],
    },
    {
      name: "leaves the order as it is",
      own: [ready],
      present: [foreign, ready],
      entries: owning("Ready"),
      want: [foreign, ready],
    },
    {
      name: "counts a list as its own that is accounted for as a whole",
      own: [ready],
      present: [ready, condition("Deleting")],
      entries: owning(),
      want: [ready],
    },
    {
      name: "counts a list of others as theirs",
      own: [ready],
      present: [foreign],
      entries: undefined,
      want: [ready, foreign],
    },
  ]) {
    it(name, () => assert.deepEqual(conditionsBeside(own, present, entries), want));
  }
});
