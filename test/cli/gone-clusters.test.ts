import assert from "node:assert/strict";
import { join, resolve } from "node:path";
import { keptMeanwhile, leftBehind } from "../../src/cli/gone-clusters.js";
import { cluster, desiredOf } from "../support/manifests.js";

describe("clusters that other folders may hold", () => {
  const [a, b, c] = ["a", "b", "c"].map((folder) => resolve(folder)) as [string, string, string];
  const desired = [desiredOf([cluster()])];
  const cases = [
    { name: "none when all was read", noted: { "default.old": [[b]] }, files: ["b"], want: 0 },
    {
      name: "one of which a part was read",
      noted: { "default.old": [[a, b]] },
      files: ["b"],
      want: 1,
    },
    {
      name: "none that is in what was read",
      noted: { "default.prod": [[a, b]] },
      files: ["b"],
      want: 0,
    },
    {
      name: "none of quite other folders",
      noted: { "default.old": [[a, c]] },
      files: ["b"],
      want: 0,
    },
    {
      name: "none that shares one of several",
      noted: { "default.old": [[a, c]] },
      files: ["a", "b"],
      want: 0,
    },
    {
      name: "one that other folders hold, too",
      noted: { "default.old": [[b], [a]] },
      files: ["b"],
      want: 1,
    },
    {
      name: "none of which a file in what was read was noted",
      noted: { "default.old": [[b], [join(b, "old.yaml")]] },
      files: ["b"],
      want: 0,
    },
    {
      name: "one that a folder in what was read holds, too, which is not read with it",
      noted: { "default.old": [[b], [join(b, "more")]] },
      files: ["b"],
      want: 1,
    },
  ];
  for (const { name, noted, files, want } of cases) {
    it(name, () => {
      const left = leftBehind(
        desired,
        files.map((file) => resolve(file)),
        noted,
      );
      assert.equal(left.length, want);
      if (want > 0) assert.match(left[0]?.text ?? "", /Stack default\.old .*left as it is/);
    });
  }
});

describe("a cluster that is to be taken down", () => {
  const [a, b] = [["/a"], ["/b"]];
  const among = (...noted: readonly string[][]) => keptMeanwhile("default.x", a, noted);

  it("is, where nothing but these manifests has held it", () => {
    assert.equal(among(a), undefined);
    assert.equal(among(a, ["/a/x.yaml"]), undefined);
    assert.equal(among(["/a/x.yml", "/a/y.json"]), undefined);
  });

  it("is left where somebody has applied it from others, moved or destroyed it meanwhile", () => {
    assert.match(among(b) ?? "", /default\.x is left as it is: .* applied from \/b meanwhile/);
    assert.match(among(a, b) ?? "", /left as it is: .* applied from \/b meanwhile/);
    assert.match(among(["/a", "/b"]) ?? "", /left as it is/);
    for (const below of ["/a/prod", "/a/*", "/a/prod/*.yaml", "/a/p.yaml/", "/a/prod/x.yaml"]) {
      assert.match(among([below]) ?? "", /left as it is: .* applied from \/a\/p?.* meanwhile/);
      assert.match(among(a, [below]) ?? "", /left as it is/);
    }
    const sources = ["/a", "--var FILE=prod"];
    assert.match(
      keptMeanwhile("default.x", sources, [["/a", "--var FILE=prod/x.yaml"]]) ?? "",
      /left as it is/,
    );
    assert.match(among([]) ?? "", /left as it is: .* applied from standard input meanwhile/);
    assert.match(among() ?? "", /left as it is: it was destroyed or moved meanwhile/);
  });
});
