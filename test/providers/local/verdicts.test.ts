import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/api/json.js";
import { unknownValue } from "../../../src/api/unknown.js";
import type { Verdict } from "../../../src/provider/port.js";
import { rules } from "../../../providers/local/field-rules.js";
import { restartsNode } from "../../../providers/local/file/node.js";
import { localProvider } from "../../support/manifests.js";

const spec: JsonObject = {
  role: "worker",
  image: "local/ubuntu-24.04",
  kubelet: "1.34.2",
  containerRuntime: { name: "containerd", version: "1.7.28" },
};
const runtime = (name: string, version: string) => ({ containerRuntime: { name, version } });

describe("what a change of versions takes in the local cloud", () => {
  const cases: { name: string; from?: JsonObject; to: JsonObject; want: Verdict["kind"] }[] = [
    { name: "nothing", to: {}, want: "same" },
    { name: "a newer kubelet", to: { kubelet: "1.35.0" }, want: "inPlace" },
    { name: "an older kubelet", to: { kubelet: "1.32.0" }, want: "inPlace" },
    { name: "another control plane", to: { controlPlane: "1.35.0" }, want: "inPlace" },
    { name: "a newer version of the runtime", to: runtime("containerd", "2.1.5"), want: "inPlace" },
    {
      name: "an older version of the runtime",
      to: runtime("containerd", "1.6.0"),
      want: "inPlace",
    },
    { name: "another runtime", to: runtime("cri-o", "1.34.0"), want: "replace" },
    {
      name: "docker -> containerd",
      from: runtime("docker", "28.5.1"),
      to: runtime("containerd", "2.1.5"),
      want: "replace",
    },
    {
      name: "asking for the runtime that the images bring anyway",
      from: { containerRuntime: null },
      to: runtime("containerd", "2.1.5"),
      want: "inPlace",
    },
    {
      name: "a runtime that is not known yet",
      to: { containerRuntime: unknownValue },
      want: "replace",
    },
    { name: "a newer OS image", to: { image: "local/ubuntu-26.04" }, want: "replace" },
    { name: "an older OS image", to: { image: "local/ubuntu-22.04" }, want: "replace" },
    {
      name: "a newer kubelet of a host of namespaces",
      from: { nodes: "kubeadm" },
      to: { kubelet: "1.35.0" },
      want: "replace",
    },
    { name: "labels of the node", to: { nodeLabels: { a: "b" } }, want: "inPlace" },
    {
      name: "kubelet and OS image at once",
      to: { kubelet: "1.35.0", image: "x" },
      want: "replace",
    },
  ];
  for (const { name, from = {}, to, want } of cases) {
    it(`${name}: ${want}`, () => {
      const { containerRuntime, ...rest } = { ...spec, ...from };
      const recorded: JsonObject = containerRuntime ? { ...rest, containerRuntime } : rest;
      const provider = localProvider();
      const verdict = provider.verdict("LocalHost", recorded, { ...recorded, ...to });
      assert.equal(verdict.kind, want);
      if (verdict.kind === "replace") assert.notEqual(verdict.reason, "");
    });
  }

  it("says of every change in place that restarts a node, and of no other, that it is disruptive", () => {
    const values: JsonObject = {
      kubelet: "1.35.0",
      controlPlane: "1.35.0",
      diskGib: 30,
      ...runtime("containerd", "2.1.5"),
    };
    const recorded = { ...spec, diskGib: 20 };
    const told = Object.keys(rules["LocalHost"] ?? {}).flatMap((field) => {
      const wanted = { ...recorded, [field]: values[field] ?? { a: "b" } };
      const verdict = localProvider().verdict("LocalHost", recorded, wanted);
      if (verdict.kind !== "inPlace") return [];
      const isTold = verdict.disruptions?.[field] !== undefined;
      assert.equal(isTold, restartsNode(recorded, wanted), field);
      return isTold ? [field] : [];
    });
    assert.deepEqual(told.sort(), ["containerRuntime", "controlPlane", "kubelet"]);
  });
});
