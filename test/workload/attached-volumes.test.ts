import assert from "node:assert/strict";
import {
  type Attachments,
  type KnownVolume,
  volumesToDetach,
} from "../../src/workload/drain/attached-volumes.js";

const disk: KnownVolume = {
  name: "pv-a",
  csi: { driver: "ebs.csi.aws.com", handle: "vol-1" },
  claim: "default/data",
};
const inNode = "kubernetes.io/csi/ebs.csi.aws.com^vol-1";
const none: Attachments = { onNode: [], persistentVolumes: [] };

interface Case {
  readonly name: string;
  readonly given: Partial<Attachments>;
  readonly known?: readonly KnownVolume[];
  readonly kept?: readonly string[];
  readonly want: readonly string[];
}

const cases: readonly Case[] = [
  { name: "nothing is attached", given: {}, want: [] },
  { name: "a Node tells of a volume", given: { onNode: [inNode] }, want: ["default/data"] },
  {
    name: "a VolumeAttachment tells of it",
    given: { persistentVolumes: ["pv-a"] },
    want: ["default/data"],
  },
  {
    name: "both tell of the same one",
    given: { onNode: [inNode], persistentVolumes: ["pv-a"] },
    want: ["default/data"],
  },
  {
    name: "its pod stays until the host goes",
    given: { onNode: [inNode], persistentVolumes: ["pv-a"] },
    kept: ["default/data"],
    want: [],
  },
  {
    name: "the pod that stays has another one",
    given: { persistentVolumes: ["pv-a"] },
    kept: ["other/data"],
    want: ["default/data"],
  },
  {
    name: "no claim has it",
    given: { persistentVolumes: ["pv-a"] },
    known: [{ name: "pv-a" }],
    want: ["pv-a"],
  },
  {
    name: "nobody knows what is attached: that is waited for, too",
    given: { onNode: ["kubernetes.io/csi/x^y"], persistentVolumes: ["pv-z"] },
    want: ["kubernetes.io/csi/x^y", "pv-z"],
  },
  {
    name: "another driver has a volume of the same handle",
    given: { onNode: ["kubernetes.io/csi/other^vol-1"] },
    want: ["kubernetes.io/csi/other^vol-1"],
  },
  {
    name: "they are told of in any order",
    given: { persistentVolumes: ["pv-b", "pv-a"] },
    known: [disk, { name: "pv-b", claim: "a/first" }],
    want: ["a/first", "default/data"],
  },
];

describe("volumes that are to be detached before a host goes", () => {
  for (const { name, given, known = [disk], kept = [], want } of cases) {
    it(name, () => {
      assert.deepEqual(volumesToDetach({ ...none, ...given }, known, new Set(kept)), want);
    });
  }
});
