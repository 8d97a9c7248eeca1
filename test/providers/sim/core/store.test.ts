import assert from "node:assert/strict";
import { Draft, Store } from "../../../../providers/sim/core/store.js";

interface Tables {
  readonly things: { readonly id: string; readonly size: number };
}

describe("the store of a simulated cloud", () => {
  const memoryMs = 1_000;
  let store: Store<Tables>;
  const write = (atMs: number, work: (draft: Draft<Tables>) => void) => {
    const draft = new Draft<Tables>(store);
    work(draft);
    return store.commit(draft, atMs, memoryMs);
  };
  const sizes = (reading: { all: (table: "things") => readonly { size: number }[] }) =>
    reading.all("things").map(({ size }) => size);

  beforeEach(() => {
    const things = [{ id: "a", size: 1 }];
    store = new Store<Tables>({ things });
  });

  it("shows nobody a draft before it is committed", () => {
    const draft = new Draft<Tables>(store);
    draft.put("things", { id: "b", size: 2 });
    draft.remove("things", "a");
    assert.deepEqual(sizes(draft), [2]);
    assert.equal(draft.get("things", "a"), undefined);
    assert.deepEqual(sizes(store), [1]);
  });

  it("tells what a commit has changed, each record once", () => {
    const changes = write(10, (draft) => {
      draft.put("things", { id: "a", size: 5 });
      draft.put("things", { id: "a", size: 6 });
      draft.put("things", { id: "b", size: 2 });
    });
    assert.deepEqual(changes, [
      { table: "things", id: "a", before: { id: "a", size: 1 }, after: { id: "a", size: 6 } },
      { table: "things", id: "b", before: undefined, after: { id: "b", size: 2 } },
    ]);
  });

  it("stays readable as it was: what was made is not there yet, what has gone still is", () => {
    write(10, (draft) => draft.put("things", { id: "b", size: 2 }));
    write(20, (draft) => draft.put("things", { id: "b", size: 3 }));
    write(30, (draft) => draft.remove("things", "a"));
    assert.deepEqual(sizes(store.at(5)), [1]);
    assert.deepEqual(sizes(store.at(15)).sort(), [1, 2]);
    assert.deepEqual(sizes(store.at(25)).sort(), [1, 3]);
    assert.deepEqual(sizes(store.at(30)), [3]);
  });

  it("forgets how it was after a while", () => {
    write(10, (draft) => draft.put("things", { id: "b", size: 2 }));
    write(10 + memoryMs + 1, (draft) => draft.put("things", { id: "c", size: 3 }));
    assert.deepEqual(sizes(store.at(5)), [1, 2]);
  });

  it("is the same again from its snapshot", () => {
    write(10, (draft) => draft.put("things", { id: "b", size: 2 }));
    const again = new Store<Tables>(store.snapshot());
    assert.deepEqual(again.snapshot(), store.snapshot());
    assert.deepEqual(sizes(again), [1, 2]);
  });
});
