import assert from "node:assert/strict";
import type { LedgerRow } from "../scenario/ledger-judge.js";
import { type Announced, emptyPlan, nothingAnnounced } from "./announcement.js";
import { hostCountProblems, type SetBounds } from "./host-counts.js";
import type { Typed } from "./laws.js";

const cluster = "default/demo";

/** Two hosts of a deployment and two of a machine each, one of them a member; all of them serve. */
const [web0, web1, web2, web3] = ["0", "1", "2", "3"].map(
  (n) => `web-aaaaaaaa-${n}-11111111-1`,
) as [string, string, string, string];
const [new0, new1] = ["0", "1"].map((n) => `web-bbbbbbbb-${n}-22222222-1`) as [string, string];
const [gpu, otherGpu, thirdGpu] = ["11111111", "22222222", "33333333"].map((g) => `gpu-${g}-1`) as [
  string,
  string,
  string,
];

type Entry = readonly [call: string, name: string, effect: string, detail?: string];

const made = (name: string): Entry[] => [
  ["create", name, "created"],
  ["boot", name, "running"],
];
const gone = (name: string): Entry => ["terminate", name, "terminated"];

const there = [web0, web1, gpu].flatMap(made);

function ledgerOf(entries: readonly Entry[]): LedgerRow[] {
  return [...there, ...entries].map(([call, name, effect, detail], index) => ({
    seq: index + 1,
    pid: 1,
    call,
    effect,
    fault: null,
    kind: "LocalHost",
    id: `id-of-${name}`,
    cluster,
    name,
    detail: detail ?? null,
  }));
}

const machine = (name: string, kind = "same") => ({ machine: name, controlPlane: false, kind });
const step = (kind: string, name: string) => ({ kind, key: `LocalHost/${name}` });
const wave = (...names: readonly string[]) => names.map((name) => `LocalHost/${name}`);

/** What there is stays, unless it says otherwise. */
function planOf(plan: Partial<Announced>): Announced {
  const machines = ["web-aaaaaaaa-0", "web-aaaaaaaa-1", "gpu"].map((name) => machine(name));
  return { ...emptyPlan, machines, ...plan };
}

/** The machines of `web` are exchanged, one after the other. */
const rolls = planOf({
  machines: [
    machine("web-bbbbbbbb-0", "create"),
    machine("web-bbbbbbbb-1", "create"),
    machine("gpu"),
  ],
  steps: [step("create", new0), step("create", new1), step("delete", web0), step("delete", web1)],
  waves: [wave(new0), wave(web0), wave(new1), wave(web1)],
});

/** The same as it would be announced by whoever lets all go first. */
const rollsCarelessly = { ...rolls, waves: [wave(web0, web1), wave(new0, new1)] };

/** The one machine gets another host. */
const replaces = planOf({
  steps: [step("create", otherGpu), step("delete", gpu)],
  waves: [wave(otherGpu), wave(gpu)],
});

const more = ["0", "1", "2"].map((n) => machine(`web-aaaaaaaa-${n}`));

const web: SetBounds = {
  kind: "MachineDeployment",
  name: "web",
  rolling: { maxSurge: 1, maxUnavailable: 0 },
};

const typedAs = (plans: readonly Announced[], more: Partial<Typed> = {}): Typed => ({
  ...nothingAnnounced,
  words: "up",
  leads: "forward",
  from: there.length,
  to: 99,
  plans,
  ...more,
});

describe("how many hosts there are and serve at every instant", () => {
  const cases: {
    name: string;
    entries: readonly Entry[];
    typed: Typed;
    sets?: readonly SetBounds[];
    want: RegExp[];
  }[] = [
    {
      name: "a rollout as its plan and its bounds say",
      entries: [...made(new0), gone(web0), ...made(new1), gone(web1)],
      typed: typedAs([rolls]),
      want: [],
    },
    {
      name: "one host more than the surge",
      entries: [...made(new0), ...made(new1)],
      typed: typedAs([rolls]),
      want: [/"up" makes web-bbbbbbbb-1-\S+: 4 hosts of web, at most 3/],
    },
    {
      name: "one pass that does it all makes what is new first",
      entries: [...made(new0), ...made(new1), gone(web0), gone(web1)],
      typed: typedAs([rolls], { inline: true }),
      want: [],
    },
    {
      name: "an old host goes before the new one is made",
      entries: [gone(web0), ...made(new0)],
      typed: typedAs([rolls]),
      want: [
        /terminates web-aaaaaaaa-0-\S+: 1 fewer/,
        /terminates \S+: 1 of web serve, at least 2/,
      ],
    },
    {
      name: "an old host goes before the new one serves",
      entries: [["create", new0, "created"], gone(web0)],
      typed: typedAs([rolls]),
      want: [/1 fewer machines serve than/, /1 of web serve, at least 2/],
    },
    {
      name: "an old host goes before the node of the new one has joined",
      entries: [
        ["create", new0, "created"],
        ["boot", new0, "running", '{"joinsMs":99}'],
        gone(web0),
        ["join", new0, "ready"],
      ],
      typed: typedAs([rolls]),
      want: [/1 fewer machines serve than/, /1 of web serve, at least 2/],
    },
    {
      name: "a plan that says that all go first is below what the manifest asks for",
      entries: [gone(web0), gone(web1), ...made(new0), ...made(new1)],
      typed: typedAs([rollsCarelessly]),
      want: [/1 of web serve, at least 2/, /0 of web serve, at least 2/],
    },
    {
      name: "and is as it was announced",
      entries: [gone(web0), gone(web1), ...made(new0), ...made(new1)],
      typed: typedAs([rollsCarelessly]),
      sets: [{ kind: "MachineDeployment", name: "web" }],
      want: [],
    },
    {
      name: "one less is wanted",
      entries: [gone(web1)],
      typed: typedAs([
        planOf({
          machines: [
            machine("web-aaaaaaaa-0"),
            machine("web-aaaaaaaa-1", "delete"),
            machine("gpu"),
          ],
          steps: [step("delete", web1)],
          waves: [wave(web1)],
        }),
      ]),
      want: [],
    },
    {
      name: "a host that had ended by itself is missed by nobody's doing",
      entries: [["die", web0, "terminated"], ...made(new0), gone(web1), ...made(new1)],
      typed: typedAs([rolls], { to: there.length + 1 }),
      want: [],
    },
    {
      name: "a destroy promises nothing",
      entries: [gone(web0), gone(web1), gone(gpu)],
      typed: typedAs([planOf({ machines: [], endsService: true })], { leads: "away" }),
      want: [],
    },
    {
      name: "a machine gets another host beside the old one",
      entries: [...made(otherGpu), gone(gpu)],
      typed: typedAs([replaces]),
      want: [],
    },
    {
      name: "a machine gets another host while the old one is to stay",
      entries: [...made(otherGpu), gone(gpu)],
      typed: typedAs([{ ...replaces, steps: [step("create", otherGpu)] }]),
      want: [/makes gpu-22222222-1 while gpu-11111111-1 serves the same machine/],
    },
    {
      name: "a machine gets another host after the old one was released",
      entries: [["disown", gpu, "disowned"], ...made(otherGpu)],
      typed: typedAs([{ ...replaces, steps: [step("create", otherGpu)] }]),
      want: [],
    },
    {
      name: "a machine gets another host beside the one that it was given by an import",
      entries: [["mark", web2, "marked"], ...made(web2.replace("11111111", "22222222"))],
      typed: typedAs([planOf({ machines: [...more, machine("gpu")] })]),
      want: [/makes web-aaaaaaaa-2-22222222-1 while web-aaaaaaaa-2-11111111-1 serves/],
    },
    {
      name: "a machine gets a third host",
      entries: [...made(otherGpu), ...made(thirdGpu)],
      typed: typedAs([{ ...replaces, steps: [...replaces.steps, step("delete", otherGpu)] }]),
      want: [/makes gpu-33333333-1: 3 hosts for gpu, at most 2/],
    },
    {
      name: "what a change in place restarts does not serve",
      entries: [["restart", gpu, "not ready"]],
      typed: typedAs([planOf({})]),
      want: [/restarts gpu-11111111-1: 1 fewer/],
    },
    {
      name: "as a plan says that names it",
      entries: [["restart", gpu, "not ready"]],
      typed: typedAs([planOf({ steps: [step("update", gpu)], waves: [wave(gpu)] })]),
      want: [],
    },
    {
      name: "what a killed run left goes although more are wanted",
      entries: [...made(web2), gone(web2)],
      typed: typedAs(
        [planOf({ machines: [...more, machine("gpu")], steps: [step("delete", web2)] })],
        {
          from: there.length + 2,
        },
      ),
      want: [],
    },
    {
      name: "one that a killed run left in no record goes",
      entries: [...made(web2), ...made(web3), gone(web2), gone(web3)],
      typed: typedAs([planOf({ abandoned: [`id-of-${web2}`, `id-of-${web3}`] })], {
        from: there.length + 4,
      }),
      want: [],
    },
  ];
  for (const { name, entries, typed, sets = [web], want } of cases) {
    it(name, () => {
      const problems = hostCountProblems({
        cluster,
        hostKind: "LocalHost",
        ledger: ledgerOf(entries),
        members: new Set(),
        sets,
        typed: [typedAs([], { to: there.length }), typed],
      });
      assert.equal(problems.length, want.length, problems.join("\n"));
      want.forEach((one, index) => assert.match(problems[index] ?? "", one));
    });
  }
});
