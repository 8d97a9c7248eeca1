import assert from "node:assert/strict";
import type { CloudRow, LedgerRow } from "../../scenario/ledger-judge.js";
import type { ManifestObject } from "../targets.js";
import type { GateRow } from "./api-gate.js";
import {
  finalizerProblems,
  judgeSettled,
  judgeShown,
  type JudgedObject,
  type ShownWorld,
  type WatchCourse,
  watchLaws,
} from "./watch-judge.js";

const clusterUid = "uid-1";
const spec = { size: "small" };
const wanted: ManifestObject[] = [
  { kind: "Cluster", metadata: { name: "prod" }, spec: {} },
  {
    kind: "MachineDeployment",
    metadata: { name: "workers" },
    spec: { replicas: 1, template: { spec: { providerSpec: { value: spec } } } },
  },
];
const host: CloudRow = {
  id: "host-1",
  kind: "LocalHost",
  state: "running",
  name: "workers-aaaaaaaa-0-bbbbbbbb-1",
  token: "token-1",
  cluster: "default/prod",
  clusterUid,
  spec,
};
const machine: JudgedObject = {
  kind: "Machine",
  metadata: {
    name: "workers-aaaaaaaa-0",
    uid: "m",
    finalizers: ["machine.cluster.k8s.io"],
    generation: 1,
  },
  spec: {},
  status: { phase: "Running", providerStatus: { id: "host-1" }, nodeRef: { name: host.name } },
};
const counts = { replicas: 1, readyReplicas: 1, availableReplicas: 1 };
const set: JudgedObject = {
  kind: "MachineSet",
  metadata: {
    name: "workers-aaaaaaaa",
    uid: "s",
    generation: 1,
    ownerReferences: [{ kind: "MachineDeployment", name: "workers" }],
  },
  spec: { replicas: 1 },
  status: counts,
};
const deployment: JudgedObject = {
  kind: "MachineDeployment",
  metadata: { name: "workers", uid: "d", generation: 2 },
  spec: wanted[1]!.spec,
  status: { ...counts, updatedReplicas: 1, observedGeneration: 2 },
};
const cluster: JudgedObject = {
  kind: "Cluster",
  metadata: {
    name: "prod",
    uid: "c",
    generation: 1,
    finalizers: ["cluster.cluster.k8s.io"],
    annotations: { "capstan.dev/cluster-uid": clusterUid, "capstan.dev/bound-to": "c" },
  },
  spec: {},
  status: { phase: "Running", machines: { summary: "1/1" }, observedGeneration: 1, revision: 2 },
};
const right: ShownWorld = {
  rows: [host],
  objects: [cluster, deployment, set, machine],
  wanted,
  names: undefined,
};

function changed(object: JudgedObject, change: Partial<JudgedObject>): ShownWorld {
  const objects = right.objects.map((one) => (one === object ? { ...one, ...change } : one));
  return { ...right, objects };
}

describe("the judge of the watch loop", () => {
  it("finds nothing wrong where nothing is", () => {
    assert.deepEqual(judgeShown(right), []);
  });

  const wrong: Record<string, readonly [ShownWorld, RegExp]> = {
    "a Machine that shows another host": [
      changed(machine, { status: { ...machine.status, providerStatus: { id: "host-2" } } }),
      /Machine workers-aaaaaaaa-0: it shows host host-2/,
    ],
    "a Machine without a finalizer": [
      changed(machine, { metadata: { ...machine.metadata, finalizers: [] } }),
      /its finalizers are \[\]/,
    ],
    "a host without a Machine": [
      { ...right, objects: right.objects.filter((one) => one !== machine) },
      /has no Machine/,
    ],
    "a Machine without a host": [{ ...right, rows: [] }, /has no host/],
    "a set that is behind": [
      changed(set, { status: { ...counts, readyReplicas: 0 } }),
      /MachineSet workers-aaaaaaaa says readyReplicas 0, there are 1/,
    ],
    "two sets in use": [
      {
        ...right,
        objects: [...right.objects, { ...set, metadata: { ...set.metadata, name: "workers-b" } }],
      },
      /has 2 sets in use/,
    ],
    "an edit that nobody has seen": [
      changed(deployment, { metadata: { ...deployment.metadata, generation: 3 } }),
      /MachineDeployment workers has seen generation 2 of 3/,
    ],
    "an edit that was written over": [
      changed(deployment, { spec: { ...deployment.spec, replicas: 2 } }),
      /MachineDeployment workers has lost what its user wrote/,
    ],
    "a Cluster that still shows a transaction": [
      changed(cluster, { status: { ...cluster.status, transaction: {} } }),
      /Cluster prod: it shows a transaction/,
    ],
    "a Cluster that is bound to another one": [
      changed(cluster, {
        metadata: { ...cluster.metadata, annotations: { "capstan.dev/cluster-uid": clusterUid } },
      }),
      /it is bound to undefined/,
    ],
    "a Cluster that remembers another UID": [
      {
        ...right,
        rows: [{ ...host, clusterUid: "uid-2" }],
      },
      /it remembers uid-1, the cloud has uid-2/,
    ],
    "names of chance": [
      { ...right, names: ["Cluster prod", "MachineSet workers-cccccccc"] },
      /undisturbed there are/,
    ],
    "an object that outlives its cluster": [
      { ...right, rows: [], wanted: undefined },
      /MachineSet workers-aaaaaaaa is still there/,
    ],
    "a host that outlives its cluster": [{ ...right, wanted: undefined }, /host-1\) lives/],
  };
  for (const [name, [world, want]] of Object.entries(wrong)) {
    it(`finds ${name}`, () => assert.match(judgeShown(world).join("\n"), want));
  }

  it("holds what is shown against what is recorded", () => {
    const recorded = (transaction: number, revision: number) => ({
      resources: [
        {
          urn: "t",
          type: "pulumi-nodejs:dynamic/capstan:Transaction",
          inputs: { number: transaction },
        },
        { urn: "r", type: "pulumi-nodejs:dynamic/capstan:Revision", inputs: { number: revision } },
      ],
    });
    const told = (transaction: number, revision: number) =>
      judgeSettled(right, recorded(transaction, revision)).unwanted;
    assert.deepEqual(told(2, 2), []);
    assert.match(told(3, 2).join(), /transaction 3 is open/);
    assert.match(told(3, 3).join(), /revision 3 is shown as 2/);
  });

  it("sees what is let go while it lives", () => {
    const letGo = (name: string) => finalizerProblems({ what: "letGo", name }, [host]);
    assert.equal(letGo("Cluster prod").length, 1);
    assert.equal(letGo("Machine workers-aaaaaaaa-0").length, 1);
    assert.deepEqual(letGo("Machine workers-aaaaaaaa-1"), []);
    assert.deepEqual(finalizerProblems({ what: "claim", name: "Cluster prod" }, [host]), []);
    const gone = { ...host, state: "terminated" };
    assert.deepEqual(finalizerProblems({ what: "letGo", name: "Cluster prod" }, [gone]), []);
  });
});

describe("the laws of the watch loop", () => {
  const entry = (atMs: number, effect: string, id: string, more: Partial<LedgerRow> = {}) => ({
    seq: atMs,
    atMs,
    pid: 1,
    call: "create",
    effect,
    fault: null,
    kind: "LocalHost",
    id,
    cluster: "default/prod",
    name: host.name,
    ...more,
  });
  const write = (doneMs: number, what: GateRow["what"], door: string, name = "Cluster prod") => ({
    what,
    name,
    door,
    doneMs,
    status: 200,
    body: "",
  });
  const course = (ledger: LedgerRow[], gate: GateRow[]): WatchCourse => ({
    ledger,
    gate,
    doors: new Map([
      [1, "one"],
      [2, "two"],
    ]),
    most: new Map([["workers", 1]]),
  });
  const began = [write(1, "lease", "one"), write(2, "claim", "one")];

  it("are kept by one who leads and waits for the old host to go", () => {
    const ledger = [
      entry(3, "created", "a"),
      entry(4, "terminated", "a"),
      entry(5, "created", "b"),
    ];
    assert.deepEqual(watchLaws(course(ledger, began)), []);
  });

  it("are broken by two living hosts of one machine", () => {
    const told = watchLaws(course([entry(3, "created", "a"), entry(4, "created", "b")], began));
    assert.match(told.join("\n"), /two hosts of workers-aaaaaaaa-0 live at once/);
    assert.match(told.join("\n"), /2 hosts of workers live at once, not 1/);
  });

  it("are broken by whoever calls after another one has the lease", () => {
    const gate = [...began, write(4, "lease", "two")];
    const late = [entry(3, "created", "a"), entry(5, "terminated", "a")];
    assert.deepEqual(watchLaws(course(late, gate)), [
      "one did create " + host.name + " while two led",
    ]);
    const itsOwn = [entry(3, "created", "a"), entry(5, "terminated", "a", { pid: 2 })];
    assert.deepEqual(watchLaws(course(itsOwn, gate)), []);
    const underWay = [entry(3, "created", "a"), entry(5, "updated", "a", { fault: "late 9" })];
    assert.deepEqual(watchLaws(course(underWay, gate)), []);
  });

  it("are not broken by what was on its way by then, once for each call", () => {
    const gate = [...began, write(4, "lease", "two")];
    const asked = [entry(3, "created", "a"), entry(3.5, "delayed", "a", { call: "update" })];
    const done = entry(5, "updated", "a", { call: "update" });
    assert.deepEqual(watchLaws(course([...asked, done], gate)), []);
    assert.equal(watchLaws(course([...asked, done, { ...done, atMs: 6 }], gate)).length, 1);
    assert.equal(watchLaws(course([...asked, { ...done, call: "terminate" }], gate)).length, 1);
  });

  it("are broken by a call before the claim", () => {
    const told = watchLaws(course([entry(3, "created", "a")], [write(1, "lease", "one")]));
    assert.match(told.join(), /was made before its Cluster was claimed/);
  });
});
