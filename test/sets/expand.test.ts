import assert from "node:assert/strict";
import { templateJudge } from "../../src/compile/compile.js";
import type { ExpandedMachine, RecordedMachine } from "../../src/sets/expanded.js";
import { expandMachines, expandObjects } from "../../src/sets/expand.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

/** Expands objects, given the machines of an earlier expansion. */
function expand(objects: readonly Manifest[], recorded: readonly RecordedMachine[] = []) {
  const desired = desiredOf([cluster(), ...objects]);
  return expandMachines(desired, recorded, templateJudge(localProvider(), desired.cluster));
}

function namesOf(machines: readonly ExpandedMachine[]): string[] {
  return machines.map(({ name }) => name);
}

function sizesOf(machines: readonly ExpandedMachine[]): unknown[] {
  return machines.map(({ spec }) => spec.providerSpec.value?.["size" as never]);
}

describe("expansion", () => {
  it("gives own Machines first, then those of sets, then those of deployments", () => {
    const machines = expand([
      machineDeployment("web", 1),
      machineSet("db", 2),
      machine("cp-1"),
      machine("cp-0"),
    ]);
    assert.deepEqual(namesOf(machines).slice(0, 4), ["cp-1", "cp-0", "db-0", "db-1"]);
    assert.match(namesOf(machines)[4] ?? "", /^web-[0-9a-f]{8}-0$/);
    assert.deepEqual(
      machines.map(({ owner }) => owner?.ordinal),
      [undefined, undefined, 0, 1, 0],
    );
  });

  it("gives a set without replicas no machine", () => {
    assert.deepEqual(expand([machineSet("db", 0), machineDeployment("web", 0)]), []);
  });

  it("names a deployment's machines after what cannot change in place, and nothing else", () => {
    const setOf = (shape: object) =>
      expand([machineDeployment("web", 1, shape)])[0]?.owner?.machineSet;
    const plain = setOf({});
    assert.equal(setOf({ diskGib: 99, tags: { a: "b" }, kubelet: "1.33.0" }), plain);
    assert.notEqual(setOf({ size: "large" }), plain);
    assert.notEqual(setOf({ image: "other" }), plain);
    assert.notEqual(setOf({ zone: "local-b" }), plain);
  });
});

describe("two hosts of one machine, which an adoption has found", () => {
  const [first, second] = expand([machineSet("db", 2)]);
  const found = (missing?: "host"): RecordedMachine[] => {
    if (first === undefined || second === undefined) throw new Error("a set of two has two");
    const original = missing === undefined ? second : { ...second, missing };
    return [first, original, { ...second, name: "db-1-a830c4ef-1" }];
  };
  const expanded = (recorded: readonly RecordedMachine[], replicas = 2) => {
    const desired = desiredOf([cluster(), machineSet("db", replicas)]);
    return expandObjects(desired, recorded, templateJudge(localProvider(), desired.cluster));
  };

  it("leave the set the one under the machine's own name", () => {
    const { machines, going } = expanded(found());
    assert.deepEqual(namesOf(machines), ["db-0", "db-1"]);
    const reason = { kind: "double", of: "db-1" };
    assert.deepEqual(going, [{ name: "db-1-a830c4ef-1", reason }]);
  });

  it("leave it the one that serves, under the name that it has", () => {
    const { machines } = expanded(found("host"));
    assert.deepEqual(namesOf(machines), ["db-0", "db-1-a830c4ef-1"]);
  });

  it("count as one machine where the set is to have more", () => {
    assert.deepEqual(namesOf(expanded(found(), 3).machines), ["db-0", "db-1", "db-2"]);
  });
});

describe("scaling a set", () => {
  const three = expand([machineSet("db", 3)]);

  it("up adds the next ordinals", () => {
    assert.deepEqual(namesOf(expand([machineSet("db", 5)], three)), [
      "db-0",
      "db-1",
      "db-2",
      "db-3",
      "db-4",
    ]);
  });

  it("gives a machine whose host is gone its own name again, also where a lower one is free", () => {
    const [, second, third] = expand([machineSet("db", 3)]);
    assert.ok(second !== undefined && third !== undefined);
    const lost = [second, { ...third, missing: "host" as const }];
    const after = (replicas: number) => namesOf(expand([machineSet("db", replicas)], lost));
    assert.deepEqual([1, 2, 3].map(after), [["db-1"], ["db-1", "db-2"], ["db-0", "db-1", "db-2"]]);
  });

  it("down keeps the lowest ordinals, in whatever order they are recorded", () => {
    const turned = [...three].reverse();
    assert.deepEqual(namesOf(expand([machineSet("db", 1)], turned)), ["db-0"]);
    assert.deepEqual(namesOf(expand([machineSet("db", 1)], three)), ["db-0"]);
  });

  it("up fills a gap before it goes beyond", () => {
    const gap = three.filter(({ name }) => name !== "db-1");
    assert.deepEqual(namesOf(expand([machineSet("db", 2)], gap)), ["db-0", "db-2"]);
    assert.deepEqual(namesOf(expand([machineSet("db", 4)], gap)), ["db-0", "db-1", "db-2", "db-3"]);
  });

  it("leaves machines of other sets and of users alone", () => {
    const others = expand([machineSet("other", 2), machine("db-x")]);
    assert.deepEqual(namesOf(expand([machineSet("db", 1)], others)), ["db-0"]);
  });
});

describe("a changed template", () => {
  it("of a MachineSet is for new machines only", () => {
    const before = expand([machineSet("db", 2, { size: "small" })]);
    const after = expand([machineSet("db", 3, { size: "large" })], before);
    assert.deepEqual(namesOf(after), ["db-0", "db-1", "db-2"]);
    assert.deepEqual(sizesOf(after), ["small", "small", "large"]);
  });

  it("says of all machines of a MachineSet how their deletion goes", () => {
    const limited = (seconds: number) => {
      const set = machineSet("db", 2) as { spec: { template: { spec: object } } };
      Object.assign(set.spec.template.spec, { deletion: { nodeDrainTimeoutSeconds: seconds } });
      return set as unknown as ReturnType<typeof machineSet>;
    };
    const before = expand([limited(60)]);
    const timeouts = (machines: typeof before) =>
      machines.map(({ spec }) => spec.deletion?.nodeDrainTimeoutSeconds);
    assert.deepEqual(timeouts(expand([limited(5)], before)), [5, 5]);
    assert.deepEqual(timeouts(expand([machineSet("db", 2)], before)), [undefined, undefined]);
  });

  it("of a MachineDeployment keeps its set when every machine can follow in place", () => {
    const before = expand([machineDeployment("web", 2, { diskGib: 20 })]);
    const after = expand([machineDeployment("web", 3, { diskGib: 40, tags: { a: "b" } })], before);
    assert.deepEqual(namesOf(after).slice(0, 2), namesOf(before));
    assert.deepEqual(
      after.map(({ spec }) => spec.providerSpec.value?.["diskGib" as never]),
      [40, 40, 40],
    );
  });

  it("of a MachineDeployment makes a new set when a machine has to be replaced", () => {
    const before = expand([machineDeployment("web", 2, { size: "small" })]);
    const after = expand([machineDeployment("web", 2, { size: "large" })], before);
    assert.equal(new Set([...namesOf(before), ...namesOf(after)]).size, 4);
    assert.deepEqual(sizesOf(after), ["large", "large"]);
  });

  it("that the hash does not show makes a new set beside the old one all the same", () => {
    const before = expand([machineDeployment("web", 2, { diskGib: 40 })]);
    const after = expand([machineDeployment("web", 2, { diskGib: 20 })], before);
    const [old] = before;
    assert.deepEqual(namesOf(after), [
      `${old?.owner?.machineSet ?? ""}-r2-0`,
      `${old?.owner?.machineSet ?? ""}-r2-1`,
    ]);
    assert.deepEqual(
      namesOf(expand([machineDeployment("web", 2, { diskGib: 20 })], after)),
      namesOf(after),
    );
  });

  it("that comes back finds its set again", () => {
    const small = expand([machineDeployment("web", 2, { size: "small" })]);
    const large = expand([machineDeployment("web", 2, { size: "large" })], small);
    const both = [...small, ...large];
    assert.deepEqual(
      namesOf(expand([machineDeployment("web", 2, { size: "small" })], both)),
      namesOf(small),
    );
    assert.deepEqual(
      namesOf(expand([machineDeployment("web", 2, { size: "large" })], both)),
      namesOf(large),
    );
  });

  it("keeps a set whose name no longer fits its hash, as long as its machines can follow", () => {
    // As when a new release of a provider learns to change a field in place.
    const [machineOfOldHash] = expand([machineDeployment("web", 1)]);
    assert.ok(machineOfOldHash !== undefined);
    const owner = { machineSet: "web-00000000", machineDeployment: "web", ordinal: 0 };
    const recorded = [{ ...machineOfOldHash, name: "web-00000000-0", owner }];
    assert.deepEqual(namesOf(expand([machineDeployment("web", 2)], recorded)), [
      "web-00000000-0",
      "web-00000000-1",
    ]);
  });
});

describe("why a machine goes", () => {
  const three = expand([machineSet("db", 3)]);
  const going = (spec: object, annotations: object, health: Partial<RecordedMachine> = {}) => {
    const plain = machineSet("db", 2) as { metadata: object; spec: object };
    const set = {
      ...plain,
      metadata: { ...plain.metadata, annotations },
      spec: { ...plain.spec, ...spec },
    };
    const desired = desiredOf([cluster(), set]);
    const recorded = three.map((one, index) => (index === 1 ? { ...one, ...health } : one));
    const judge = templateJudge(localProvider(), desired.cluster);
    return expandObjects(desired, recorded, judge).going;
  };
  const annotation = "cluster.k8s.io/delete-machine";
  const modern = { "capstan.dev/profile": "modern" };
  const cases = [
    {
      name: "its mark",
      given: going({ deletePolicy: "Oldest" }, { [annotation]: "db-0" }),
      want: [{ name: "db-0", reason: { kind: "marked", annotation } }],
    },
    {
      name: "its host, which failed",
      given: going({}, {}, { missing: "health" }),
      want: [{ name: "db-1", reason: { kind: "failed" } }],
    },
    {
      name: "the set's policy",
      given: going({ deletePolicy: "Newest" }, {}),
      want: [{ name: "db-2", reason: { kind: "policy", policy: "Newest" } }],
    },
    {
      name: "its number among equals",
      given: going({ deletePolicy: "Random" }, {}),
      want: [{ name: "db-2", reason: { kind: "tie", ties: "asGiven" } }],
    },
    {
      name: "its name among equals, in profile modern",
      given: going({}, modern),
      want: [{ name: "db-0", reason: { kind: "tie", ties: "byName" } }],
    },
  ];
  for (const { name, given, want } of cases) {
    it(`is ${name}`, () => assert.deepEqual(given, want));
  }

  it("is nothing of the set's where nobody has to", () => {
    const desired = desiredOf([cluster(), machineSet("db", 3)]);
    const judge = templateJudge(localProvider(), desired.cluster);
    assert.deepEqual(expandObjects(desired, three, judge).going, []);
  });
});

describe("a MachineSet that has too many machines", () => {
  const three = expand([machineSet("db", 3)]);
  const shrunk = (
    changed: (machine: ExpandedMachine, index: number) => Partial<RecordedMachine>,
    spec: object = {},
    annotations: object = {},
  ) => {
    const [set] = [machineSet("db", 1)] as [{ metadata: object; spec: object }];
    const wanted = {
      ...set,
      metadata: { ...set.metadata, annotations },
      spec: { ...set.spec, ...spec },
    };
    const recorded = three.map((one, index) => ({ ...one, ...changed(one, index) }));
    return namesOf(expand([wanted], recorded));
  };
  const ages = (_: unknown, index: number) => ({ createdAtMs: [-20, -10, -30][index] ?? 0 });

  it("deletes those whose hosts failed first", () => {
    assert.deepEqual(
      shrunk((_, index) => (index < 2 ? { missing: "health" } : {})),
      ["db-2"],
    );
  });

  it("counts no machine without a host", () => {
    assert.deepEqual(
      shrunk((_, index) => (index === 0 ? { missing: "host" } : {})),
      ["db-1"],
    );
  });

  it("deletes marked ones before others", () => {
    const marks = { "cluster.k8s.io/delete-machine": "db-0, db-1" };
    assert.deepEqual(
      shrunk(() => ({}), {}, marks),
      ["db-2"],
    );
  });

  describe("deletes those first that their own objects mark", () => {
    const v1alpha1 = "cluster.k8s.io/delete-machine";
    const modern = "cluster.x-k8s.io/delete-machine";
    // Without a mark db-0 stays in profile v1alpha1, and db-2 in modern.
    const cases = [
      { profile: "v1alpha1", of: "db-0", marks: { [v1alpha1]: "yes" }, want: "db-1" },
      { profile: "v1alpha1", of: "db-0", marks: { [v1alpha1]: "" }, want: "db-0" },
      { profile: "v1alpha1", of: "db-0", marks: { [modern]: "yes" }, want: "db-0" },
      { profile: "modern", of: "db-2", marks: { [modern]: "" }, want: "db-1" },
      { profile: "modern", of: "db-2", marks: { [v1alpha1]: "yes" }, want: "db-2" },
    ];
    for (const { profile, of, marks, want } of cases) {
      it(`${JSON.stringify(marks)} in profile ${profile}`, () => {
        const left = shrunk(
          ({ name }) => (name === of ? { deleteMarks: marks } : {}),
          {},
          { "capstan.dev/profile": profile },
        );
        assert.deepEqual(left, [want]);
      });
    }
  });

  it("follows its deletePolicy", () => {
    assert.deepEqual(shrunk(ages, { deletePolicy: "Oldest" }), ["db-1"]);
    assert.deepEqual(shrunk(ages, { deletePolicy: "Newest" }), ["db-2"]);
    assert.deepEqual(shrunk(ages, { deletePolicy: "Random" }), ["db-0"]);
  });
});

describe("a MachineDeployment that does not roll", () => {
  const deployment = (replicas: number, shape: object, spec: object) => {
    const plain = machineDeployment("web", replicas, shape) as { spec: object };
    return { ...plain, spec: { ...plain.spec, ...spec } };
  };
  const onDelete = { strategy: { type: "OnDelete" } };
  const small = expand([machineDeployment("web", 3, { size: "small" })]);

  it("leaves machines as they are OnDelete, and gives new ones the new template", () => {
    const after = expand([deployment(4, { size: "large" }, onDelete)], small);
    assert.deepEqual(sizesOf(after), ["small", "small", "small", "large"]);
  });

  it("puts the new template in the place of what a user deleted", () => {
    const [gone, ...rest] = small;
    assert.ok(gone !== undefined);
    const recorded = [{ ...gone, missing: "host" as const }, ...rest];
    const after = expand([deployment(3, { size: "large" }, onDelete)], recorded);
    assert.deepEqual(sizesOf(after), ["small", "small", "large"]);
    assert.deepEqual(sizesOf(expand([deployment(3, { size: "large" }, onDelete)], after)), [
      "small",
      "small",
      "large",
    ]);
  });

  it("keeps a change in place from machines that are there, too", () => {
    const before = expand([machineDeployment("web", 2, { diskGib: 20 })]);
    const after = expand([deployment(3, { diskGib: 40 }, onDelete)], before);
    assert.deepEqual(
      after.map(({ spec }) => spec.providerSpec.value?.["diskGib" as never]),
      [20, 20, 40],
    );
  });

  it("only scales while it is paused, with the template that runs", () => {
    const paused = { paused: true };
    assert.deepEqual(sizesOf(expand([deployment(5, { size: "large" }, paused)], small)), [
      "small",
      "small",
      "small",
      "small",
      "small",
    ]);
    assert.deepEqual(expand([deployment(2, {}, paused)]), []);
  });

  it("spreads its scaling over the sets that a rollout was paused between", () => {
    const large = expand([machineDeployment("web", 3, { size: "large" })], small);
    const between = [...small, ...large.slice(0, 1)];
    const after = expand([deployment(7, { size: "large" }, { paused: true })], between);
    assert.deepEqual(
      sizesOf(after).filter((size) => size === "small").length,
      6,
      "8 with surge, in proportion 3 to 1",
    );
    assert.equal(after.length, 8);
  });
});
