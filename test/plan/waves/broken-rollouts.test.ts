import assert from "node:assert/strict";
import fc from "fast-check";
import { isQuiet } from "../../../src/plan/step.js";
import { hostSetOf, unavailable } from "../../../src/plan/waves/host-set.js";
import { isCrowded, roundOf } from "../../../src/plan/waves/members.js";
import { fencepostsOf } from "../../../src/sets/fenceposts.js";
import { inPlaceBudget } from "../../../src/sets/in-place.js";
import { breachesOf, type History } from "../../support/histories.js";
import { inMutant } from "../../support/mutant.js";
import { replaced, type Replacement } from "../../support/replacement.js";
import { noneHasToServe, workersAlwaysServe } from "../../support/rollout-defects.js";
import { rolloutHistories } from "../../support/rollout-histories.js";

/** A defect, and what the laws of rollouts have to say about it. */
interface Defect {
  readonly name: string;
  readonly replacements: readonly Replacement[];
  readonly want: RegExp;
}

const membersAlwaysServe = replaced(
  unavailable,
  (original) => (hosts) => original(hosts.filter(({ controlPlane }) => !controlPlane)),
);

const defects: readonly Defect[] = [
  {
    name: "no machine has to be available",
    replacements: noneHasToServe,
    want: /^rollout: \d+ of \w+ serve after delete /,
  },
  {
    name: "all machines are changed in place at once",
    replacements: [
      replaced(inPlaceBudget, (original) => (bounds, machines) => ({
        ...original(bounds, machines),
        limit: Infinity,
      })),
    ],
    want: /^rollout: \d+ of \w+ serve after update /,
  },
  {
    name: "every change in place passes for one of marks alone",
    replacements: [
      replaced(isQuiet, () => (step) => step.kind === "update" && step.changes.length > 0),
    ],
    want: /^rollout: \d+ of \w+ serve after update /,
  },
  {
    name: "one machine more than maxSurge",
    replacements: [
      replaced(fencepostsOf, (original) => (bounds) => {
        const posts = original(bounds);
        return { ...posts, maxSurge: posts.maxSurge + 1 };
      }),
    ],
    want: /^rollout: \d+ hosts of \w+ after create /,
  },
  {
    name: "old machines go before new ones are available",
    replacements: workersAlwaysServe,
    want: /^rollout: \d+ of \w+ serve after delete /,
  },
  {
    name: "all members of the control plane at once",
    replacements: [
      replaced(roundOf, (original) => (hostSet) => {
        const round = original(hostSet);
        if (round.kind !== "change" || round.deletions.length > 0) return round;
        const open = hostSet.hosts.filter((one) => one.controlPlane && one.open !== undefined);
        return { ...round, keys: open.map(({ host }) => host) };
      }),
    ],
    want: /^rollout: create cp-\S+ in pass \d+, after another member in the same pass/,
  },
  {
    name: "the next member before the last one serves",
    replacements: [membersAlwaysServe],
    want: /^rollout: \w+ cp-\S+ in pass \d+, while the member cp-\S+ does not serve yet/,
  },
  {
    name: "members that the quorum needs",
    replacements: [
      replaced(
        isCrowded,
        (original) => (members, old, next) =>
          next?.open !== "update" && original(members, old, next),
      ),
      membersAlwaysServe,
    ],
    want: /^rollout: \d of \d members serve after update /,
  },
  {
    name: "other waves than those of the plan",
    replacements: [
      replaced(hostSetOf, (original) => (plan, progress, steps) => {
        const hostSet = original(plan, progress, steps);
        const hosts = hostSet.hosts.map((one) =>
          one.open === "create"
            ? { ...one, available: progress.available.has(one.host) && !one.incomplete }
            : one,
        );
        return { ...hostSet, hosts };
      }),
    ],
    want: /^law 7: waves: shown /,
  },
];

describe("a defect in rollouts is seen", () => {
  const histories = fc.sample(rolloutHistories, { numRuns: 150, seed: 20 });

  for (const { name, replacements, want } of defects) {
    it(name, async () => {
      const asked = { module: "test/support/histories.js", own: { breachesOf } };
      await inMutant(replacements, asked, async (copy) => {
        const breaches = await breachesIn(copy, histories, want);
        assert.ok(
          breaches.some((breach) => want.test(breach)),
          `no breach is ${String(want)}: ${[...new Set(breaches)].slice(0, 9).join("\n")}`,
        );
      });
    });
  }
});

/** The breaches of one history after the other, until one is as wanted. */
async function breachesIn(
  copy: { readonly breachesOf: typeof breachesOf },
  histories: readonly History[],
  want: RegExp,
): Promise<string[]> {
  const found: string[] = [];
  for (const history of histories) {
    const breaches = await copy.breachesOf(history);
    found.push(...breaches);
    if (breaches.some((breach) => want.test(breach))) break;
  }
  return found;
}
