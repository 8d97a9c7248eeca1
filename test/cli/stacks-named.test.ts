import assert from "node:assert/strict";
import { stacksAmong } from "../../src/cli/commands/stacks.js";
import { stackMeant } from "../../src/cli/stack-meant.js";
import { stackNameOf } from "../../src/api/types.js";
import type { NotedCluster } from "../../src/sweep/clusters.js";
import { failsWith } from "../support/errors.js";
import { cluster, desiredOf } from "../support/manifests.js";

describe("the stacks that a command changes", () => {
  const engine = {
    stacks: { list: () => Promise.resolve(["default.a", "default.b"]) },
    noted: () => [],
  };
  const folder = ["a", "b"].map((name) => desiredOf([cluster({ name })]));

  it("are those that are named, whatever else the manifests hold that tell of them", async () => {
    assert.deepEqual(await stacksAmong(["default/a"], folder, engine), ["default.a"]);
    assert.deepEqual(await stacksAmong(["default.a", "default/a"], [], engine), ["default.a"]);
  });

  it("are those of manifests where none is named, and else all there are", async () => {
    assert.deepEqual(await stacksAmong([], folder, engine), ["default.a", "default.b"]);
    assert.deepEqual(await stacksAmong([], folder.slice(1), engine), ["default.b"]);
    assert.deepEqual(await stacksAmong([], [], engine), ["default.a", "default.b"]);
  });

  it("are none of a path that is taken for a name", async () => {
    await assert.rejects(stacksAmong(["package.json"], [], engine), failsWith("BAD_USAGE"));
  });
});

describe("the stack that a word means", () => {
  const long = "n".repeat(63);
  const cut = stackNameOf({ metadata: { namespace: long, name: "prod" + long } });
  const noted = (cluster: string, stack: string): NotedCluster => ({
    clusterUid: `uid of ${cluster}`,
    cluster,
    stack,
    provider: "local",
    backend: "own",
    notedAtMs: 1,
  });
  const known = {
    stacks: ["default.a", "default.b", "other.b", "other.c.d", "mine", cut],
    noted: [
      noted(`${long}/prod${long}`, cut),
      noted("default/gone", "default.gone"),
      noted("old/b", "old.b"),
    ],
  };
  for (const { name, words, want } of [
    { name: "of a cluster", words: ["default/a", "default.a", "a"], want: "default.a" },
    {
      name: "of a cluster whose name is cut in that of its stack",
      words: [`${long}/prod${long}`, `${long}.prod${long}`, cut, `prod${long}`],
      want: cut,
    },
    {
      name: "of a cluster with a dot in its name",
      words: ["other/c.d", "other.c.d"],
      want: "other.c.d",
    },
    { name: "that no cluster named", words: ["mine"], want: "mine" },
    { name: "of a cluster that has ended", words: ["default/gone", "gone"], want: "default.gone" },
    { name: "that is not known", words: ["default/x", "default.x"], want: "default.x" },
    { name: "that is not known by a bare name", words: ["x"], want: "x" },
  ]) {
    it(`is that ${name}`, () => {
      assert.deepEqual(
        words.map((word) => stackMeant(word, known)),
        words.map(() => want),
      );
    });
  }

  it("is none of several clusters that share a bare name", () => {
    assert.throws(() => stackMeant("b", known), failsWith("BAD_USAGE", /2 are called b/));
  });
});
