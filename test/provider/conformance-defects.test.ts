import assert from "node:assert/strict";
import {
  conformanceCases,
  ConformanceFailure,
  type ConformanceSubject,
} from "../../src/provider-conformance/index.js";
import {
  cases,
  deaf,
  folderDefects,
  localDefects,
  remembered,
  resizeDefects,
  withCalls,
  withShown,
} from "./defects.js";
import { folderSubject, localSubject, resizableSubject } from "./worlds.js";

const seeded: readonly [string, string, ConformanceSubject][] = [
  ...Object.entries(folderDefects).map(([name, [fails, provider]]): (typeof seeded)[number] => [
    `the example: ${name}`,
    fails,
    folderSubject({ provider }),
  ]),
  ...Object.entries(localDefects).map(([name, [fails, provider]]): (typeof seeded)[number] => [
    `local: ${name}`,
    fails,
    localSubject(provider),
  ]),
  ...Object.entries(resizeDefects).map(([name, [fails, provider]]): (typeof seeded)[number] => [
    `local, resizable: ${name}`,
    fails,
    resizableSubject(provider),
  ]),
];

describe("conformance catches what hurts", () => {
  for (const [name, fails, subject] of seeded) {
    it(name, async () => {
      const found = conformanceCases(subject).find((one) => one.name === fails);
      assert.ok(found, `there is no case "${fails}"`);
      await assert.rejects(found.run(), (error) => {
        assert.ok(error instanceof ConformanceFailure, String(error));
        assert.match(error.message, /^(\w+: )?a provider must .+: .+/);
        return true;
      });
    });
  }

  it("by at least 32 defects", () => {
    assert.ok(seeded.length >= 32, String(seeded.length));
  });
});

/** A subject whose cloud cannot change a field of what is there. */
function withFixed(subject: ConformanceSubject, field: string): ConformanceSubject {
  return {
    ...subject,
    open: async () => {
      const world = await subject.open();
      return {
        ...world,
        mutate: async (id, fields) =>
          !(field in fields) && ((await world.mutate?.(id, fields)) ?? false),
      };
    },
  };
}

/** A subject whose cloud stops no host. */
function withoutStop(subject: ConformanceSubject): ConformanceSubject {
  const open = async () => {
    const { stop: _none, ...world } = await subject.open();
    return world;
  };
  return { ...subject, open };
}

/** Defects that pass, and why nobody can tell, or why none of them hurts. */
const uncaught: readonly {
  readonly name: string;
  readonly subject: ConformanceSubject;
  readonly passes: string;
  readonly because: string;
}[] = [
  {
    name: "a create of one change does not look at an interrupt that came before it",
    subject: folderSubject({
      provider: (good) =>
        withCalls(good, (handler) => ({
          create: (ctx, who, spec) => handler.create(deaf(ctx), who, spec),
        })),
    }),
    passes: cases.interrupt,
    because: "what it makes is recorded, as it is when the interrupt comes a moment later",
  },
  {
    name: "a create does not look at its engine before its first change",
    subject: folderSubject(),
    passes: cases.engine,
    because: "who calls it has looked right before",
  },
  {
    name: "a cloud that answers at once, and a call that ignores interrupts",
    subject: folderSubject({
      provider: (good) =>
        withCalls(good, (handler) => ({
          locate: ({ clock, assertEngineAlive }, ...args) =>
            handler.locate(
              { clock, assertEngineAlive, signal: new AbortController().signal },
              ...args,
            ),
        })),
    }),
    passes: cases.hang,
    because: "there is nothing to interrupt",
  },
  {
    name: "a cloud that cannot hold two of one identity, and a locate that takes the first",
    subject: folderSubject(),
    passes: cases.twins,
    because: "there are never two",
  },
  {
    name: "a cloud that cannot stop hosts, and a locate that would show one as ready",
    subject: withoutStop(
      localSubject((good) =>
        withShown(good, (one) => ({
          ...one,
          phase: one.phase === "pending" ? "ready" : one.phase,
        })),
      ),
    ),
    passes: cases.stopped,
    because: "none is ever stopped",
  },
  {
    name: "a field that the cloud does not show is what was asked for",
    subject: withFixed(
      folderSubject({ provider: (good) => remembered(good, undefined, "kubelet") }),
      "kubelet",
    ),
    passes: cases.changed,
    because: "nobody but the host knows better, and every plan would have a change otherwise",
  },
];

describe("conformance does not catch", () => {
  for (const { name, subject, passes, because } of uncaught) {
    it(`${name}: ${because}`, async () => {
      const found = conformanceCases(subject).find((one) => one.name === passes);
      assert.ok(found, `there is no case "${passes}"`);
      const { outcome } = await found.run();
      assert.ok(outcome === "passed" || outcome === "notChecked", outcome);
    });
  }
});
