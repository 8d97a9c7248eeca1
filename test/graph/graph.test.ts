import assert from "node:assert/strict";
import fc from "fast-check";
import { isCapstanError } from "../../src/api/error.js";
import type { Json } from "../../src/api/json.js";
import {
  dependenciesOf,
  type GraphNode,
  inDependencyOrder,
  keyOf,
  nodeKey,
  refsIn,
  resolveRefs,
} from "../../src/graph/graph.js";
import { assertLaw } from "../support/laws.js";

/** A node of kind K that depends on others by name. */
function node(name: string, ...dependsOn: string[]): GraphNode {
  return {
    kind: "K",
    name,
    type: "resource",
    spec: {},
    dependsOn: dependsOn.map((one) => nodeKey("K", one)),
  };
}

function orderOf(graph: readonly GraphNode[]): string {
  return inDependencyOrder(graph)
    .map(({ name }) => name)
    .join(" ");
}

describe("dependency order", () => {
  const cases = [
    { name: "nothing", given: [], want: "" },
    {
      name: "order given, where nothing forces another",
      given: [node("b"), node("a")],
      want: "b a",
    },
    { name: "dependency first", given: [node("b", "a"), node("a")], want: "a b" },
    {
      name: "diamond",
      given: [node("d", "b", "c"), node("c", "a"), node("b", "a"), node("a")],
      want: "a c b d",
    },
    {
      name: "dependency outside the graph",
      given: [node("b", "elsewhere"), node("a")],
      want: "b a",
    },
    { name: "same dependency twice", given: [node("b", "a", "a"), node("a")], want: "a b" },
    {
      name: "parent first",
      given: [{ ...node("host"), parent: nodeKey("K", "machine") }, node("machine")],
      want: "machine host",
    },
    {
      name: "what a Ref names first, at any depth",
      given: [
        { ...node("host"), spec: { nics: [{ net: { $ref: nodeKey("K", "net"), output: "id" } }] } },
        node("net"),
      ],
      want: "net host",
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.equal(orderOf(given), want));
  }

  const circles = [
    { name: "itself", given: [node("a", "a")], want: /K\/a -> K\/a$/ },
    { name: "two", given: [node("a", "b"), node("b", "a")], want: /K\/a -> K\/b -> K\/a$/ },
    {
      name: "three, without what only leads to them",
      given: [node("lead", "x"), node("x", "y"), node("y", "z"), node("z", "x"), node("free")],
      want: /: K\/x -> K\/y -> K\/z -> K\/x$/,
    },
  ];
  for (const { name, given, want } of circles) {
    it(`names a circle of ${name}`, () => {
      assert.throws(
        () => inDependencyOrder(given),
        (error) =>
          isCapstanError(error) && error.code === "GRAPH_CYCLE" && want.test(error.message),
      );
    });
  }

  it("puts every node behind its dependencies and keeps each, for any graph without circles", () => {
    const edges = fc.array(fc.tuple(fc.nat({ max: 11 }), fc.nat({ max: 11 })), { maxLength: 30 });
    const property = fc.property(edges, fc.boolean(), (pairs, backwards) => {
      const nodes = Array.from({ length: 12 }, (_, index) =>
        node(
          `n${index}`,
          ...pairs.filter(([from, to]) => from === index && to < index).map(([, to]) => `n${to}`),
        ),
      );
      const ordered = inDependencyOrder(backwards ? [...nodes].reverse() : nodes);
      assert.equal(new Set(ordered).size, nodes.length);
      const position = new Map(ordered.map((one, index) => [keyOf(one), index]));
      for (const one of nodes) {
        for (const dependency of one.dependsOn) {
          assert.ok((position.get(dependency) ?? 0) < (position.get(keyOf(one)) ?? 0));
        }
      }
    });
    assertLaw(property);
  });

  it("orders ten thousand nodes in a chain within a second of a processor", () => {
    const chain = Array.from({ length: 10_000 }, (_, index) =>
      index === 0 ? node("n0") : node(`n${index}`, `n${index - 1}`),
    );
    const started = process.cpuUsage();
    assert.equal(inDependencyOrder(chain.reverse())[0]?.name, "n0");
    const { user, system } = process.cpuUsage(started);
    assert.ok(user + system < 1_000_000, `${user + system} µs`);
  });
});

describe("references", () => {
  const net = { $ref: nodeKey("K", "net"), output: "id" };
  const lb = { $ref: nodeKey("K", "lb"), output: "address" };

  it("are found in document order at any depth", () => {
    assert.deepEqual(refsIn({ b: [net, { c: lb }], a: net, plain: "K/net" }), [net, lb, net]);
  });

  it("count as dependencies once, beside parent and explicit ones", () => {
    const all = {
      ...node("host", "first"),
      parent: nodeKey("K", "machine"),
      spec: { net, again: net },
    };
    assert.deepEqual(dependenciesOf(all), ["K/first", "K/machine", "K/net"]);
  });

  it("are replaced by what they resolve to; the rest is copied unchanged", () => {
    const spec = { net, list: [1, lb, null], deep: { text: "x", flag: false } };
    const resolved = resolveRefs<Json>(spec, ({ $ref, output }) => `${$ref}.${output}`);
    assert.deepEqual(resolved, {
      net: "K/net.id",
      list: [1, "K/lb.address", null],
      deep: { text: "x", flag: false },
    });
    assert.deepEqual(spec.net, net, "the original is left alone");
  });
});
