import assert from "node:assert/strict";
import { stagesOf } from "../../../src/plan/goal/upgrade.js";
import { allVersioned } from "../../support/versioned.js";

interface Case {
  readonly name: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  /** One list of "unit kubelet/controlPlane" for each stage. */
  readonly want: readonly (readonly string[])[];
}

const cases: readonly Case[] = [
  { name: "a first creation", from: [], to: ["cp 1.34.2/1.34.2", "web 1.34.2"], want: [[]] },
  { name: "nothing to do", from: ["cp 1.34.2/1.34.2"], to: ["cp 1.34.2/1.34.2"], want: [[]] },
  {
    name: "one minor version",
    from: ["cp 1.33.6/1.33.6", "web 1.33.6"],
    to: ["cp 1.34.2/1.34.2", "web 1.34.2"],
    want: [["Machine cp 1.34.2/1.34.2", "Machine web 1.34.2"]],
  },
  {
    name: "three minor versions: workers at the end",
    from: ["cp 1.32.4/1.32.4", "w#0 1.32.4", "w#1 1.32.4"],
    to: ["cp 1.35.0/1.35.0", "w#0 1.35.0", "w#1 1.35.0"],
    want: [
      ["Machine cp 1.33.6/1.33.6"],
      ["Machine cp 1.34.2/1.34.2"],
      ["Machine cp 1.35.0/1.35.0", "MachineDeployment w 1.35.0"],
    ],
  },
  {
    name: "four minor versions: workers once in between",
    from: ["cp 1.31.4/1.31.4", "w#0 1.31.4"],
    to: ["cp 1.35.0/1.35.0", "w#0 1.35.0"],
    want: [
      ["Machine cp 1.32.10/1.32.10"],
      ["Machine cp 1.33.6/1.33.6"],
      ["Machine cp 1.34.2/1.34.2", "MachineDeployment w 1.34.2"],
      ["Machine cp 1.35.0/1.35.0", "MachineDeployment w 1.35.0"],
    ],
  },
  {
    name: "workers that are behind as far as they may be: they go first",
    from: ["cp 1.34.2/1.34.2", "web 1.31.4"],
    to: ["cp 1.35.0/1.35.0", "web 1.34.0"],
    want: [["Machine web 1.34.0"], ["Machine cp 1.35.0/1.35.0"]],
  },
  {
    name: "the same with a control plane on another machine",
    from: ["old 1.34.2/1.34.2", "web 1.31.4"],
    to: ["new 1.35.0/1.35.0", "web 1.35.0"],
    want: [["Machine web 1.34.2"], ["Machine web 1.35.0"]],
  },
  {
    name: "three control planes, of which one is behind",
    from: ["a 1.33.6/1.33.6", "b 1.34.2/1.34.2", "c 1.34.2/1.34.2"],
    to: ["a 1.35.0/1.35.0", "b 1.35.0/1.35.0", "c 1.35.0/1.35.0"],
    want: [
      ["Machine a 1.34.2/1.34.2"],
      ["Machine a 1.35.0/1.35.0", "Machine b 1.35.0/1.35.0", "Machine c 1.35.0/1.35.0"],
    ],
  },
  {
    name: "a kubelet of the control plane that is to stay older",
    from: ["cp 1.32.4/1.32.4"],
    to: ["cp 1.33.0/1.35.0"],
    want: [
      ["Machine cp 1.33.0/1.33.6"],
      ["Machine cp 1.33.0/1.34.2"],
      ["Machine cp 1.33.0/1.35.0"],
    ],
  },
  {
    name: "a kubelet that goes back: in the last stage",
    from: ["cp 1.32.4/1.32.4", "web 1.32.4"],
    to: ["cp 1.34.2/1.34.2", "web 1.31.9"],
    want: [["Machine cp 1.33.6/1.33.6"], ["Machine cp 1.34.2/1.34.2", "Machine web 1.31.9"]],
  },
  {
    name: "minor versions that nobody knows yet: their first patch",
    from: ["cp 1.35.0/1.35.0"],
    to: ["cp 1.37.1/1.37.1"],
    want: [["Machine cp 1.36.0/1.36.0"], ["Machine cp 1.37.1/1.37.1"]],
  },
  {
    name: "a rollout that is under way, by its oldest kubelet",
    from: ["cp 1.34.2/1.34.2", "w#0 1.34.2", "w#1 1.31.0"],
    to: ["cp 1.35.0/1.35.0", "w#0 1.35.0", "w#1 1.35.0"],
    want: [
      ["MachineDeployment w 1.34.2"],
      ["Machine cp 1.35.0/1.35.0", "MachineDeployment w 1.35.0"],
    ],
  },
];

describe("stages of an upgrade", () => {
  for (const { name, from, to, want } of cases) {
    it(name, () => {
      const stages = stagesOf(allVersioned(from), allVersioned(to));
      const got = stages.map(({ changes }) =>
        changes.map(({ unit, to: { kubelet, controlPlane } }) =>
          [`${unit} ${kubelet}`, ...(controlPlane === undefined ? [] : [controlPlane])].join("/"),
        ),
      );
      assert.deepEqual(got, want);
      assert.equal(stages.at(-1)?.versions, undefined, "the last is what the objects say");
    });
  }

  it("say why each is one, and which patch they go through", () => {
    const from = ["cp 1.31.4/1.31.4", "w#0 1.31.4"];
    const to = ["cp 1.35.0/1.35.0", "w#0 1.35.0"];
    const reasons = stagesOf(allVersioned(from), allVersioned(to)).map(({ reason }) => reason);
    assert.deepEqual(reasons, [
      "control plane 1.31.4 -> 1.32.10 (the newest patch known): one minor version at a time",
      "control plane 1.32.10 -> 1.33.6 (the newest patch known): one minor version at a time",
      "control plane 1.33.6 -> 1.34.2 (the newest patch known): one minor version at a time; " +
        "MachineDeployment w: the next control plane takes kubelets of 3 minor versions before it",
      "all that is asked for",
    ]);
    const [unknown] = stagesOf(
      allVersioned(["cp 1.36.0/1.35.0"]),
      allVersioned(["cp 1.37.0/1.37.0"]),
    );
    assert.match(unknown?.reason ?? "", /1\.36\.0 \(its first patch, as none is known\)/);
  });

  it("keep container runtimes as they are until the last", () => {
    const runtime = (version: string) => ({ containerRuntime: { name: "containerd", version } });
    const [from, to] = [allVersioned(["cp 1.33.6/1.33.6"]), allVersioned(["cp 1.35.0/1.35.0"])];
    const [first, last] = stagesOf(
      from.map((one) => ({
        ...one,
        spec: { versions: { ...one.spec.versions, ...runtime("1.7.0") } },
      })),
      to.map((one) => ({
        ...one,
        spec: { versions: { ...one.spec.versions, ...runtime("2.1.5") } },
      })),
    );
    assert.equal(first?.versions?.["Machine cp"]?.containerRuntime?.version, "1.7.0");
    assert.equal(last?.changes[0]?.to.containerRuntime?.version, "2.1.5");
  });
});
