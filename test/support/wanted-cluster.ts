import fc from "fast-check";
import type { Desired } from "../../src/api/types.js";
import { allowRemovalAnnotation, removals } from "../../src/api/protection.js";
import {
  annotated,
  cluster,
  type ClusterShape,
  desiredOf,
  machine,
  machineDeployment,
  type MachineShape,
  machineSet,
  type Manifest,
  type RollingShape,
} from "./manifests.js";

/** A whole cluster as a user could want it. Keys are object names, so they never clash. */
export interface WantedCluster {
  readonly cluster: ClusterShape;
  readonly machines: Readonly<Record<string, MachineShape>>;
  readonly sets: Readonly<Record<string, Group>>;
  readonly deployments: Readonly<Record<string, RollingGroup>>;
}

interface Group {
  readonly replicas: number;
  readonly template: MachineShape;
}

interface RollingGroup extends Group {
  readonly rolling?: RollingShape;
}

export function manifestsOf({
  cluster: shape,
  machines,
  sets,
  deployments,
}: WantedCluster): Manifest[] {
  return [
    annotated({ [allowRemovalAnnotation]: removals.join(",") }, cluster(shape)),
    ...Object.entries(machines).map(([name, spec]) => machine(name, spec)),
    ...Object.entries(sets).map(([name, { replicas, template }]) =>
      machineSet(name, replicas, template),
    ),
    ...Object.entries(deployments).map(([name, { replicas, template, rolling }]) =>
      machineDeployment(name, replicas, template, rolling),
    ),
  ];
}

const known = new Map<string, Desired>();

/** Read once for each of them: models ask for the same few again and again. */
export function desiredCluster(wanted: WantedCluster): Desired {
  const text = JSON.stringify(wanted);
  const desired = known.get(text) ?? desiredOf(manifestsOf(wanted));
  known.set(text, desired);
  return desired;
}

// Few values each, so that edits often come back to where they were.
const workerShape: fc.Arbitrary<MachineShape> = fc.record({
  size: fc.constantFrom("small", "medium"),
  diskGib: fc.constantFrom(20, 30, 40),
  kubelet: fc.constantFrom("1.34.2", "1.35.0"),
  tags: fc.constantFrom({}, { team: "a" }, { team: "b" }),
});

const memberShape = workerShape.map((shape): MachineShape => ({
  ...shape,
  controlPlane: "1.35.0",
}));

const group = fc.record({ replicas: fc.nat({ max: 3 }), template: workerShape });

function some<T>(
  names: readonly string[],
  member: fc.Arbitrary<T>,
): fc.Arbitrary<Record<string, T>> {
  return fc.tuple(...names.map(() => fc.option(member, { nil: undefined }))).map((members) => {
    const entries = names.map((name, index) => [name, members[index]] as const);
    return Object.fromEntries(
      entries.filter((entry): entry is [string, T] => entry[1] !== undefined),
    );
  });
}

/** Grown, shrunk, kept or not. */
const volumes = fc.constantFrom(
  { gib: 1 },
  { gib: 2 },
  { gib: 1, whenHostGoes: "keep" as const },
  { gib: 2, whenHostGoes: "keep" as const },
);

/** What a host may be where there is no room for it. */
const others = { otherSizes: fc.constantFrom(["large"], ["small"], ["large", "small"]) };

/** Few and small, with everything a transaction can meet: new, changed, replaced, gone, upgraded. */
export const smallClusters: fc.Arbitrary<WantedCluster> = fc.record({
  cluster: fc.record(
    {
      cidr: fc.oneof(
        { weight: 4, arbitrary: fc.constant("10.0.0.0/16") },
        { weight: 1, arbitrary: fc.constant("10.1.0.0/16") },
      ),
      // Nobody names a zone, so each of these may move hosts.
      failureDomains: fc.constantFrom(["local-a", "local-b"], ["local-b", "local-c"], ["local-b"]),
      registersHosts: fc.constantFrom(false, true),
    },
    { requiredKeys: ["cidr"] },
  ),
  machines: fc
    .tuple(
      fc.record(
        {
          tags: fc.constantFrom({}, { team: "a" }),
          size: fc.constantFrom("small", "medium"),
          ...others,
          resizable: fc.constantFrom(true),
          controlPlane: fc.constantFrom("1.34.2", "1.34.2", "1.35.0"),
          diskGib: fc.constantFrom(20, 20, 30),
        },
        { requiredKeys: ["tags", "size", "controlPlane", "diskGib"] },
      ),
      some(
        ["db-0"],
        fc.record(
          { diskGib: fc.constantFrom(20, 30), tags: fc.constant({}), dataVolume: volumes },
          { requiredKeys: ["diskGib", "tags"] },
        ),
      ),
    )
    .map(([member, workers]) => ({ "cp-0": member, ...workers })),
  sets: fc.constant({}),
  deployments: some(
    ["web"],
    fc.record({
      replicas: fc.nat({ max: 2 }),
      template: fc.record(
        {
          size: fc.constantFrom("small", "medium"),
          ...others,
          dataVolume: volumes,
          resizable: fc.constantFrom(true),
        },
        { requiredKeys: ["size"] },
      ),
    }),
  ),
});

/** Clusters from a small world of names and values. */
export const wantedClusters: fc.Arbitrary<WantedCluster> = fc.record({
  cluster: fc.record({
    cidr: fc.constantFrom("10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/16"),
    bootMs: fc.constantFrom(100, 200),
  }),
  // A Machine cannot change its role while it lives, so its name decides it.
  machines: fc
    .tuple(some(["cp-0", "cp-1"], memberShape), some(["db-1", "db-01"], workerShape))
    .map(([members, workers]) => ({ ...members, ...workers })),
  sets: some(["set"], group),
  deployments: some(["web", "batch"], group),
});
