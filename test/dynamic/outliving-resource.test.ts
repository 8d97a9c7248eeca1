import assert from "node:assert/strict";
import { OutlivingResource } from "../../src/dynamic/outliving-resource.js";
import {
  type DynamicResource,
  type Properties,
  UnfinishedResource,
} from "../../src/dynamic/protocol.js";

/** Says what it was asked for, and nothing of its own. */
const plain: DynamicResource = {
  check: (_olds, inputs) => Promise.resolve({ inputs, failures: [] }),
  diff: (_id, { spec: before }, { spec }) =>
    Promise.resolve({ changes: before !== spec, paths: before === spec ? [] : ["spec"] }),
  create: ({ spec = null }) => {
    if (spec === "breaks") return Promise.reject(new UnfinishedResource("r-1", { spec }, "broke"));
    return Promise.resolve({ id: "r-1", outs: { spec } });
  },
  read: (id) =>
    Promise.resolve(id === "gone" ? {} : { id, props: { spec: 1 }, inputs: { spec: 1 } }),
  update: (_id, _olds, { spec = null }) => Promise.resolve({ outs: { spec } }),
  delete: () => Promise.resolve(),
};

describe("a resource that outlives its host", () => {
  const resource = new OutlivingResource(plain);
  const [kept, other]: Properties[] = [{ spec: 1, keep: true }, { spec: 1 }];

  it("is recorded as that, also where it is not finished, and no other is", async () => {
    assert.deepEqual((await resource.create(kept!)).outs, kept);
    assert.deepEqual((await resource.create(other!)).outs, other);
    assert.deepEqual((await resource.update("r-1", other!, kept!)).outs, kept);
    assert.deepEqual((await resource.update("r-1", kept!, other!)).outs, other);
    await assert.rejects(resource.create({ spec: "breaks", keep: true }), {
      name: "UnfinishedResource",
      id: "r-1",
      properties: { spec: "breaks", keep: true },
    });
  });

  it("is still that once it was read again, unless it is gone", async () => {
    assert.deepEqual(await resource.read("r-1", kept!), { id: "r-1", props: kept, inputs: kept });
    assert.deepEqual(await resource.read("r-1", other!), {
      id: "r-1",
      props: other,
      inputs: other,
    });
    assert.deepEqual(await resource.read("gone", kept!), {});
  });

  it("differs where it was none, or is none any more", async () => {
    const diff = (olds: Properties, news: Properties) => resource.diff("r-1", olds, news);
    assert.deepEqual(await diff(kept!, kept!), { changes: false, paths: [] });
    assert.deepEqual(await diff(other!, kept!), { changes: true, paths: ["keep"] });
    assert.deepEqual(await diff(kept!, { spec: 2 }), { changes: true, paths: ["spec", "keep"] });
  });
});
