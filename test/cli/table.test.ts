import assert from "node:assert/strict";
import {
  type Cells,
  facts,
  firstThatFits,
  inColumns,
  openTable,
  table,
} from "../../src/cli/table.js";

describe("tables", () => {
  it("align columns, whatever their characters take", () => {
    const rows = [
      ["日本", "x"],
      ["abc", "y"],
    ];
    assert.equal(inColumns(["日本", "x"], [6, 2]), "日本     x ");
    assert.equal(table(["A", "B"], rows), "A      B\n日本   x\nabc    y\n");
    assert.equal(table(["LONG", "B"], [["a", "b"]], 4), "LON…\na…\n");
    assert.equal(table([], []), "\n");
  });

  const whole = [
    ["NAME", "AGE"],
    ["a", "1m"],
  ];
  const least = [["NAME"], ["a"]];
  const room: { columns: number; want: Cells }[] = [
    { columns: Infinity, want: whole },
    { columns: 10, want: whole },
    { columns: 9, want: least },
    { columns: 1, want: least },
  ];
  for (const { columns, want } of room) {
    it(`go without a column where ${columns} are too few for all`, () =>
      assert.deepEqual(firstThatFits([whole, least], columns), want));
  }

  it("name what stands behind their rows where there is room for its title", () => {
    const rows = ["a      1m "];
    assert.deepEqual(openTable(whole, "WHY", 16), { head: "NAME   AGE   WHY", rows });
    assert.deepEqual(openTable(whole, "WHY", 15), { head: "NAME   AGE", rows });
    assert.deepEqual(openTable(whole, "", 4), { head: "NAM…", rows });
  });

  it("leave out facts without a value", () => {
    const pairs = [
      ["Id", "i-1"],
      ["Address", ""],
      ["Reason", "none"],
    ] as const;
    assert.deepEqual(facts("  ", pairs), ["  Id:       i-1", "  Reason:   none"]);
  });
});
