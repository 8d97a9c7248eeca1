import assert from "node:assert/strict";
import { KubeConfig } from "@kubernetes/client-node";
import type { LiveObject } from "../../src/kube/live-object.js";
import { ObjectCache } from "../../src/kube/object-cache.js";
import { deleted, live } from "../support/live-objects.js";
import { cluster, machine } from "../support/manifests.js";

describe("ObjectCache", () => {
  let told: string[];
  let cache: ObjectCache;
  beforeEach(() => {
    told = [];
    cache = new ObjectCache({
      config: new KubeConfig(),
      random: () => 0,
      onChange: (key) => told.push(key),
      api: { list: () => Promise.reject(new Error("nobody listens")) },
    });
  });

  const at = (resourceVersion: string, about: Partial<LiveObject["metadata"]> = {}) =>
    live(machine("a"), { metadata: { resourceVersion, ...about } });

  function shown(): string[] {
    return cache
      .clusterOf("default/prod")
      .members.map(({ metadata }) => `${metadata.uid}@${metadata.resourceVersion}`);
  }

  for (const { name, news, want } of [
    {
      name: "keeps what a write was answered when older news arrive",
      news: [() => cache.accept(at("12")), () => cache.accept(at("9"))],
      want: ["uid-of-a@12"],
    },
    {
      name: "compares versions as numbers",
      news: [() => cache.accept(at("9")), () => cache.accept(at("10"))],
      want: ["uid-of-a@10"],
    },
    {
      name: "does not bring back what is gone when older news arrive",
      news: [
        () => cache.accept(at("9")),
        () => cache.drop(at("9")),
        () => cache.accept(at("8")),
        () => cache.accept(at("10")),
      ],
      want: [],
    },
    {
      name: "does not bring back what went before its own answer came",
      news: [() => cache.drop(at("11")), () => cache.accept(at("10"))],
      want: [],
    },
    {
      name: "takes the answer to the last finalizer's end for the end of the object",
      news: [() => cache.accept(at("9")), () => cache.accept(at("10", deleted))],
      want: [],
    },
    {
      name: "keeps what is deleted as long as a finalizer holds it",
      news: [() => cache.accept(at("10", { ...deleted, finalizers: ["x/y"] }))],
      want: ["uid-of-a@10"],
    },
    {
      name: "takes another object of the same name in its place",
      news: [
        () => cache.accept(at("9")),
        () => cache.accept(at("12", { uid: "second" })),
        () => cache.accept(at("10")),
        () => cache.drop(at("11")),
      ],
      want: ["second@12"],
    },
  ]) {
    it(name, () => {
      for (const one of news) one();
      assert.deepEqual(shown(), want);
    });
  }

  it("tells both clusters when an object changes from one to the other", () => {
    cache.accept(at("9"));
    told = [];
    cache.accept(at("10", { labels: { "cluster.k8s.io/cluster-name": "other" } }));
    assert.deepEqual(told.sort(), ["default/other", "default/prod"]);
    assert.deepEqual(cache.keys(), ["default/other"]);
  });

  it("tells every cluster of a namespace of a MachineClass", () => {
    cache.accept(live(cluster()));
    cache.accept(live(cluster({ name: "second" })));
    told = [];
    cache.accept(live({ ...machine("small"), kind: "MachineClass" }));
    assert.deepEqual(told.sort(), ["default/prod", "default/second"]);
    assert.equal(cache.clusterOf("default/prod").classes.length, 1);
  });

  it("is told of nothing that it knows already", () => {
    cache.accept(at("9"));
    told = [];
    cache.accept(at("9"));
    assert.deepEqual(told, []);
  });
});
