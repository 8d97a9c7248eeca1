import assert from "node:assert/strict";
import { type LiveChange, LiveStore } from "../../src/kube/live-store.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import { live } from "../support/live-objects.js";
import { machine } from "../support/manifests.js";

describe("LiveStore", () => {
  let changes: string[];
  let store: LiveStore<LiveObject>;
  beforeEach(() => {
    changes = [];
    store = new LiveStore<LiveObject>(
      ({ metadata }) => metadata.name,
      ({ before, after }: LiveChange<LiveObject>) =>
        changes.push(`${versionOf(before)} -> ${versionOf(after)}`),
    );
  });

  const versionOf = (one: LiveObject | undefined) => one?.metadata.resourceVersion ?? "none";
  const at = (name: string, resourceVersion: number, uid = `uid-of-${name}`) =>
    live(machine(name), { metadata: { resourceVersion: String(resourceVersion), uid } });
  const listed = (resourceVersion: number, ...items: LiveObject[]) => ({
    items,
    metadata: { resourceVersion: String(resourceVersion) },
  });
  const relist = (list: ReturnType<typeof listed>, meanwhile = () => {}) =>
    store.relist(
      async () => {
        await Promise.resolve();
        meanwhile();
        return list;
      },
      () => true,
    );
  const known = () => ["a", "b"].map((name) => `${name}@${versionOf(store.get(name))}`).join(" ");

  it("takes what a list has although its versions are smaller: etcd was restored", async () => {
    await relist(listed(800, at("a", 700), at("b", 800)));
    await relist(listed(500, at("a", 400), at("b", 500)));
    assert.equal(known(), "a@400 b@500");
    // An edit after it counts, too.
    store.put(at("a", 501));
    assert.equal(known(), "a@501 b@500");
  });

  it("takes back what was deleted in the history that is no more", async () => {
    await relist(listed(700, at("a", 700)));
    store.remove(at("a", 750));
    await relist(listed(500, at("a", 400)));
    store.put(at("a", 501));
    assert.equal(known(), "a@501 b@none");
  });

  it("forgets what a list does not have, however large its version", async () => {
    await relist(listed(800, at("a", 700), at("b", 800)));
    await relist(listed(500, at("a", 400)));
    assert.equal(known(), "a@400 b@none");
  });

  it("takes another list although the versions in it count further than before", async () => {
    await relist(listed(800, at("a", 800)));
    // The restored history has come further than the lost one meanwhile, and a was not touched in it.
    await relist(listed(900, at("a", 400), at("b", 900)));
    assert.equal(known(), "a@400 b@900");
  });

  it("keeps the answer to a write that was made while the list was read", async () => {
    await relist(listed(10, at("a", 9)));
    await relist(listed(12, at("a", 9)), () => {
      store.put(at("a", 13));
      store.put(at("b", 14));
    });
    assert.equal(known(), "a@13 b@14");
  });

  it("forgets what was written and deleted while the list was read", async () => {
    await relist(listed(20), () => store.put(at("b", 14)));
    assert.equal(known(), "a@none b@none");
    await relist(listed(30, at("a", 25)), () => store.remove(at("a", 28)));
    assert.equal(known(), "a@none b@none");
  });

  it("tells of nothing that a list has as it was", async () => {
    await relist(listed(10, at("a", 9)));
    changes = [];
    await relist(listed(11, at("a", 9)));
    assert.deepEqual(changes, []);
  });
});
