import assert from "node:assert/strict";
import fc from "fast-check";
import { type GraphNode, keyOf, nodeKey } from "../../src/graph/graph.js";
import { renderGraphs } from "../../src/graph/render.js";
import { firstPlan } from "../support/first-plan.js";
import { assertGolden } from "../support/golden.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
} from "../support/manifests.js";
import { assertDot, assertMermaid } from "../support/drawings.js";
import { assertLaw } from "../support/laws.js";

const resource = (name: string, more: Partial<GraphNode> = {}): GraphNode => ({
  kind: "Host",
  name,
  type: "resource",
  spec: {},
  dependsOn: [],
  ...more,
});

function compiled(): GraphNode[] {
  const desired = desiredOf([
    cluster(),
    machine("cp-0", { controlPlane: "1.34.2" }),
    machineDeployment("workers", 2),
  ]);
  return [...firstPlan(desired, localProvider()).target.nodes];
}

describe("renderGraphs", () => {
  it("draws a compiled cluster", () => {
    const graphs = [{ title: "Cluster default/prod", nodes: compiled() }];
    const dot = renderGraphs(graphs, "dot");
    const mermaid = renderGraphs(graphs, "mermaid");
    assertDot(dot);
    assertMermaid(mermaid);
    assertGolden("graph-dot", dot);
    assertGolden("graph-mermaid", mermaid);
  });

  it("an arrow leads to what is needed, with the field that needs it", () => {
    const network = resource("net");
    const host = resource("a", {
      spec: { networkId: { $ref: keyOf(network), output: "id" }, size: "small" },
    });
    const later = resource("b", { dependsOn: [keyOf(host)] });
    const graphs = [{ title: "t", nodes: [network, host, later] }];
    assert.match(renderGraphs(graphs, "dot"), /g0n1 -> g0n0 \[label="networkId"\];/);
    assert.match(renderGraphs(graphs, "dot"), /g0n2 -> g0n1;/);
    assert.match(renderGraphs(graphs, "mermaid"), /g0n1 -->\|"networkId"\| g0n0\n/);
  });

  it("a component is a frame, and arrows to it end there", () => {
    const frame: GraphNode = { ...resource("m"), kind: "Machine", type: "component" };
    const inside = resource("h", { parent: keyOf(frame) });
    const outside = resource("o", { dependsOn: [keyOf(frame)] });
    const graphs = [{ title: "t", nodes: [frame, inside, outside] }];
    assert.match(renderGraphs(graphs, "dot"), /g0n2 -> g0n1 \[lhead=cluster_g0n0\];/);
    assert.match(renderGraphs(graphs, "mermaid"), /subgraph g0n0\["Machine m"\]/);
    assert.match(renderGraphs(graphs, "mermaid"), /g0n2 --> g0n0\n/);
    assertDot(renderGraphs(graphs, "dot"));
  });

  it("leaves out what is not in the graph", () => {
    const nodes = [resource("a", { dependsOn: [nodeKey("Host", "elsewhere")] })];
    assert.doesNotMatch(renderGraphs([{ title: "t", nodes }], "dot"), /->/);
  });

  it("draws several clusters side by side, and none", () => {
    const graphs = ["one", "two"].map((title) => ({ title, nodes: [resource("a")] }));
    for (const some of [graphs, []]) {
      assertDot(renderGraphs(some, "dot"));
      assertMermaid(renderGraphs(some, "mermaid"));
    }
  });

  it("stays valid whatever the names are", () => {
    const words = fc.string({ unit: "binary", maxLength: 12 });
    const awkward = fc.constantFrom(
      '"',
      "\\",
      '\\"',
      "end",
      "<b>",
      "a\nb",
      "]",
      "#quot;",
      "%%",
      "`",
    );
    const name = fc.oneof(
      words,
      awkward,
      fc.tuple(words, awkward).map((parts) => parts.join("")),
    );
    assertLaw(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 6 }), name, (names, title) => {
        const nodes = names.map((one, index) =>
          resource(
            one,
            index === 0 ? {} : { dependsOn: [nodeKey("Host", names[index - 1] ?? "")] },
          ),
        );
        const graphs = [{ title, nodes }];
        assertDot(renderGraphs(graphs, "dot"));
        assertMermaid(renderGraphs(graphs, "mermaid"));
        assert.equal(renderGraphs(graphs, "dot"), renderGraphs(graphs, "dot"));
      }),
    );
  });
});
