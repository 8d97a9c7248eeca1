import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import {
  controlPlaneTaint,
  type MarkedNode,
  marksOf,
  marksPatch,
  type NodeMarks,
  otherMarksOf,
} from "../../src/workload/node-marks.js";
import { assertLaw } from "../support/laws.js";

type Marks = Record<string, string>;

/** A Node in an API server that merges patches. Source: RFC 7396. */
interface PlainNode {
  labels: Marks;
  annotations: Marks;
  taints: NodeMarks["taints"];
}

const asNode = ({ labels, annotations, taints }: PlainNode): MarkedNode => ({
  metadata: { labels, annotations, resourceVersion: "7" },
  spec: { taints },
});

function merged(into: Marks, patch: Readonly<Record<string, string | null>> = {}): Marks {
  const after = Object.entries({ ...into, ...patch });
  return Object.fromEntries(
    after.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

function patched(node: PlainNode, wanted: NodeMarks): PlainNode {
  const patch = marksPatch(asNode(node), wanted);
  return {
    labels: merged(node.labels, patch?.metadata.labels),
    annotations: merged(node.annotations, patch?.metadata.annotations),
    taints: patch?.spec?.taints ?? node.taints,
  };
}

const bare: PlainNode = { labels: {}, annotations: {}, taints: [] };
const names = fc.constantFrom("a", "b", "node-role.kubernetes.io/web");
const marks = fc.dictionary(names, fc.constantFrom("1", "2"), { maxKeys: 3 });
const taints = fc.uniqueArray(
  fc.record({
    key: names,
    value: fc.constantFrom("x", "y"),
    effect: fc.constantFrom("NoSchedule", "NoExecute"),
  }),
  { selector: ({ key, effect }) => `${key}:${effect}`, maxLength: 3 },
);
const wants: fc.Arbitrary<NodeMarks> = fc.record({
  labels: marks,
  annotations: marks,
  taints,
  takesPods: fc.boolean(),
});
const others = fc.record({
  labels: fc.dictionary(fc.constantFrom("zone", "arch"), fc.constant("theirs")),
  annotations: fc.dictionary(fc.constantFrom("csi", "cni"), fc.constant("theirs")),
  taints: fc.subarray([{ key: "unreachable", effect: "NoExecute" }, controlPlaneTaint]),
});

/** Without what tells whose marks are whose. */
const shown = ({ labels, annotations, taints: borne }: PlainNode) => ({
  labels,
  annotations: Object.fromEntries(
    Object.entries(annotations).filter(([name]) => name !== "capstan.dev/node-marks"),
  ),
  taints: borne.map(({ key, value, effect }) => `${key}=${value ?? ""}:${effect}`).toSorted(),
});

/** Kubeadm's taint stays as it was found, is off while pods are wanted, and is back once they no longer are. */
const keepsPodsOff = (theirs: Pick<PlainNode, "taints">, history: readonly NodeMarks[]) =>
  history.at(-1)?.takesPods === false &&
  (theirs.taints.includes(controlPlaneTaint) || history.some(({ takesPods }) => takesPods));

describe("the marks of a Node", () => {
  it("are those that are wanted and those of others, whatever was wanted before", () => {
    assertLaw(
      fc.property(others, fc.array(wants, { minLength: 1, maxLength: 4 }), (theirs, history) => {
        let node: PlainNode = { ...theirs };
        for (const wanted of history) node = patched(node, wanted);
        const last = history.at(-1)!;
        assert.deepEqual(
          shown(node),
          shown({
            labels: { ...theirs.labels, ...last.labels },
            annotations: { ...theirs.annotations, ...last.annotations },
            taints: [
              ...theirs.taints.filter((taint) => taint !== controlPlaneTaint),
              ...(keepsPodsOff(theirs, history) ? [controlPlaneTaint] : []),
              ...last.taints,
            ],
          }),
        );
        assert.equal(marksPatch(asNode(node), last), undefined);
      }),
    );
  });

  it("are told as fields of the host's spec exactly where there is something to set or undo", () => {
    const asked = fc.tuple(wants, wants, others);
    assertLaw(
      fc.property(asked, ([before, wanted, theirs]) => {
        const node = patched({ ...theirs }, before);
        const isRight = isDeepStrictEqual(shown(patched(node, wanted)), shown(node));
        assert.equal(otherMarksOf(asNode(node), wanted) === undefined, isRight);
        assert.equal(otherMarksOf(asNode(patched(node, wanted)), wanted), undefined);
      }),
    );
  });

  it("are told with the values that the Node bears", () => {
    const taint = { key: "t", value: "x", effect: "NoSchedule" };
    const wanted = {
      labels: { a: "1" },
      annotations: { n: "1" },
      taints: [taint],
      takesPods: true,
    };
    const node = patched({ ...bare, labels: { zone: "theirs" } }, wanted);
    assert.equal(otherMarksOf(asNode(node), wanted), undefined);
    const changed = { ...node, labels: { a: "2" }, annotations: {}, taints: [controlPlaneTaint] };
    assert.deepEqual(otherMarksOf(asNode(changed), wanted), {
      nodeLabels: { a: "2" },
      nodeAnnotations: {},
      taints: [],
      schedulable: false,
    });
    const undone = marksOf({ roles: ["Master"] });
    assert.deepEqual(otherMarksOf(asNode(node), undone), {
      nodeLabels: { a: "1" },
      nodeAnnotations: { n: "[secret]" },
      taints: [taint],
      schedulable: true,
    });
  });

  it("are put back where somebody takes them off or changes them", () => {
    const wanted = {
      labels: { a: "1" },
      annotations: {},
      taints: [{ key: "t", value: "x", effect: "NoSchedule" }],
      takesPods: false,
    };
    const node = patched(bare, wanted);
    const changed = { ...node, labels: { a: "2" }, taints: [{ key: "t", effect: "NoSchedule" }] };
    assert.deepEqual(shown(patched(changed, wanted)), shown(node));
    assert.deepEqual(shown(patched({ ...node, labels: {}, taints: [] }, wanted)), shown(node));
  });

  it("leave no trace once nothing is wanted", () => {
    const wanted = { labels: { a: "1" }, annotations: { b: "2" }, taints: [], takesPods: true };
    const nothing = { labels: {}, annotations: {}, taints: [], takesPods: false };
    const member = { ...bare, taints: [controlPlaneTaint] };
    assert.deepEqual(patched(patched(member, wanted), nothing), member);
    assert.equal(marksPatch(asNode(bare), nothing), undefined);
  });

  it("change taints only as they were read, and other things whatever happened meanwhile", () => {
    const taint = { key: "t", effect: "NoSchedule" };
    const versionIn = (wanted: NodeMarks) =>
      marksPatch(asNode(bare), wanted)?.metadata.resourceVersion;
    assert.equal(
      versionIn({ labels: {}, annotations: {}, taints: [taint], takesPods: false }),
      "7",
    );
    assert.equal(
      versionIn({ labels: { a: "1" }, annotations: {}, taints: [], takesPods: false }),
      undefined,
    );
  });

  it("let a control-plane member take pods, and keep them off again, as its roles say", () => {
    const member = { ...bare, taints: [controlPlaneTaint] };
    const both = marksOf({ roles: ["Master", "Node"] });
    const open = patched(member, both);
    assert.deepEqual(open.taints, []);
    assert.equal(marksPatch(asNode(open), both), undefined);
    assert.deepEqual(patched(open, marksOf({ roles: ["Master"] })), member);
    // A member that was registered without the taint.
    assert.deepEqual(patched(patched(bare, both), marksOf({})).taints, [controlPlaneTaint]);
  });

  it("leave the taint of a member to a user who took it off", () => {
    assert.equal(marksPatch(asNode(bare), marksOf({ roles: ["Master"] })), undefined);
  });

  it("take a record that is none of ours for nothing", () => {
    const node = { ...bare, labels: { a: "1" }, annotations: { "capstan.dev/node-marks": "[" } };
    assert.deepEqual(shown(patched(node, marksOf({}))).labels, { a: "1" });
  });
});
