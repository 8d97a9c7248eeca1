import assert from "node:assert/strict";
import fc from "fast-check";
import { breachesOf, type History } from "../../support/histories.js";
import { inMutant, type Edit } from "../../support/mutant.js";
import { rolloutHistories } from "../../support/rollout-histories.js";

/** A defect, and what the laws of rollouts have to say about it. */
interface Defect {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly want: RegExp;
}

const defects: readonly Defect[] = [
  {
    name: "no machine has to be available",
    edits: [
      {
        find: "return Math.max(bounds.replicas - maxUnavailableOf(bounds), 0);",
        replace: "return 0;",
      },
    ],
    want: /^rollout: \d+ of \w+ serve after delete /,
  },
  {
    name: "all machines are changed in place at once",
    edits: [
      {
        find: "if (updating >= budget.limit || (machine.available && unavailable >= budget.limit))",
        replace: "if (false)",
      },
    ],
    want: /^rollout: \d+ of \w+ serve after update /,
  },
  {
    name: "every change in place passes for one of marks alone",
    edits: [
      {
        find: "step.changes.every(({ path }) => isNodeMark(path))",
        replace: "true",
      },
    ],
    want: /^rollout: \d+ of \w+ serve after update /,
  },
  {
    name: "one machine more than maxSurge",
    edits: [{ find: "fencepostsOf(bounds).maxSurge", replace: "($&) + 1" }],
    want: /^rollout: \d+ hosts of \w+ after create /,
  },
  {
    name: "old machines go before new ones are available",
    edits: [
      {
        find: "ready: one.available,\n        available: one.available,",
        replace: "ready: true, available: true,",
      },
      { find: "const waiting = unavailable(workers);", replace: "const waiting = [];" },
    ],
    want: /^rollout: \d+ of \w+ serve after delete /,
  },
  {
    name: "all members of the control plane at once",
    edits: [{ find: "return change([next], [], ", replace: "return change(open, [], " }],
    want: /^rollout: create cp-\S+ in pass \d+, after another member in the same pass/,
  },
  {
    name: "the next member before the last one serves",
    edits: [{ find: "const waiting = unavailable(members);", replace: "const waiting = [];" }],
    want: /^rollout: \w+ cp-\S+ in pass \d+, while the member cp-\S+ does not serve yet/,
  },
  {
    name: "members that the quorum needs",
    edits: [
      {
        find: "!isMajority(serving - Number(next.available), present.length)",
        replace: "false",
      },
      { find: "const waiting = unavailable(members);", replace: "const waiting = [];" },
    ],
    want: /^rollout: \d of \d members serve after update /,
  },
  {
    name: "other waves than those of the plan",
    edits: [{ find: 'open !== "create" && serves', replace: "serves" }],
    want: /^law 7: waves: shown /,
  },
];

describe("a defect in rollouts is seen", () => {
  const histories = fc.sample(rolloutHistories, { numRuns: 150, seed: 20 });

  for (const { name, edits, want } of defects) {
    it(name, async () => {
      const asked = { module: "test/support/histories.js", own: { breachesOf } };
      await inMutant(edits, asked, async (copy) => {
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
