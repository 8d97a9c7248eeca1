import assert from "node:assert/strict";
import { cordonedAtMsOf } from "../../src/workload/cordon.js";
import { nodeFields } from "../../src/drift/node-fields.js";
import { nodeReportOf, type ReportingNode } from "../../src/workload/node-report.js";

const node: ReportingNode = {
  metadata: { name: "ip-10-0-0-7", uid: "0b1c" },
  status: {
    nodeInfo: {
      kubeletVersion: "v1.34.2-eks-113cf36",
      containerRuntimeVersion: "containerd://v2.1.5",
      osImage: "",
    },
    addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
    conditions: [
      {
        type: "Ready",
        status: "True",
        lastTransitionTime: new Date(1_700_000_000_500),
        reason: "KubeletReady",
        message: "",
      },
      { type: "Odd", status: "maybe" },
    ],
  },
};

describe("what a Node says of itself", () => {
  it("is what its kubelet has told, without what moves all the time", () => {
    assert.deepEqual(nodeReportOf(node), {
      kubelet: "1.34.2-eks-113cf36",
      containerRuntime: { name: "containerd", version: "2.1.5" },
      uid: "0b1c",
      name: "ip-10-0-0-7",
      addresses: [{ type: "InternalIP", address: "10.0.0.7" }],
      conditions: [
        {
          type: "Ready",
          status: "True",
          lastTransitionTime: "2023-11-14T22:13:20Z",
          reason: "KubeletReady",
        },
        { type: "Odd", status: "Unknown" },
      ],
    });
  });

  it("is who keeps pods from it, if anybody does", () => {
    const annotations = { "capstan.dev/cordoned": "2026-05-04T10:11:12Z" };
    const saidBy = (unschedulable: boolean, metadata?: ReportingNode["metadata"]) =>
      nodeReportOf({ ...node, metadata, spec: { unschedulable } })?.cordonedBy;
    assert.deepEqual(
      [
        saidBy(true, { annotations }),
        saidBy(true, {}),
        saidBy(true),
        saidBy(false, { annotations }),
      ],
      ["capstan", "others", "others", undefined],
    );
  });

  it("tells of a mark of ours that is left where somebody else has let it take pods again", () => {
    const annotations = { "capstan.dev/cordoned": "2026-05-04T10:11:12Z" };
    const saidBy = (unschedulable: boolean, metadata?: ReportingNode["metadata"]) =>
      nodeReportOf({ ...node, metadata, spec: { unschedulable } })?.cordonMarkIsLeft;
    assert.deepEqual(
      [saidBy(false, { annotations }), saidBy(true, { annotations }), saidBy(false, {})],
      [true, undefined, undefined],
    );
    const since = (unschedulable: boolean) =>
      cordonedAtMsOf({ metadata: { annotations }, spec: { unschedulable } });
    assert.deepEqual([since(true), since(false)], [Date.parse("2026-05-04T10:11:12Z"), undefined]);
  });

  it("is nothing before its kubelet has said anything", () => {
    assert.equal(nodeReportOf({ metadata: { name: "a" } }), undefined);
    const nodeInfo = { kubeletVersion: "", containerRuntimeVersion: "", osImage: "" };
    assert.equal(nodeReportOf({ status: { nodeInfo } }), undefined);
  });

  const asked = { kubelet: "1.34.2", containerRuntime: { name: "containerd", version: "2.1.5" } };
  const cases: readonly (readonly [string, object, string[]])[] = [
    ["as its spec says, whatever its vendor appends", {}, []],
    ["another patch of the kubelet", { kubelet: "1.34.3" }, ["node.kubelet"]],
    [
      "another runtime",
      { containerRuntime: { name: "cri-o", version: "2.1.5" } },
      ["node.containerRuntime.name"],
    ],
    [
      "another version of it",
      { containerRuntime: { name: "containerd", version: "2.0.0" } },
      ["node.containerRuntime.version"],
    ],
    ["a runtime that it does not tell", { containerRuntime: undefined }, []],
    ["what is no version", { kubelet: "devel" }, []],
  ];
  for (const [name, change, want] of cases) {
    it(`is held against its host's spec: ${name}`, () => {
      const report = { ...nodeReportOf(node)!, ...change };
      assert.deepEqual(
        nodeFields(asked, report).map(({ path }) => path),
        want,
      );
    });
  }

  it("is held against nothing that its host's spec leaves open, and nobody's word is none", () => {
    assert.deepEqual(nodeFields({}, nodeReportOf(node)), []);
    assert.deepEqual(
      nodeFields({ containerRuntime: { name: "containerd" } }, nodeReportOf(node)),
      [],
    );
    assert.deepEqual(nodeFields(asked, undefined), []);
  });
});
