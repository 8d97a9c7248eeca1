import fc from "fast-check";
import type { WantedCluster } from "./wanted-cluster.js";
import {
  accidents,
  type HistoryCommand,
  type History,
  faults,
  traits,
  waysOut,
} from "./histories.js";
import type { MachineShape, RollingShape } from "./manifests.js";

const amount = fc.oneof(
  fc.nat({ max: 3 }),
  fc.constantFrom("0%", "10%", "25%", "34%", "50%", "100%"),
);

const rolling: fc.Arbitrary<RollingShape> = fc.record(
  { maxSurge: amount, maxUnavailable: amount },
  { requiredKeys: [] },
);

/** Another kubelet restarts a host in place, a tag leaves it be, a label is its Node's alone, another size needs a new one. */
const template: fc.Arbitrary<MachineShape> = fc.record({
  size: fc.constantFrom("small", "medium"),
  kubelet: fc.constantFrom("1.34.1", "1.34.2"),
  tags: fc.constantFrom({}, { team: "a" }),
  labels: fc.constantFrom({}, {}, { tier: "a" }),
});

const member: fc.Arbitrary<MachineShape> = fc.record({
  size: fc.constantFrom("small", "medium"),
  tags: fc.constantFrom({}, { team: "a" }),
  controlPlane: fc.constantFrom("1.34.2", "1.34.2", "1.34.3", "1.35.0"),
});

const memberCount = fc.constantFrom(1, 3, 3, 3, 5);

const members = fc
  .tuple(memberCount, member)
  .map(([count, shape]) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`cp-${index}`, shape])),
  );

const deployment = (most: number) =>
  fc.record({ replicas: fc.nat({ max: most }), template, rolling });

const workers = fc.oneof(
  { weight: 4, arbitrary: fc.record({ web: deployment(8) }) },
  { weight: 1, arbitrary: fc.record({ web: deployment(4), batch: deployment(3) }) },
);

/** Members that users wrote, or those of a MachineDeployment. */
const parts: fc.Arbitrary<Pick<WantedCluster, "machines" | "deployments">> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ machines: members, deployments: workers }) },
  {
    weight: 1,
    arbitrary: fc.record({
      machines: fc.constant({}),
      deployments: fc.record({
        masters: fc.record({ replicas: memberCount, template: member }),
        web: deployment(4),
      }),
    }),
  },
);

/** Control planes of one, three and five members beside deployments with bounds of all kinds. */
export const rolloutClusters: fc.Arbitrary<WantedCluster> = fc
  .tuple(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant("10.0.0.0/16") },
      { weight: 1, arbitrary: fc.constant("10.1.0.0/16") },
    ),
    parts,
  )
  .map(([cidr, some]) => ({ cluster: { cidr }, sets: {}, ...some }));

const commands: fc.Arbitrary<HistoryCommand> = fc.record(
  {
    verb: fc.constantFrom("up" as const, "up" as const, "up" as const, "rollback" as const),
    wanted: rolloutClusters,
    accidents: fc.oneof(
      { weight: 4, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(accidents, { minLength: 1, maxLength: 2 }) },
    ),
    faults: fc.array(faults, { maxLength: 2 }),
    keeps: fc.boolean(),
  },
  { requiredKeys: ["verb", "wanted", "accidents", "faults"] },
);

/** Rollouts that anything can go wrong in, and edits in their middle. */
export const rolloutHistories: fc.Arbitrary<History> = fc.record({
  // One wave of slow deletions takes several passes, and waves are what is judged here.
  traits: traits.map((some) => ({ ...some, restarts: true, removalMs: 0 })),
  before: rolloutClusters,
  commands: fc.array(commands, { minLength: 1, maxLength: 3 }),
  wayOut: fc.constantFrom(...waysOut),
  third: rolloutClusters,
});
