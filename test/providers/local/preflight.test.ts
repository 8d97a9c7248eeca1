import assert from "node:assert/strict";
import type { LocalResource } from "../../../providers/local/cloud.js";
import { quotaFindings } from "../../../providers/local/preflight.js";
import type { PlannedStep } from "../../../src/provider/port.js";
import { unknownValue } from "../../../src/api/unknown.js";

const network = (machineQuota?: number) =>
  ({ id: "net-1", kind: "LocalNetwork", state: "running", spec: { machineQuota } }) as unknown;
const host = (id: string, state = "running") =>
  ({ id, kind: "LocalHost", state, spec: { networkId: "net-1" } }) as unknown;
const make = (networkId: string): PlannedStep => ({
  does: "create",
  kind: "LocalHost",
  name: "web-1",
  wanted: { networkId },
});
const remove = (id: string): PlannedStep => ({
  does: "delete",
  kind: "LocalHost",
  name: "web-0",
  current: { id, spec: {} },
});
const quotaOf = (does: "create" | "update", machineQuota: number): PlannedStep => ({
  does,
  kind: "LocalNetwork",
  name: "network",
  wanted: { machineQuota },
});

describe("what a machine quota leaves a plan", () => {
  const cases: {
    name: string;
    steps: PlannedStep[];
    cloud: unknown[];
    want: (string | undefined)[];
  }[] = [
    { name: "room", steps: [make("net-1")], cloud: [network(2), host("a")], want: [] },
    { name: "no bound", steps: [make("net-1")], cloud: [network(), host("a")], want: [] },
    {
      name: "too little for what there will be",
      steps: [make("net-1"), make("net-1")],
      cloud: [network(2), host("a"), host("gone", "terminated")],
      want: ["3 machines are wanted, and the quota is 2"],
    },
    {
      name: "too little for both hosts of one that is replaced: it may go well",
      steps: [make("net-1"), remove("a")],
      cloud: [network(1), host("a")],
      want: ["warning up to 2 machines at once while others are replaced, and the quota is 1"],
    },
    {
      name: "room that the plan itself makes",
      steps: [quotaOf("update", 2), make("net-1")],
      cloud: [network(1), host("a")],
      want: [],
    },
    {
      name: "too little in a network that is still to be made",
      steps: [quotaOf("create", 1), make(unknownValue), make(unknownValue)],
      cloud: [network(9), host("a")],
      want: ["2 machines are wanted, and the quota is 1"],
    },
    { name: "nothing to say of deletions", steps: [remove("a")], cloud: [network(0)], want: [] },
  ];
  for (const { name, steps, cloud, want } of cases) {
    it(name, () => {
      const findings = quotaFindings(steps, cloud as LocalResource[]);
      assert.deepEqual(
        findings.map(({ severity, message }) =>
          severity === undefined ? message : `${severity} ${message}`,
        ),
        want,
      );
    });
  }
});
