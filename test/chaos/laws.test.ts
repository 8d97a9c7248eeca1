import assert from "node:assert/strict";
import type { CloudRow, LedgerRow } from "../scenario/ledger-judge.js";
import { neighbourChanges } from "../scenario/neighbours.js";
import {
  type Announced,
  announcementIn,
  emptyPlan,
  lastWords,
  nothingAnnounced,
} from "./announcement.js";
import { changesBeforeBegin, type Course, lawProblems, pastNoReturn, type Typed } from "./laws.js";

const cluster = "default/demo";

/** What the cloud wrote down: numbers are given in order, from 1. */
function ledgerOf(...entries: readonly (readonly [string, string, string])[]): LedgerRow[] {
  return entries.map(([call, name, effect], index) => ({
    seq: index + 1,
    pid: 1,
    call,
    effect,
    fault: null,
    kind: "LocalHost",
    id: `id-of-${name}`,
    cluster,
    name,
  }));
}

const created = (name: string) => ["create", name, "created"] as const;
const updated = (name: string) => ["update", name, "updated"] as const;
const terminated = (name: string) => ["terminate", name, "terminated"] as const;

function planOf(plan: Partial<Announced>): Announced {
  const made = (plan.steps ?? []).filter(({ kind }) => kind === "create");
  const machines = made.map(({ key }) => machineIn(key.slice(key.indexOf("/") + 1)));
  return { ...emptyPlan, machines, ...plan };
}

const machineIn = (machine: string) => ({ machine, controlPlane: false, kind: "create" });
const step = (kind: string, name: string) => ({ kind, key: `LocalHost/${name}` });
const undo = (name: string, kind: string, undoClass: string) => ({
  key: `LocalHost/${name}`,
  step: kind,
  class: undoClass,
});

function typedAs(words: string, more: Partial<Typed>): Typed {
  return { ...nothingAnnounced, words, leads: "forward", from: 0, to: 99, ...more };
}

/** A course whose host `cp` is a member and was made, like `web`, before the first command. */
function courseOf(
  entries: readonly (readonly [string, string, string])[],
  ...typed: readonly Typed[]
): Course {
  const ledger = ledgerOf(created("cp"), created("web"), ...entries);
  return {
    cluster,
    hostKind: "LocalHost",
    ledger,
    members: new Set(["id-of-cp"]),
    sets: [],
    typed,
  };
}

const begun = 2;

describe("the laws of the ledger", () => {
  const up = (more: Partial<Typed>) => typedAs("up", { from: begun, to: begun, ...more });
  const rollback = (more: Partial<Typed>) => typedAs("rollback", { leads: "back", ...more });
  const forget = (more: Partial<Typed>) =>
    typedAs("state forget", { leads: "records", from: begun, ...more });
  const cases: { name: string; course: Course; want: RegExp[] }[] = [
    {
      name: "a host goes as the plan says",
      course: courseOf(
        [terminated("web")],
        up({ to: 3, plans: [planOf({ steps: [step("delete", "web")] })] }),
      ),
      want: [],
    },
    {
      name: "a healthy host goes that no plan names",
      course: courseOf([terminated("web")], up({ to: 3, plans: [planOf({})] })),
      want: [/"up" terminates web, which no plan/],
    },
    {
      name: "a plan of a command before is not the one that was accepted now",
      course: courseOf(
        [terminated("web")],
        up({ plans: [planOf({ steps: [step("delete", "web")] })] }),
        typedAs("up again", { from: 2, to: 3, plans: [planOf({})] }),
      ),
      want: [/"up again" terminates web/],
    },
    {
      name: "a host that is dead already",
      course: courseOf(
        [
          ["die", "web", "terminated"],
          ["terminate", "web", "already gone"],
        ],
        up({ from: 3, to: 4, plans: [planOf({})] }),
      ),
      want: [],
    },
    {
      name: "a destroy without a plan names everything",
      course: courseOf([terminated("web")], typedAs("destroy", { leads: "away", from: 2 })),
      want: [],
    },
    {
      name: "a destroy with a plan names what stands in it",
      course: courseOf(
        [terminated("web")],
        typedAs("destroy", { leads: "away", from: 2, plans: [planOf({})] }),
      ),
      want: [/"destroy" terminates web/],
    },
    {
      name: "what is in no record goes by its id",
      course: courseOf(
        [terminated("web")],
        up({ to: 3, plans: [planOf({ abandoned: ["id-of-web"] })] }),
      ),
      want: [],
    },
    {
      name: "a rollback takes away what the change had made",
      course: courseOf(
        [created("new"), terminated("new")],
        up({ to: 3, plans: [planOf({ steps: [step("create", "new")] })] }),
        rollback({ from: 3, plans: [planOf({ steps: [step("delete", "new")] })] }),
      ),
      want: [],
    },
    {
      name: "a rollback loses what was there before, and says so",
      course: courseOf(
        [terminated("web")],
        up({}),
        rollback({ from: 2, plans: [planOf({ steps: [step("delete", "web")] })] }),
      ),
      want: [/"rollback" takes back and loses web/],
    },
    {
      name: "a rollback calls compensable what it loses",
      course: courseOf(
        [terminated("web")],
        up({}),
        rollback({
          from: 2,
          plans: [
            planOf({
              steps: [step("delete", "web")],
              undo: [undo("web", "delete", "compensable")],
            }),
          ],
        }),
      ),
      want: [/"rollback" takes back and loses web/],
    },
    {
      name: "a rollback deletes what was to go with the commit",
      course: courseOf(
        [terminated("web")],
        up({ plans: [planOf({ undo: [undo("web", "delete", "compensable")] })] }),
        rollback({ from: 2, plans: [planOf({ steps: [step("delete", "web")] })] }),
      ),
      want: [/"rollback" takes back and loses web/],
    },
    {
      name: "a rollback that tells that it goes back is no better",
      course: courseOf(
        [terminated("web")],
        up({}),
        rollback({
          from: 2,
          tookBack: true,
          plans: [planOf({ steps: [step("delete", "web")] })],
        }),
      ),
      want: [/"rollback" takes back and loses web/],
    },
    {
      name: "a rollback remakes what the change had changed",
      course: courseOf(
        [updated("web"), terminated("web")],
        up({ to: 3 }),
        rollback({ from: 3, plans: [planOf({ steps: [step("delete", "web")] })] }),
      ),
      want: [],
    },
    {
      name: "a rollback changes a host first and then takes that for a reason",
      course: courseOf(
        [updated("web"), terminated("web")],
        up({}),
        rollback({ from: 2, plans: [planOf({ steps: [step("delete", "web")] })] }),
      ),
      want: [/loses web/],
    },
    {
      name: "an automatic rollback remakes what the plan calls compensable",
      course: courseOf(
        [updated("web"), terminated("web")],
        up({
          to: 4,
          tookBack: true,
          plans: [planOf({ undo: [undo("web", "update", "compensable")] })],
        }),
      ),
      want: [],
    },
    {
      name: "an automatic rollback loses a host that it was to leave alone",
      course: courseOf([terminated("web")], up({ to: 3, tookBack: true, plans: [planOf({})] })),
      want: [/terminates web, which no plan/, /takes back and loses web/],
    },
    {
      name: "an automatic rollback replaces a member, with a plan that nobody was asked about",
      course: courseOf(
        [updated("cp"), terminated("cp")],
        up({
          to: 4,
          tookBack: true,
          plans: [planOf({ undo: [undo("cp", "update", "pointOfNoReturn")] })],
          plansBack: [planOf({ steps: [step("delete", "cp")] })],
        }),
      ),
      want: [/loses cp, a member of the control plane/],
    },
    {
      name: "a recovery replaces a member as its plan shows it",
      course: courseOf(
        [terminated("cp")],
        up({}),
        typedAs("up again", { from: 2, plans: [planOf({ steps: [step("delete", "cp")] })] }),
      ),
      want: [],
    },
    {
      name: "a recovery loses a member without a word",
      course: courseOf([terminated("cp")], up({}), typedAs("up again", { from: 2 })),
      want: [/terminates cp, which no plan/, /loses cp, a member/],
    },
    {
      name: "a request for records alone releases a host",
      course: courseOf([["disown", "web", "disowned"]], forget({})),
      want: [],
    },
    {
      name: "a request for records alone changes a host",
      course: courseOf([updated("web")], forget({})),
      want: [/"state forget" did update web, and changes records alone/],
    },
    {
      name: "a request for records alone deletes a host that its plan names",
      course: courseOf(
        [terminated("web")],
        forget({ plans: [planOf({ steps: [step("delete", "web")] })] }),
      ),
      want: [/"state forget" did terminate web, and changes records alone/],
    },
    {
      name: "another cluster's host is judged elsewhere",
      course: {
        ...courseOf([], up({ to: 3 })),
        ledger: ledgerOf(terminated("web")).map((row) => ({ ...row, cluster: "other/demo" })),
      },
      want: [],
    },
  ];
  for (const { name, course, want } of cases) {
    it(name, () => {
      const problems = lawProblems(course);
      assert.equal(problems.length, want.length, problems.join("\n"));
      want.forEach((one, index) => assert.match(problems[index] ?? "", one));
    });
  }
});

describe("the undo line", () => {
  const grows = planOf({ undo: [undo("cp", "update", "pointOfNoReturn")] });
  const passed = (entry: readonly [string, string, string], to = 3) =>
    pastNoReturn(courseOf([entry], typedAs("up", { from: begun, to, plans: [grows] })));

  it("is past when the ledger shows such a step done", () => {
    assert.deepEqual(passed(updated("cp")), ["update LocalHost/cp"]);
  });

  it("is not past when the step was refused, is another's, or came later", () => {
    assert.deepEqual(passed(["update", "cp", "refused: fail"]), []);
    assert.deepEqual(passed(updated("web")), []);
    assert.deepEqual(passed(updated("cp"), begun), []);
  });

  it("is not drawn by steps that can be taken back", () => {
    const plans = [planOf({ undo: [undo("cp", "update", "compensable")] })];
    const course = courseOf([updated("cp")], typedAs("up", { from: begun, plans }));
    assert.deepEqual(pastNoReturn(course), []);
  });
});

describe("changes before a begin", () => {
  it("are those that were granted", () => {
    const typed = typedAs("destroy", { from: begun });
    const course = courseOf([terminated("web"), ["terminate", "cp", "refused: hang"]], typed);
    assert.deepEqual(changesBeforeBegin(course, typed), [
      '"destroy" did terminate web before it was begun',
    ]);
  });

  it("are none of a command that took back all that it made, and erased its records then", () => {
    const typed = typedAs("up", { from: begun });
    const made = [created("a"), created("b")];
    const all = courseOf([...made, terminated("a"), terminated("b")], typed);
    assert.deepEqual(changesBeforeBegin(all, typed), []);
    const some = courseOf([...made, terminated("a")], typed);
    assert.equal(changesBeforeBegin(some, typed).length, 3);
  });
});

describe("the judge of neighbours", () => {
  const row: CloudRow = {
    id: "n-1",
    kind: "LocalHost",
    state: "running",
    name: "web",
    token: "t",
    cluster: "neighbour/demo",
    clusterUid: "u",
    spec: {},
  };
  const rows = { before: [row], after: [row] };
  const theirs = ledgerOf(terminated("web")).map((one) => ({ ...one, cluster: row.cluster }));

  it("sees nothing in what is ours", () => {
    assert.deepEqual(neighbourChanges(cluster, ledgerOf(terminated("web")), rows), []);
  });

  it("sees a change in the ledger", () => {
    assert.deepEqual(neighbourChanges(cluster, theirs, rows), ["terminate of neighbour/demo web"]);
  });

  it("lets a refused change and a look pass", () => {
    const refused = theirs.map((one) => ({ ...one, effect: "refused: NOT_OURS" }));
    assert.deepEqual(neighbourChanges(cluster, refused, rows), []);
  });

  it("sees a row that is gone or other", () => {
    const wants = ["neighbour/demo web is no longer as it was"];
    assert.deepEqual(neighbourChanges(cluster, [], { ...rows, after: [] }), wants);
    const other = { ...row, spec: { size: "large" } };
    assert.deepEqual(neighbourChanges(cluster, [], { ...rows, after: [other] }), wants);
  });
});

describe("what a command announces", () => {
  const line = (what: object) => JSON.stringify(what);
  const plan = { type: "plan", steps: [step("delete", "web")], undo: [], abandoned: [{ id: "x" }] };
  const turn = { type: "event", event: "rollingBack", transaction: 2 };

  it("is what its plans say, and what it says when it turns back", () => {
    const said = [line(plan), "no JSON", line(turn), line({ ...plan, steps: [] })].join("\n");
    const { plans, plansBack, tookBack } = announcementIn(said);
    assert.deepEqual(plans, [{ ...emptyPlan, steps: [step("delete", "web")], abandoned: ["x"] }]);
    assert.deepEqual(plansBack, [{ ...emptyPlan, abandoned: ["x"] }]);
    assert.equal(tookBack, true);
  });

  it("may be the plan of the turn itself", () => {
    const { plansBack } = announcementIn(line({ ...turn, plan }));
    assert.deepEqual(plansBack[0]?.steps, [step("delete", "web")]);
  });

  it("is nothing in a line that was cut off", () => {
    assert.deepEqual(announcementIn('{"type":"plan","st'), nothingAnnounced);
  });

  it("tells what was made after a commit, on which nobody relies yet", () => {
    const made = (name: string) =>
      line({ type: "event", event: "resource", operation: "create", name, state: "started" });
    const said = [made("web-0"), line({ type: "event", event: "committed" }), made("web-1")];
    const { committed, madeSince } = announcementIn(said.join("\n"));
    assert.deepEqual([committed, madeSince], [true, ["web-1"]]);
  });

  it("ends with its errors", () => {
    const said = [line(plan), line({ type: "error", message: "no" }), "a stack"].join("\n");
    assert.equal(lastWords(said), '{"type":"error","message":"no"}\na stack');
  });
});
