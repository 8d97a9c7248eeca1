import assert from "node:assert/strict";
import { secondsOfDuration } from "../../src/api/machine-deletion.js";
import { deletionTermsOf } from "../../src/workload/drain/deletion-terms.js";

describe("what a host waits for before it goes", () => {
  const all = { hooks: { preDrain: [], preTerminate: [] }, drains: true, waitsForVolumes: true };

  it("is its pods and its volumes, without limits of their own", () => {
    assert.deepEqual(deletionTermsOf(undefined), all);
    const none = { nodeDrainTimeoutSeconds: 0, nodeVolumeDetachTimeoutSeconds: 0 };
    assert.deepEqual(deletionTermsOf({}, none), all);
  });

  it("is limited by the spec of its Machine", () => {
    const deletion = { nodeDrainTimeoutSeconds: 60, nodeVolumeDetachTimeoutSeconds: 5 };
    assert.deepEqual(deletionTermsOf({}, deletion), {
      ...all,
      drainTimeoutMs: 60_000,
      volumeDetachTimeoutMs: 5_000,
    });
  });

  it("is left out where the Machine is annotated so, whatever the annotation says", () => {
    const prefix = "machine.cluster.x-k8s.io/";
    assert.deepEqual(deletionTermsOf({ [`${prefix}exclude-node-draining`]: "" }), {
      ...all,
      drains: false,
    });
    const annotations = { [`${prefix}exclude-wait-for-node-volume-detach`]: "false" };
    assert.deepEqual(deletionTermsOf(annotations), { ...all, waitsForVolumes: false });
  });
});

describe("hooks of a Machine", () => {
  it("hold it before its drain and before its end, by name", () => {
    const preDrain = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
    const preTerminate = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
    const annotations = {
      [`${preTerminate}/etcd`]: "",
      [`${preDrain}/b`]: "backup",
      [`${preDrain}/a`]: "audit",
      "example.com/pre-drain.delete.hook": "no",
    };
    assert.deepEqual(deletionTermsOf(annotations).hooks, {
      preDrain: [
        { name: `${preDrain}/a`, owner: "audit" },
        { name: `${preDrain}/b`, owner: "backup" },
      ],
      preTerminate: [{ name: `${preTerminate}/etcd`, owner: "" }],
    });
  });
});

describe("durations as Go writes them", () => {
  const cases: readonly (readonly [string, number | undefined])[] = [
    ["10m", 600],
    ["1h30m0s", 5_400],
    ["1.5s", 2],
    ["500ms", 1],
    ["0", 0],
    ["0s", 0],
    ["10", undefined],
    ["-5m", undefined],
    ["5 m", undefined],
    ["", undefined],
    ["soon", undefined],
  ];
  for (const [text, want] of cases) {
    it(`${JSON.stringify(text)} is ${want === undefined ? "none" : `${want} s`}`, () => {
      assert.equal(secondsOfDuration(text), want);
    });
  }
});
