import assert from "node:assert/strict";
import { stacksAmong } from "../../src/cli/commands/stacks.js";
import { failsWith } from "../support/errors.js";
import { cluster, desiredOf } from "../support/manifests.js";

describe("the stacks that a command changes", () => {
  const engine = { stacks: { list: () => Promise.resolve(["default.a", "default.b"]) } };
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
