import assert from "node:assert/strict";
import type { NotedCluster } from "../../src/sweep/clusters.js";
import { goneClusters } from "../../src/sweep/gone-clusters.js";
import { unreadable, view } from "./world.js";

const noted = (uid: string, cluster: string, more: Partial<NotedCluster> = {}): NotedCluster => ({
  clusterUid: uid,
  cluster,
  stack: cluster.replace("/", "."),
  provider: "local",
  backend: "here",
  notedAtMs: Number(uid.replace(/\D/g, "")),
  endedAtMs: 1_000,
  ...more,
});

describe("clusters that are gone", () => {
  const old = noted("uid-1", "default/old");
  const uids = (
    all: readonly NotedCluster[],
    views = [view({ stack: "default.prod", uid: "uid-9" })],
  ) => goneClusters(all, "here", views).map(({ clusterUid }) => clusterUid);

  it("are those that no stack holds, newest first", () => {
    assert.deepEqual(uids([old, noted("uid-2", "default/older")]), ["uid-2", "uid-1"]);
  });
  it("are not those whose name a cluster bears, of whatever namespace", () => {
    assert.deepEqual(uids([noted("uid-1", "default/prod"), noted("uid-2", "other/prod")]), []);
  });
  it("are one for each name, and each provider", () => {
    const again = noted("uid-3", "other/old");
    assert.deepEqual(uids([old, again]), ["uid-3"]);
    assert.deepEqual(uids([old, { ...again, provider: "aws" }]), ["uid-3", "uid-1"]);
  });
  it("are not those whose end was never recorded, nor others of their names", () => {
    const { endedAtMs: _, ...lost } = noted("uid-2", "other/old");
    assert.deepEqual(uids([lost]), []);
    assert.deepEqual(uids([old, lost]), []);
  });
  it("are not those that another backend may hold", () => {
    assert.deepEqual(uids([noted("uid-4", "default/old", { backend: "there" }), old]), []);
  });
  it("are none where a stack that cannot be read may hold them", () => {
    assert.deepEqual(uids([old], [unreadable("default.old")]), []);
    assert.deepEqual(uids([old], [unreadable("default.renamed")]), []);
  });
});
