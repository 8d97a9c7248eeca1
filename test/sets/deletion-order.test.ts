import assert from "node:assert/strict";
import {
  type DeletePolicy,
  type DeletionCandidate,
  selectForDeletion,
} from "../../src/sets/deletion-order.js";
import type { Profile } from "../../src/api/set-profile.js";

const nowMs = Date.parse("2024-06-15T12:00:00Z");
const hourMs = 3_600_000;

interface OrderCase {
  name: string;
  profile: Profile;
  policy?: DeletePolicy;
  machines: Partial<DeletionCandidate>[];
  want: string;
}

const cases: OrderCase[] = [
  {
    name: "v1alpha1 takes an empty mark for none",
    profile: "v1alpha1",
    machines: [
      { annotations: { "cluster.k8s.io/delete-machine": "" } },
      { errorMessage: "broken" },
    ],
    want: "bac",
  },
  {
    name: "v1alpha1 ranks a mark and an error alike, below a deletion",
    profile: "v1alpha1",
    machines: [
      { errorReason: "CreateError" },
      { annotations: { "cluster.k8s.io/delete-machine": "1" } },
      { deleting: true },
    ],
    want: "cabd",
  },
  {
    name: "v1alpha1 breaks open ties by availability",
    profile: "v1alpha1",
    machines: [{ available: true }, { available: false }],
    want: "bac",
  },
  {
    name: "v1alpha1 does not let availability go before age",
    profile: "v1alpha1",
    policy: "Oldest",
    machines: [
      { available: true, createdAtMs: nowMs - 2 * hourMs },
      { available: false, createdAtMs: nowMs - hourMs },
    ],
    want: "abc",
  },
  {
    name: "a machine from the future counts as just made",
    profile: "modern",
    policy: "Oldest",
    machines: [{ createdAtMs: nowMs + hourMs }, { createdAtMs: nowMs - hourMs }],
    want: "bac",
  },
  {
    name: "modern goes down its ladder",
    profile: "modern",
    policy: "Newest",
    machines: [
      { createdAtMs: nowMs - hourMs },
      { healthy: false },
      { updating: true },
      { annotations: { "cluster.x-k8s.io/delete-machine": "" } },
      { deleting: true },
    ],
    want: "edcbfa",
  },
  {
    name: "modern takes an annotation of an update in progress for one",
    profile: "modern",
    machines: [
      { ready: false },
      { annotations: { "in-place-updates.internal.cluster.x-k8s.io/update-in-progress": "" } },
    ],
    want: "bac",
  },
  {
    name: "modern does not know v1alpha1's mark, nor errors",
    profile: "modern",
    machines: [
      {},
      { annotations: { "cluster.k8s.io/delete-machine": "yes" } },
      { errorReason: "CreateError" },
    ],
    want: "abcd",
  },
];

describe("the deletion order", () => {
  for (const { name, profile, policy, machines, want } of cases) {
    it(name, () => {
      // The last machine is one that nothing speaks against.
      const named = [...machines, {}].map((about, index) => ({
        name: String.fromCharCode(97 + index),
        deleting: false,
        ...about,
      }));
      const picked = selectForDeletion({
        profile,
        ...(policy !== undefined && { policy }),
        count: named.length,
        machines: named,
        nowMs,
      });
      assert.equal(picked.map((machine) => machine.name).join(""), want);
    });
  }
});
