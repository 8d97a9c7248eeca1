import assert from "node:assert/strict";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { CapstanError } from "../../src/api/error.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { updatePolicyAnnotation } from "../../src/api/update-policy.js";
import { classifyDrift } from "../../src/drift/classify.js";
import { decisionText } from "../../src/drift/drift-text.js";
import { hasCorrections, hasDrift, type JudgedDrift } from "../../src/drift/judge.js";
import {
  annotated,
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { type FakeEngine, outcomeText } from "../support/fake-engine.js";
import {
  change,
  drifts,
  hostOf,
  judged,
  kill,
  lines,
  reportOn,
  running,
  desiredWith,
} from "./drifting.js";

const { maxUnhealthy, maxInFlight, freeze, thaw } = driftAnnotations;
/** So that nothing else decides. */
const open = { [maxUnhealthy]: "100%", [maxInFlight]: "100%" };
const openly = annotated(open, cluster());

async function judgedAfter(
  given: (engine: FakeEngine) => void,
  ...objects: readonly Manifest[]
): Promise<JudgedDrift> {
  const desired = desiredWith(...objects);
  const engine = await running(desired);
  given(engine);
  return judged(await reportOn(engine), desired);
}

const byHand = { tags: { by: "hand" } };

describe("what becomes of a finding", () => {
  const plant = (name: string, clusterUid?: string) => (engine: FakeEngine) => {
    const { who } = hostOf(engine, "a");
    const planted = { ...who, name, token: "t", ...(clusterUid !== undefined && { clusterUid }) };
    engine.cloud.plant(planted, {});
  };
  const cases: {
    readonly name: string;
    readonly given: (engine: FakeEngine) => void;
    readonly objects?: readonly Manifest[];
    readonly want: string;
  }[] = [
    {
      name: "it is corrected unless somebody says otherwise",
      given: (engine) => kill(engine, "a"),
      want: "missing a: correct create",
    },
    {
      name: "by a start where it stands still",
      given: (engine) => engine.cloud.halt(hostOf(engine, "a").id),
      want: "stopped a: correct start",
    },
    {
      name: "by a new host where it stands still and policy replace says so",
      given: (engine) => engine.cloud.halt(hostOf(engine, "a").id),
      objects: [annotated({ [driftAnnotations.policy]: "replace" }, machine("a"))],
      want: "stopped a: replace",
    },
    {
      name: "by a start under policy replace where its update policy is inPlaceOnly",
      given: (engine) => engine.cloud.halt(hostOf(engine, "a").id),
      objects: [
        annotated(
          { [driftAnnotations.policy]: "replace", [updatePolicyAnnotation]: "inPlaceOnly" },
          machine("a"),
        ),
      ],
      want: "stopped a: correct start",
    },
    {
      name: "in place where the provider can",
      given: (engine) => change(engine, "a", byHand),
      want: "changed a: correct update",
    },
    {
      name: "by a new host where it cannot",
      given: (engine) => change(engine, "a", { size: "large" }),
      want: "changed a: correct replace",
    },
    {
      name: "by a new host under update policy replaceOnly",
      given: (engine) => change(engine, "a", { kubelet: "1.33.0" }),
      objects: [annotated({ [updatePolicyAnnotation]: "replaceOnly" }, machine("a"))],
      want: "changed a: correct replace",
    },
    {
      name: "by a new host under drift policy replace, whatever the provider could do",
      given: (engine) => change(engine, "a", byHand),
      objects: [drifts("replace", machine("a"))],
      want: "changed a: replace",
    },
    {
      name: "but not where no change may cost the host",
      given: (engine) => change(engine, "a", byHand),
      objects: [drifts("replace", machine("a"), { [updatePolicyAnnotation]: "inPlaceOnly" })],
      want: "changed a: report",
    },
    {
      name: "nor where there is no other way back",
      given: (engine) => change(engine, "a", { size: "large" }),
      objects: [annotated({ [updatePolicyAnnotation]: "inPlaceOnly" }, machine("a"))],
      want: "changed a: report",
    },
    {
      name: "a host that is gone is replaced all the same: there is nothing left to lose",
      given: (engine) => kill(engine, "a"),
      objects: [annotated({ [updatePolicyAnnotation]: "inPlaceOnly" }, machine("a"))],
      want: "missing a: correct create",
    },
    {
      name: "a control-plane host that runs is not replaced by itself",
      given: (engine) => change(engine, "cp", { size: "large" }),
      want: "changed cp: report",
    },
    {
      name: "but changed in place",
      given: (engine) => change(engine, "cp", byHand),
      want: "changed cp: correct update",
    },
    {
      name: "and made again when it is gone",
      given: (engine) => kill(engine, "cp"),
      want: "missing cp: correct create",
    },
    {
      name: "or replaced where somebody asks for that",
      given: (engine) => change(engine, "cp", { size: "large" }),
      objects: [drifts("replace", machine("cp", { controlPlane: "1.34.2" }))],
      want: "changed cp: replace",
    },
    {
      name: "it is only reported under policy report",
      given: (engine) => kill(engine, "a"),
      objects: [drifts("report", machine("a"))],
      want: "missing a: report",
    },
    {
      name: "and nobody's concern under policy ignore",
      given: (engine) => kill(engine, "a"),
      objects: [drifts("ignore", machine("a"))],
      want: "missing a: ignore",
    },
    {
      name: "a Machine's own word counts more than its Cluster's",
      given: (engine) => kill(engine, "a"),
      objects: [drifts("report", cluster()), drifts("correct", machine("a"))],
      want: "missing a: correct create",
    },
    {
      name: "the Cluster's counts for what machines share",
      given: (engine) => {
        const [network] = engine.alive();
        engine.cloud.drift(network?.id ?? "", { bootMs: 7 });
      },
      objects: [drifts("replace", cluster())],
      want: "changed LocalNetwork: correct update",
    },
    {
      name: "the set's for its machines",
      given: (engine) => kill(engine, "set-0"),
      objects: [drifts("report", machineSet("set", 1))],
      want: "missing set-0: report",
    },
    {
      name: "what an apply that broke off has left is removed, as ever",
      given: plant("old-0123abcd-0"),
      want: "extra LocalHost: correct remove",
    },
    {
      name: "but not against the policy of its machine",
      given: plant("a-0123abcd-0"),
      objects: [drifts("report", machine("a"))],
      want: "extra a: report",
    },
    {
      name: "another's is never removed: no listing of this life shows it",
      given: plant("old-0123abcd-0", "uid-9"),
      want: "",
    },
  ];
  for (const { name, given, objects = [], want } of cases) {
    it(name, async () => {
      const desired = [openly, ...objects];
      const found = lines(await judgedAfter(given, ...desired));
      assert.deepEqual(found, want === "" ? [] : [want]);
    });
  }

  it("a template speaks for the hosts of its deployment", async () => {
    const deployment = machineDeployment("web", 1);
    const spec = deployment["spec"] as { template: Manifest };
    const template = drifts("ignore", spec.template);
    const found = await judgedAfter((engine) => kill(engine, "web"), {
      ...drifts("report", deployment),
      spec: { ...spec, template },
    });
    assert.deepEqual(
      found.items.map(({ policy }) => policy),
      ["ignore"],
    );
    assert.deepEqual([hasDrift(found), hasCorrections(found)], [false, false]);
  });

  it("a twin is reported: which of the two is ours cannot be told", async () => {
    const found = await judgedAfter((engine) => {
      engine.cloud.plant(hostOf(engine, "a").who, {});
    });
    assert.deepEqual(found.items[0]?.decision, {
      kind: "report",
      because: { kind: "notOrphaned", origin: "duplicate" },
    });
  });
});

describe("how much is corrected at a time", () => {
  const workers = (count: number) => machineSet("set", count);
  const allOf = (count: number) => Array.from({ length: count }, (_, index) => `set-${index}`);
  const inFlight = (found: JudgedDrift) =>
    lines(found).filter((line) => !line.endsWith("overBudget"));
  const unhealthy = { [maxUnhealthy]: "100%" };

  it("a quarter of the workers, but one at least", async () => {
    const few = await judgedAfter(
      (engine) => kill(engine, "a", "b"),
      annotated(unhealthy, cluster()),
    );
    assert.deepEqual(lines(few), ["missing a: correct create", "missing b: overBudget"]);
    const many = await judgedAfter(
      (engine) => kill(engine, ...allOf(5)),
      annotated(unhealthy, cluster()),
      workers(9),
    );
    assert.equal(inFlight(many).length, 3, "a quarter of 12");
  });

  it("as many as the Cluster asks for; what runs no more goes before what is only different", async () => {
    const asks = (bound: string) => annotated({ ...unhealthy, [maxInFlight]: bound }, cluster());
    const given = (engine: FakeEngine) => {
      change(engine, "a", byHand);
      change(engine, "b", byHand);
      kill(engine, "c");
    };
    assert.deepEqual(inFlight(await judgedAfter(given, asks("1"))), ["missing c: correct create"]);
    assert.deepEqual(inFlight(await judgedAfter(given, asks("2"))), [
      "missing c: correct create",
      "changed a: correct update",
    ]);
    assert.deepEqual(inFlight(await judgedAfter(given, asks("0"))), []);
  });

  it("one member of the control plane, whatever is asked, and all that machines share", async () => {
    const members = ["cp", "cp-1", "cp-2"];
    const found = await judgedAfter(
      (engine) => {
        for (const name of members) change(engine, name, byHand);
        for (const { id, who } of engine.alive()) {
          if (who.kind === "LocalNetwork") engine.cloud.drift(id, { bootMs: 7 });
          if (who.kind === "LocalLoadBalancer") engine.cloud.drift(id, { port: 7 });
        }
      },
      annotated(open, cluster()),
      ...members.map((name) => machine(name, { controlPlane: "1.34.2" })),
    );
    assert.deepEqual(inFlight(found).length, 3);
    assert.equal(found.items.filter(({ decision }) => decision.kind === "overBudget").length, 2);
  });
});

describe("whose turn it is where hosts were replaced in vain", () => {
  it("is what differs only after something new was taken back: what changes in place bears no name to tell it by", async () => {
    const engine = await running(desiredWith(openly));
    const sight = await engine.sight();
    const { transaction } = engine.prior;
    assert.ok(transaction !== undefined);
    const wasTakenBack = (create: number) => {
      const summary = { create, update: 1, delete: 0, lines: [] };
      const ending = { kind: "rolledBack", failure: "no room" } as const;
      const tried = { ...transaction, endedAtMs: 0, summary, ending };
      const back = { ...transaction, goal: { kind: "takeBack" }, attempts: [tried] } as const;
      const state = { ...engine.prior, transaction: back };
      return classifyDrift(state, sight, engine.provider).wasTakenBack;
    };
    assert.deepEqual([wasTakenBack(1), wasTakenBack(0)], [true, undefined]);
  });

  const asks = (bound: string) =>
    annotated({ [maxUnhealthy]: "100%", [maxInFlight]: bound }, cluster());
  const cases: {
    readonly name: string;
    /** How many hosts were to take the place of a machine's own. */
    readonly inVain: Readonly<Record<string, number>>;
    readonly wasTakenBack?: true;
    readonly changed?: readonly string[];
    readonly want: readonly string[];
  }[] = [
    { name: "those that nobody has tried, as many as may", inVain: { a: 1 }, want: ["b", "c"] },
    { name: "of those that were tried one alone", inVain: { a: 1, b: 1, c: 1 }, want: ["a"] },
    { name: "of these the one least often", inVain: { a: 3, b: 2, c: 2 }, want: ["b"] },
    {
      name: "before what only differs",
      inVain: { a: 1 },
      changed: ["b", "c"],
      want: ["a"],
    },
    {
      name: "but not twice on end",
      inVain: { a: 1 },
      changed: ["b", "c"],
      wasTakenBack: true,
      want: ["b", "c"],
    },
  ];
  for (const { name, inVain, wasTakenBack, changed = [], want } of cases) {
    it(name, async () => {
      const desired = desiredWith(asks("2"));
      const engine = await running(desired);
      for (const one of ["a", "b", "c"]) {
        if (changed.includes(one)) change(engine, one, byHand);
        else engine.cloud.announce(hostOf(engine, one).id);
      }
      const report = await reportOn(engine);
      const items = report.items.map((item) => {
        const replacedInVain = inVain[item.machine?.name ?? ""];
        return replacedInVain === undefined ? item : { ...item, replacedInVain };
      });
      const found = judged(omitUndefined({ ...report, items, wasTakenBack }), desired);
      const turn = found.items.filter(({ decision }) => decision.kind === "correct");
      assert.deepEqual(
        turn.map(({ item }) => item.machine?.name),
        want,
      );
    });
  }

  it("is told", async () => {
    const desired = desiredWith(asks("1"));
    const engine = await running(desired);
    for (const one of ["a", "b"]) engine.cloud.announce(hostOf(engine, one).id);
    engine.cloud.refusal = ({ call, who }) =>
      call === "create" && who.name.startsWith("a-")
        ? new CapstanError({ code: "CAPACITY", source: "cloud", message: "there is no room" })
        : undefined;
    const outcome = await engine.up(desired);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    const found = judged(await reportOn(engine), desired);
    assert.deepEqual(found.items.map(decisionText), [
      "later, and alone: 1 host did not take its place",
      "a new host takes its place",
    ]);
  });
});

describe("an answer that is not believed", () => {
  const freezeOf = async (given: (engine: FakeEngine) => void, ...objects: readonly Manifest[]) =>
    (await judgedAfter(given, ...objects)).freeze?.cause;

  it("more unhealthy machines than 40 %, or than the Cluster allows; ignored ones do not count", async () => {
    const two = (engine: FakeEngine) => kill(engine, "a", "b");
    assert.deepEqual(await freezeOf(two), {
      kind: "tooManyUnhealthy",
      unhealthy: 2,
      machines: 4,
      allowed: 1,
    });
    assert.equal(await freezeOf((engine) => kill(engine, "a")), undefined);
    assert.equal(await freezeOf(two, annotated({ [maxUnhealthy]: "2" }, cluster())), undefined);
    assert.equal(await freezeOf(two, drifts("ignore", machine("a"))), undefined);
    const none = annotated({ [maxUnhealthy]: "0%" }, cluster());
    assert.equal((await freezeOf((engine) => kill(engine, "a"), none))?.kind, "tooManyUnhealthy");
    assert.equal(
      await freezeOf((engine) => {
        for (const name of ["a", "b", "c"]) change(engine, name, byHand);
      }),
      undefined,
      "a host that is only different is not unhealthy",
    );
  });

  it("everything gone at once, whatever is allowed", async () => {
    const cause = await freezeOf((engine) => {
      for (const { id } of engine.alive()) engine.cloud.kill(id);
    }, openly);
    assert.deepEqual(cause, { kind: "allGone", resources: 6 });
  });

  it("a listing that shows nothing of what there is", async () => {
    const desired = desiredWith(openly);
    const engine = await running(desired, { traits: { ...lagging } });
    assert.equal(judged(await reportOn(engine), desired).freeze, undefined, "all of it is found");
    kill(engine, "a");
    const found = judged(await reportOn(engine), desired);
    assert.deepEqual(found.freeze?.cause, { kind: "noneListed", resources: 6 });
    assert.deepEqual(lines(found), ["missing a: frozen"]);
    engine.clock.advance(lagging.listingLagMs);
    assert.equal(judged(await reportOn(engine), desired).freeze, undefined);
  });

  it("none at all; nothing thaws that", async () => {
    const desired = desiredWith();
    const engine = await running(desired);
    const report = await reportOn(engine, [{ at: "look", number: 0, what: "failForGood" }]);
    const thawing = desiredWith(
      annotated({ [thaw]: report.fingerprint, [freeze]: "1s" }, cluster()),
    );
    const memory = { sinceMs: {}, frozen: { fingerprint: report.fingerprint, sinceMs: 0 } };
    const found = judged(report, thawing, { memory, nowMs: 9_999_999 });
    assert.equal(found.freeze?.cause.kind, "unreadable");
    assert.equal(found.freeze?.thawsAtMs, undefined);
    assert.deepEqual([hasDrift(found), hasCorrections(found)], [true, false]);
  });
});

const lagging = {
  listingLagMs: 900_000,
  searchesLag: false,
  remembersTokens: true,
  parallel: false,
};

describe("a frozen cluster", () => {
  const manyGone = async (more: Readonly<Record<string, string>> = {}) => {
    const desired = desiredWith(annotated(more, cluster()));
    const engine = await running(desired);
    kill(engine, "a", "b", "c");
    return { engine, desired, report: await reportOn(engine) };
  };

  it("corrects nothing, not even what is in no doubt", async () => {
    const { engine, desired } = await manyGone();
    change(engine, "cp", byHand);
    const found = judged(await reportOn(engine), desired);
    assert.ok(found.items.every(({ decision }) => decision.kind === "frozen"));
    assert.equal(hasCorrections(found), false);
  });

  it("believes what a person approves by its fingerprint, all of it at one go", async () => {
    const { report } = await manyGone();
    const approved = desiredWith(annotated({ [thaw]: report.fingerprint }, cluster()));
    const found = judged(report, approved);
    assert.deepEqual([found.freeze, found.thawed], [undefined, "person"]);
    assert.deepEqual(
      lines(found),
      ["a", "b", "c"].map((name) => `missing ${name}: correct create`),
    );
  });

  it("does not believe another answer than the one that was approved", async () => {
    const { engine, report } = await manyGone();
    const approved = desiredWith(annotated({ [thaw]: report.fingerprint }, cluster()));
    kill(engine, "cp");
    assert.ok(judged(await reportOn(engine), approved).freeze !== undefined);
  });

  it("believes the same answer after the time that it was given, and not before", async () => {
    const { engine, desired, report } = await manyGone({ [freeze]: "30m" });
    const first = judged(report, desired, { nowMs: 1_000 });
    assert.deepEqual(first.freeze?.thawsAtMs, 1_801_000);
    const early = judged(report, desired, { memory: first.memory, nowMs: 1_800_999 });
    assert.deepEqual(early.freeze, first.freeze);
    const late = judged(report, desired, { memory: early.memory, nowMs: 1_801_000 });
    assert.deepEqual([late.freeze, late.thawed], [undefined, "time"]);
    kill(engine, "cp");
    const other = judged(await reportOn(engine), desired, {
      memory: late.memory,
      nowMs: 1_801_000,
    });
    assert.equal(other.freeze?.sinceMs, 1_801_000, "another answer starts anew");
  });

  it("stays so for ever without such a time", async () => {
    const { desired, report } = await manyGone();
    const first = judged(report, desired, { nowMs: 0 });
    const later = judged(report, desired, { memory: first.memory, nowMs: Number.MAX_SAFE_INTEGER });
    assert.deepEqual(later.freeze, first.freeze);
  });
});

describe("what is remembered from look to look", () => {
  it("since when each finding is there, and nothing of those that are over", async () => {
    const desired = desiredWith();
    const engine = await running(desired);
    kill(engine, "a");
    const first = judged(await reportOn(engine), desired, { nowMs: 10 });
    change(engine, "b", byHand);
    const second = judged(await reportOn(engine), desired, { memory: first.memory, nowMs: 20 });
    assert.deepEqual(
      second.items.map(({ sinceMs }) => sinceMs),
      [10, 20],
    );
    change(engine, "b", { tags: {} });
    const third = judged(await reportOn(engine), desired, { memory: second.memory, nowMs: 30 });
    assert.deepEqual(Object.values(third.memory.sinceMs), [10]);
    assert.equal(third.memory.frozen, undefined);
  });
});
