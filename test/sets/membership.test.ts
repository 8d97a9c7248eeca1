import assert from "node:assert/strict";
import { changeMembers, type MembershipRequest } from "../../src/sets/membership.js";
import { type ClaimableMachine, claimOf } from "../../src/sets/ownership.js";
import type { Profile } from "../../src/api/set-profile.js";

describe("members of a set", () => {
  const machines = (deleting: string, staying: string) =>
    Array.from(deleting + staying, (name) => ({
      name,
      deleting: deleting.includes(name),
      ready: true,
      available: true,
    }));
  const change = (about: Partial<MembershipRequest> & Pick<MembershipRequest, "profile">) =>
    changeMembers({ replicas: 3, machines: machines("", "abc"), nowMs: 0, ...about });

  const cases: {
    name: string;
    profile: Profile;
    given: Partial<MembershipRequest>;
    want: object;
  }[] = [
    { name: "are enough", profile: "modern", given: {}, want: { kind: "none" } },
    {
      name: "are made",
      profile: "modern",
      given: { replicas: 5 },
      want: { kind: "create", count: 2 },
    },
    {
      name: "are not made again where a user deletes for a rollout",
      profile: "modern",
      given: { replicas: 5, noCreation: true },
      want: { kind: "none" },
    },
    {
      name: "are deleted in order",
      profile: "modern",
      given: { replicas: 1 },
      want: { kind: "delete", names: ["a", "b"] },
    },
    {
      name: "that are going are not deleted twice, and make up for others",
      profile: "modern",
      given: { replicas: 1, machines: machines("c", "ab") },
      want: { kind: "delete", names: ["a"] },
    },
    {
      name: "that are going stand in the way of new ones",
      profile: "modern",
      given: { machines: machines("c", "ab") },
      want: { kind: "none" },
    },
    {
      name: "that are going are not seen by v1alpha1",
      profile: "v1alpha1",
      given: { machines: machines("c", "ab") },
      want: { kind: "create", count: 1 },
    },
    {
      name: "that are going do not make up for others in v1alpha1",
      profile: "v1alpha1",
      given: { replicas: 1, machines: machines("c", "ab") },
      want: { kind: "delete", names: ["a"] },
    },
  ];
  for (const { name, profile, given, want } of cases) {
    it(`${name} (${profile})`, () => assert.deepEqual(change({ ...given, profile }), want));
  }
});

describe("a claim", () => {
  const set = {
    uid: "mine",
    selector: {
      matchLabels: { app: "a" },
      matchExpressions: [{ key: "zone", operator: "Exists" as const }],
    },
  };
  const matching = { app: "a", zone: "z" };
  const cases: {
    name: string;
    given: Partial<ClaimableMachine>;
    v1alpha1: object;
    modern: object;
  }[] = [
    {
      name: "to its own",
      given: { controllerUid: "mine" },
      v1alpha1: { kind: "member" },
      modern: { kind: "member" },
    },
    { name: "adopts an orphan", given: {}, v1alpha1: { kind: "adopt" }, modern: { kind: "adopt" } },
    {
      name: "leaves another's alone",
      given: { controllerUid: "other" },
      v1alpha1: { kind: "notCounted", reason: "controlledByOther" },
      modern: { kind: "notCounted", reason: "controlledByOther" },
    },
    {
      name: "leaves a stranger alone",
      given: { labels: { app: "a" } },
      v1alpha1: { kind: "notCounted", reason: "noMatch" },
      modern: { kind: "notCounted", reason: "noMatch" },
    },
    {
      name: "counts its own no longer when labels change",
      given: { controllerUid: "mine", labels: { app: "b", zone: "z" } },
      v1alpha1: { kind: "orphaned" },
      modern: { kind: "orphaned" },
    },
    {
      name: "to what is being deleted",
      given: { controllerUid: "mine", deleting: true },
      v1alpha1: { kind: "notCounted", reason: "deleting" },
      modern: { kind: "member" },
    },
  ];
  for (const { name, given, v1alpha1, modern } of cases) {
    it(name, () => {
      const machine = { name: "m", labels: matching, deleting: false, ...given };
      assert.deepEqual(claimOf(set, machine, "v1alpha1"), v1alpha1);
      assert.deepEqual(claimOf(set, machine, "modern"), modern);
    });
  }
});
