import assert from "node:assert/strict";
import { objectsOf } from "../../src/api/types.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import {
  arrivalOf,
  departureOf,
  isMoving,
  movingMark,
  foreignAmong,
} from "../../src/kube/move-objects.js";
import { withoutClasses } from "../../src/kube/machine-classes.js";
import type { ApiWrite } from "../../src/kube/api-write.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

const key = "default/prod";
const mark = movingMark("first");
const objects = objectsOf(desiredOf([cluster(), machine("cp-0"), machineDeployment("web", 2)]));

const live = (kind: LiveObject["kind"], name: string, more: object = {}): LiveObject => ({
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind,
  spec: {},
  metadata: { name, namespace: "default", uid: `${kind}-${name}`, resourceVersion: "1", ...more },
});
const derived = {
  ownerReferences: [
    { apiVersion: "v1", kind: "MachineSet", name: "x", uid: "x", controller: true },
  ],
};
const deleting = { deletionTimestamp: "2026-01-01T00:00:00Z" };
const textOf = (write: ApiWrite): string =>
  write.kind === "create"
    ? `create ${write.object.kind} ${write.object.metadata.name}`
    : `${write.kind} ${write.on.kind} ${write.on.metadata.name}`;
const nothing = { key, members: [], classes: [], drainRules: [] };

describe("objects that move", () => {
  it("arrive with the Cluster first, and that paused", () => {
    const writes = arrivalOf(objects, nothing, mark);
    assert.deepEqual(writes.map(textOf), [
      "create Cluster prod",
      "create MachineDeployment web",
      "create Machine cp-0",
    ]);
    const [first] = writes;
    assert.ok(first?.kind === "create");
    assert.ok(isMoving({ ...live("Cluster", "prod"), ...first.object } as unknown as LiveObject));
  });

  it("are brought up to date where an earlier attempt has made them", () => {
    const annotations = { "capstan.dev/paused": mark };
    const writes = arrivalOf(
      objects,
      { ...nothing, cluster: live("Cluster", "prod", { annotations }) },
      mark,
    );
    assert.deepEqual(writes.map(textOf), [
      "patch Cluster prod",
      "create MachineDeployment web",
      "create Machine cp-0",
    ]);
    const made = arrivalOf(objects, nothing, mark).flatMap((write) =>
      write.kind === "create" ? [write.object] : [],
    );
    const [prod, ...members] = made.map(({ kind, metadata, spec }) => ({
      ...live(kind, metadata.name, metadata),
      spec,
    }));
    assert.ok(prod);
    assert.deepEqual(arrivalOf(objects, { ...nothing, cluster: prod, members }, mark), []);
  });

  it("do not arrive beside users' objects that the cluster does not have; derived ones do not count", () => {
    const members = [
      live("Machine", "cp-0"),
      live("Machine", "stray"),
      live("Machine", "web-1", derived),
    ];
    const names = foreignAmong(objects, { ...nothing, members }).map(
      ({ metadata }) => metadata.name,
    );
    assert.deepEqual(names, ["stray"]);
  });

  const held = { finalizers: ["machine.cluster.k8s.io", "somebody.else/holds"] };
  const everything = {
    ...nothing,
    cluster: live("Cluster", "prod", { finalizers: ["cluster.cluster.k8s.io"] }),
    members: [
      live("Machine", "cp-0", held),
      live("MachineSet", "web-1", derived),
      live("MachineDeployment", "web"),
    ],
  };
  const departures: readonly {
    readonly name: string;
    readonly given: Parameters<typeof departureOf>[0];
    readonly want: readonly string[];
  }[] = [
    { name: "makers first", given: everything, want: ["delete MachineDeployment web"] },
    {
      name: "then what they made",
      given: { ...everything, members: everything.members.slice(0, 2) },
      want: ["delete MachineSet web-1"],
    },
    {
      name: "Machines are deleted before they are let go",
      given: { ...everything, members: everything.members.slice(0, 1) },
      want: ["delete Machine cp-0"],
    },
    {
      name: "a Machine that is being deleted is let go",
      given: { ...everything, members: [live("Machine", "cp-0", { ...held, ...deleting })] },
      want: ["patch Machine cp-0"],
    },
    {
      name: "others' finalizers stay",
      given: {
        ...everything,
        members: [live("Machine", "cp-0", { finalizers: ["somebody.else/holds"], ...deleting })],
      },
      want: [],
    },
    {
      name: "the Cluster last",
      given: { ...everything, members: [] },
      want: ["delete Cluster prod"],
    },
    { name: "nothing of nothing", given: nothing, want: [] },
  ];
  for (const { name, given, want } of departures) {
    it(`leave: ${name}`, () => assert.deepEqual(departureOf(given).map(textOf), want));
  }

  it("keep a rule of the namespace that is there, and meet no other one of its name", () => {
    const ruleOf = (behavior: string) => ({
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "MachineDrainRule",
      metadata: { name: "r" },
      spec: { drain: { behavior } },
    });
    const moved = objectsOf(desiredOf([cluster(), ruleOf("Skip")]));
    const beside = (behavior: string) => ({
      ...nothing,
      drainRules: [{ ...live("MachineDrainRule", "r"), spec: ruleOf(behavior).spec }],
    });
    assert.deepEqual(foreignAmong(moved, beside("Skip")), []);
    assert.deepEqual(arrivalOf(moved, beside("Skip"), mark).map(textOf), ["create Cluster prod"]);
    assert.equal(foreignAmong(moved, beside("Drain")).length, 1);
  });

  it("let go of our finalizers and no others", () => {
    const machines = [live("Machine", "cp-0", { ...held, ...deleting })];
    const [write] = departureOf({ ...nothing, members: machines });
    assert.ok(write?.kind === "patch");
    const { finalizers } = write.patch["metadata"] as { finalizers?: unknown };
    assert.deepEqual(finalizers, ["somebody.else/holds"]);
  });

  it("carry what a class says in the place of its name, wherever it stands", () => {
    const resolved = {
      providerSpec: { value: { size: "small" }, valueFrom: { machineClass: { name: "small" } } },
    };
    assert.deepEqual(withoutClasses([{ spec: { template: { spec: resolved } } }]), [
      { spec: { template: { spec: { providerSpec: { value: { size: "small" } } } } } },
    ]);
    const unresolved = { valueFrom: { machineClass: { name: "small" } } };
    assert.deepEqual(withoutClasses(unresolved), unresolved);
  });
});
