import assert from "node:assert/strict";
import fc from "fast-check";
import { FairLine, turnOf } from "../../src/provider/fair-line.js";
import { assertLaw } from "../support/laws.js";

const namespaceOf = (key: string) => turnOf(key).namespace;

describe("FairLine", () => {
  it("knows a cluster by its key and by its stack, and others as nobody's", () => {
    const turn = { namespace: "team-a", name: "prod" };
    assert.deepEqual([turnOf("team-a/prod"), turnOf("team-a.prod")], [turn, turn]);
    assert.deepEqual(turnOf("prod"), { namespace: "", name: "prod" });
  });

  it("takes out what is removed, and nothing else", () => {
    const line = new FairLine<string>();
    for (const key of ["a/x", "a/y", "b/z"]) line.add(turnOf(key), key);
    for (const key of ["a/x", "b/z", "c/w"]) line.remove(turnOf(key));
    assert.deepEqual([line.next(), line.next()], ["a/y", undefined]);
  });

  it("passes over namespaces that may have no turn, which stay where they are", () => {
    const line = new FairLine<string>();
    for (const key of ["a/x", "b/z"]) line.add(turnOf(key), key);
    assert.equal(
      line.next((namespace) => namespace !== "a"),
      "b/z",
    );
    assert.equal(
      line.next((namespace) => namespace !== "a"),
      undefined,
    );
    assert.equal(line.next(), "a/x");
  });

  it("loses nothing, and lets nobody wait for more than one turn of each other one", () => {
    const keys = fc.constantFrom("a/x", "a/y", "a/z", "b/x", "b/y", "c/x");
    const steps = fc.array(fc.oneof(keys, fc.constant("next")), { maxLength: 200 });
    assertLaw(
      fc.property(steps, (history) => {
        const line = new FairLine<number>();
        let waiting: { readonly id: number; readonly key: string; passedBy: string[] }[] = [];
        let ids = 0;
        for (const step of [...history, ...history.map(() => "next")]) {
          if (step !== "next") {
            waiting.push({ id: ids, key: step, passedBy: [] });
            line.add(turnOf(step), ids);
            ids += 1;
            continue;
          }
          const id = line.next();
          const served = waiting.find((one) => one.id === id);
          if (served === undefined) {
            assert.deepEqual([id, waiting], [undefined, []]);
            continue;
          }
          waiting = waiting.filter((one) => one !== served);
          for (const one of waiting) one.passedBy.push(served.key);
          const isHead = (one: { key: string; id: number }) =>
            !waiting.some((other) => other.key === one.key && other.id < one.id);
          for (const one of waiting.filter(isHead)) {
            // Between two turns of its namespace each other one has at most one.
            const since = one.passedBy.findLastIndex(
              (key) => namespaceOf(key) === namespaceOf(one.key),
            );
            const others = one.passedBy.slice(since + 1).map(namespaceOf);
            assert.equal(new Set(others).size, others.length, others.join());
          }
        }
        assert.deepEqual(waiting, []);
      }),
    );
  });
});
