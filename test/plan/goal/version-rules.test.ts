import assert from "node:assert/strict";
import type { CapstanError } from "../../../src/api/error.js";
import { skewOf } from "../../../src/api/versions.js";
import {
  refuseVersions,
  type VersionRefusal,
  versionRefusals,
} from "../../../src/plan/goal/version-rules.js";
import { failsWith } from "../../support/errors.js";
import { allVersioned } from "../../support/versioned.js";

interface Case {
  readonly name: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
  readonly want?: readonly (readonly [VersionRefusal["kind"], machine: string, reason: RegExp])[];
}

const cp = "cp 1.34.2/1.34.2";

const cases: readonly Case[] = [
  { name: "a first creation", from: [], to: [cp, "web 1.34.2"] },
  { name: "nothing that changes", from: [cp, "web 1.31.0"], to: [cp, "web 1.31.0"] },
  { name: "one minor version up", from: [cp], to: ["cp 1.35.0/1.35.0"] },
  {
    name: "several minor versions up: that is what stages are for",
    from: ["cp 1.31.0/1.31.0"],
    to: [cp],
  },
  { name: "another patch, either way", from: [cp], to: ["cp 1.34.0/1.34.0"] },
  { name: "an older kubelet on a worker", from: [cp, "web 1.34.2"], to: [cp, "web 1.32.0"] },
  { name: "a kubelet with a newer patch", from: [cp], to: [cp, "web 1.34.9"] },
  { name: "machines without any control plane", from: ["web 1.34.2"], to: ["web 1.20.0"] },
  {
    name: "an older minor version of the control plane",
    from: [cp],
    to: ["cp 1.33.6/1.33.6"],
    want: [["controlPlaneDowngrade", "cp", /1\.33\.6 is of an older minor version than 1\.34\.2$/]],
  },
  {
    name: "one of several control planes that goes back",
    from: ["a 1.34.2/1.34.2", "b 1.34.2/1.34.2"],
    to: ["a 1.34.2/1.34.2", "b 1.33.6/1.33.6"],
    want: [["controlPlaneDowngrade", "b", /older minor version than 1\.34\.2$/]],
  },
  {
    name: "a control plane of other machines that is older",
    from: ["old 1.34.2/1.34.2"],
    to: ["new 1.33.6/1.33.6"],
    want: [["controlPlaneDowngrade", "new", /older minor version than 1\.34\.2$/]],
  },
  {
    name: "a new member that is older than those that are there",
    from: [cp],
    to: [cp, "new 1.33.6/1.33.6"],
    want: [["controlPlaneDowngrade", "new", /older minor version than 1\.34\.2$/]],
  },
  {
    name: "the newest of a mixed control plane taken away",
    from: ["a 1.34.2/1.34.2", "b 1.35.0/1.35.0"],
    to: ["a 1.34.2/1.34.2"],
    want: [["controlPlaneDowngrade", "a", /older minor version than 1\.35\.0$/]],
  },
  {
    name: "a mixed control plane whose older half catches up",
    from: ["a 1.34.2/1.34.2", "b 1.35.0/1.35.0"],
    to: ["a 1.35.0/1.35.0", "b 1.35.0/1.35.0"],
  },
  {
    name: "another major version",
    from: [cp],
    to: ["cp 2.0.0/2.0.0"],
    want: [["controlPlaneSkips", "cp", /another major version than 1\.34\.2$/]],
  },
  {
    name: "other machines two minor versions on",
    from: ["old 1.32.0/1.32.0"],
    to: ["new 1.34.2/1.34.2"],
    want: [
      ["controlPlaneSkips", "new", /cannot join one of 1\.32\.0: one minor version at a time$/],
    ],
  },
  {
    name: "other machines one minor version on",
    from: ["old 1.33.6/1.33.6"],
    to: ["new 1.34.2/1.34.2"],
  },
  {
    name: "a new member far ahead of one that stays: the one that stays is raised first",
    from: ["a 1.32.0/1.32.0"],
    to: ["a 1.34.2/1.34.2", "b 1.34.2/1.34.2"],
  },
  {
    name: "control planes that are to be two minor versions apart",
    from: [],
    to: ["a 1.34.2/1.34.2", "b 1.32.0/1.32.0"],
    want: [["controlPlanesApart", "b", /more than one minor version behind 1\.34\.2$/]],
  },
  {
    name: "a kubelet that is newer than the oldest control plane",
    from: [],
    to: ["a 1.34.2/1.34.2", "b 1.35.0/1.35.0", "web 1.35.0"],
    want: [
      ["kubeletNewer", "web", /kubelet 1\.35\.0 is newer than the control plane \(1\.34\.2\)$/],
    ],
  },
  {
    name: "a kubelet that is too old for the newest control plane",
    from: [],
    to: ["a 1.34.2/1.34.2", "b 1.35.0/1.35.0", "web 1.31.0"],
    want: [["kubeletTooOld", "web", /4 minors behind the control plane \(1\.35\.0\)$/]],
  },
  {
    name: "a member's kubelet, which talks to the API server beside it",
    from: [],
    to: ["a 1.34.2/1.34.2", "b 1.35.0/1.35.0"],
  },
  {
    name: "a MachineSet's machine that keeps what it was made with",
    from: [cp, "s-0 1.31.0"],
    to: ["cp 1.35.0/1.35.0", "s-0 1.31.0"],
    want: [["kubeletTooOld", "s-0", /4 minors behind/]],
  },
];

describe("version rules", () => {
  for (const { name, from, to, want = [] } of cases) {
    it(`${want.length === 0 ? "allow" : "refuse"} ${name}`, () => {
      const refusals = versionRefusals(allVersioned(from), allVersioned(to));
      assert.deepEqual(
        refusals.map(({ kind, machine }) => [kind, machine]),
        want.map(([kind, machine]) => [kind, machine]),
      );
      for (const [index, [, , reason]] of want.entries()) {
        assert.match(refusals[index]?.reason ?? "", reason);
      }
    });
  }
});

describe("versions that are refused", () => {
  it("are told all at once, each with what to do", () => {
    const from = allVersioned(["a 1.34.2/1.34.2"]);
    const to = allVersioned(["a 1.33.6/1.33.6", "web 1.34.2"]);
    assert.throws(
      () => refuseVersions(versionRefusals(from, to)),
      (error: CapstanError) => {
        assert.deepEqual(error.message.split("\n"), [
          "cannot change Machine a: control plane 1.33.6 is of an older minor version than 1.34.2",
          "cannot change Machine web: kubelet 1.34.2 is newer than the control plane (1.33.6)",
        ]);
        assert.match(error.hint ?? "", /older patches only; raise the control plane first$/);
        return failsWith("UNSUPPORTED_CHANGE")(error);
      },
    );
    refuseVersions([]);
  });
});

describe("the skew between kubelet and control plane", () => {
  const skews: [kubelet: string, controlPlane: string, want: string | undefined][] = [
    ["1.34.2", "1.34.0", undefined],
    ["1.35.0", "1.34.9", "newer"],
    ["1.31.0", "1.34.2", undefined],
    ["1.30.14", "1.34.2", "tooOld"],
    ["1.25.0", "1.28.0", undefined],
    ["1.24.0", "1.28.0", "tooOld"],
    ["1.25.0", "1.27.0", undefined],
    ["1.24.0", "1.27.0", "tooOld"],
    ["2.0.0", "1.34.2", "newer"],
    ["no version", "1.34.2", undefined],
  ];
  for (const [kubelet, controlPlane, want] of skews) {
    it(`${kubelet} with ${controlPlane}: ${want ?? "fine"}`, () => {
      assert.equal(skewOf(kubelet, controlPlane)?.kind, want);
    });
  }
});
