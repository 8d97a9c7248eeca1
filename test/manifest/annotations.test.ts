import assert from "node:assert/strict";
import { localApiVersion } from "../../providers/local/specs.js";
import { keyAlgorithmOf } from "../../src/api/key-algorithm.js";
import { askedStage } from "../../src/api/key-stage.js";
import { allowedRemovals, isProtecting, protectedName } from "../../src/api/protection.js";
import { profileOf } from "../../src/api/set-profile.js";
import { apiVersion } from "../../src/api/schema.js";
import { type Desired, objectsOf } from "../../src/api/types.js";
import { policiesOf } from "../../src/compile/update-policy.js";
import { budgetsOf } from "../../src/drift/budgets.js";
import { driftPoliciesOf } from "../../src/drift/policy.js";
import { annotationRules } from "../../src/manifest/annotations.js";
import { type Manifests, readDesired, readObjects } from "../../src/manifest/desired.js";
import { leftoverPolicyOf } from "../../src/api/leftover-policy.js";
import { renewalDaysOf } from "../../src/api/certificate-renewal.js";
import { lookupWishOf } from "../../src/api/refresh-lookups.js";
import type { TargetMachine } from "../../src/records/target.js";
import { goFirst } from "../../src/sets/expand-set.js";
import {
  cluster,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
  textOf,
} from "../support/manifests.js";

/** Every place in which an annotation can stand: an object, and a path in it. */
const places = {
  Cluster: ["Cluster", "metadata"],
  Machine: ["Machine", "metadata"],
  MachineSet: ["MachineSet", "metadata"],
  MachineDeployment: ["MachineDeployment", "metadata"],
  MachineClass: ["MachineClass", "metadata"],
  "template of a MachineSet": ["MachineSet", "spec", "template", "metadata"],
  "template of a MachineDeployment": ["MachineDeployment", "spec", "template", "metadata"],
  "Node of a Machine": ["Machine", "spec", "metadata"],
  "Node of a MachineSet": ["MachineSet", "spec", "template", "spec", "metadata"],
  "Node of a MachineDeployment": ["MachineDeployment", "spec", "template", "spec", "metadata"],
} as const;
type Place = keyof typeof places;

const sets = ["MachineSet", "MachineDeployment"] as const;
const objects = ["Cluster", "Machine", ...sets] as const;
const templates = ["template of a MachineSet", "template of a MachineDeployment"] as const;
const aboveMachines = [...objects, ...templates] as const;

/** The whole truth: where each annotation is read; it is refused in every other place. */
const table: readonly {
  readonly name: string;
  readonly value: string;
  readonly readOn: readonly Place[];
}[] = [
  { name: "capstan.dev/update-policy", value: "inPlaceOnly", readOn: aboveMachines },
  { name: "capstan.dev/drift-policy", value: "ignore", readOn: aboveMachines },
  { name: "capstan.dev/profile", value: "modern", readOn: sets },
  { name: "capstan.dev/protect", value: "true", readOn: objects },
  { name: "capstan.dev/key-algorithm", value: "RSA-2048", readOn: ["Cluster"] },
  { name: "capstan.dev/keys", value: "1+2", readOn: ["Cluster"] },
  { name: "capstan.dev/allow-removal", value: "workers", readOn: ["Cluster"] },
  { name: "capstan.dev/leftovers", value: "remove", readOn: ["Cluster"] },
  { name: "capstan.dev/leftover-data", value: "remove", readOn: ["Cluster"] },
  { name: "capstan.dev/drift-max-unhealthy", value: "7", readOn: ["Cluster"] },
  { name: "capstan.dev/drift-max-in-flight", value: "7", readOn: ["Cluster"] },
  { name: "capstan.dev/drift-freeze", value: "7m", readOn: ["Cluster"] },
  { name: "capstan.dev/drift-thaw", value: "0123456789ab", readOn: ["Cluster"] },
  { name: "capstan.dev/certificates-expiry-days", value: "30", readOn: ["Cluster"] },
  { name: "capstan.dev/refresh-lookups", value: "2026-11-23", readOn: ["Cluster"] },
];

/** One object of each kind, with more at one place. */
function manifestsWith(place?: Place, annotations: Readonly<Record<string, string>> = {}) {
  const given: Manifest[] = [
    cluster(),
    machine("m"),
    machineSet("s", 1),
    machineDeployment("d", 1),
    {
      apiVersion,
      kind: "MachineClass",
      metadata: { name: "c" },
      providerSpec: { apiVersion: localApiVersion, kind: "LocalMachineProviderSpec" },
    },
  ];
  if (place === undefined) return given;
  const [kind, ...path] = places[place];
  return given.map((one) => (one["kind"] === kind ? within(one, path, { annotations }) : one));
}

function within(manifest: Manifest, [first, ...rest]: readonly string[], more: Manifest): Manifest {
  if (first === undefined) return { ...manifest, ...more };
  const member = (manifest[first] ?? {}) as Manifest;
  return { ...manifest, [first]: within(member, rest, more) };
}

/** What annotations decide. */
function decisionsIn(desired: Desired | undefined): unknown {
  assert.ok(desired !== undefined);
  const all = objectsOf(desired);
  const machines: readonly Pick<TargetMachine, "name" | "owner" | "controlPlane">[] = [
    { name: "m", controlPlane: false },
    { name: "s-0", controlPlane: false, owner: { machineSet: "s", ordinal: 0 } },
    {
      name: "d-x-0",
      controlPlane: false,
      owner: { machineSet: "d-x", machineDeployment: "d", ordinal: 0 },
    },
  ];
  const both = [...desired.machineSets, ...desired.machineDeployments];
  return {
    updates: machines.map(policiesOf(all)),
    drift: machines.map((one) => driftPoliciesOf(all)({ machine: one })),
    profiles: both.map(profileOf),
    marks: both.map((set) => [...goFirst(set).marked]),
    protected: all.filter(({ metadata }) => isProtecting(metadata.annotations)).map(protectedName),
    removals: allowedRemovals(desired.cluster),
    leftovers: leftoverPolicyOf(desired.cluster.metadata.annotations),
    budgets: budgetsOf(all),
    keys: [keyAlgorithmOf(desired.cluster), askedStage(desired.cluster)],
    renewal: renewalDaysOf(all) ?? 0,
    wish: lookupWishOf(desired.cluster) ?? "",
  };
}

const holders: Readonly<Record<string, (given: readonly Manifest[]) => Manifests>> = {
  files: (given) => readDesired([{ file: "a.yaml", text: textOf(given) }], [localProvider()]),
  "an API server": (given) =>
    readObjects(
      given.map((value) => ({ name: String(value["kind"]), value: structuredClone(value) })),
      [localProvider()],
    ),
};

/** "read": accepted, and something is decided otherwise; else the code of what is reported at the place. */
function fateOf(read: (given: readonly Manifest[]) => Manifests, name: string, value: string) {
  const plain = decisionsIn(read(manifestsWith()).clusters[0]);
  return Object.fromEntries(
    (Object.keys(places) as Place[]).map((place) => {
      const { clusters, diagnostics } = read(manifestsWith(place, { [name]: value }));
      const [, ...path] = places[place];
      const [found] = diagnostics;
      if (found !== undefined) {
        assert.equal(diagnostics.length, 1);
        assert.equal(found.path, [...path, "annotations", name].join("."));
        return [place, found.code];
      }
      const isHeeded = JSON.stringify(decisionsIn(clusters[0])) !== JSON.stringify(plain);
      return [place, isHeeded ? "read" : "silent"];
    }),
  );
}

function row(readOn: readonly Place[], elsewhere: string) {
  return Object.fromEntries(
    (Object.keys(places) as Place[]).map((place) => [
      place,
      readOn.includes(place) ? "read" : elsewhere,
    ]),
  );
}

describe("annotations, in every place", () => {
  for (const [holder, read] of Object.entries(holders)) {
    for (const { name, value, readOn } of table) {
      it(`${name} is read or refused, from ${holder}`, () =>
        assert.deepEqual(fateOf(read, name, value), row(readOn, "NOT_ALLOWED")));
    }

    it(`a delete mark is read, or warned of, from ${holder}`, () => {
      const name = "cluster.k8s.io/delete-machine";
      assert.deepEqual(fateOf(read, name, "m"), row(sets, "NO_EFFECT"));
    });
  }

  it("are all in the table, but for a pause, which needs somebody who works by himself", () => {
    const known = [...table.map(({ name }) => name), "capstan.dev/paused"];
    assert.deepEqual(Object.keys(annotationRules).sort(), known.sort());
    const refused = row([], "NOT_ALLOWED");
    const fates = Object.values(holders).map((read) => fateOf(read, "capstan.dev/paused", "x"));
    // What it decides in an API server is decided before its objects are read.
    assert.deepEqual(fates, [refused, { ...refused, Cluster: "silent" }]);
  });

  describe("say what to do instead", () => {
    const cases: [place: Place, name: string, value: string, want: string][] = [
      [
        "Machine",
        "capstan.dev/profile",
        "modern",
        "is not read on a Machine; set it on a MachineSet or MachineDeployment",
      ],
      [
        "template of a MachineSet",
        "capstan.dev/protect",
        "true",
        "is not read in a template; set it on a Cluster, Machine, MachineSet or MachineDeployment",
      ],
      [
        "MachineClass",
        "capstan.dev/update-policy",
        "inPlaceOnly",
        "is not read on a MachineClass; set it on a Cluster, Machine, MachineSet or MachineDeployment, or in a template",
      ],
      [
        "Node of a Machine",
        "capstan.dev/drift-freeze",
        "never",
        "is not read on a Node; set it on the Cluster",
      ],
      [
        "Cluster",
        "capstan.dev/paused",
        "x",
        "is not read in files; set it on the Cluster in an API server",
      ],
      [
        "Machine",
        "cluster.k8s.io/delete-machine",
        "yes",
        "chooses no Machine: no set has made this one; set it on a MachineSet or MachineDeployment, with the names of those of its Machines that shall go first",
      ],
      [
        "template of a MachineDeployment",
        "cluster.x-k8s.io/delete-machine",
        "",
        "chooses no Machine: all of the set would carry it; set it on a MachineSet or MachineDeployment, with the names of those of its Machines that shall go first",
      ],
    ];
    for (const [place, name, value, want] of cases) {
      it(`${name} at ${place}`, () => {
        const { diagnostics } = holders["files"]!(manifestsWith(place, { [name]: value }));
        assert.deepEqual(
          diagnostics.map(({ summary, hint = "" }) => `${summary}; ${hint}`),
          [want],
        );
      });
    }
  });
});
