import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { type FileNews, FileSource, type FileSourceOptions } from "../../src/source/file-source.js";
import { parseSetting } from "../../src/manifest/override-forms.js";
import {
  cluster,
  localProvider,
  machine,
  machineDeployment,
  textOf,
} from "../support/manifests.js";

const stageCluster = cluster({ name: "stage" });
const two = textOf([cluster(), machine("a"), stageCluster]);
const one = textOf([cluster(), machine("a")]);

const anyShare = { graceMs: 0, maxSharePercent: 100 };

/** Manifests in one fake file, and everything that a source says about them. */
class Desk {
  text = two;
  nowMs = 1_000_000;
  unreadable: string | undefined;
  readonly news: FileNews[] = [];
  readonly changed: string[] = [];
  readonly remembered: string[] = [];
  /** Clusters that it has left to others. */
  readonly left: string[] = [];
  /** Clusters that somebody has applied from other manifests. */
  readonly elsewhere = new Set<string>();
  readonly source: FileSource;

  constructor(more: Partial<FileSourceOptions> = {}) {
    this.source = new FileSource({
      read: () => {
        if (this.unreadable === undefined) return [{ file: "all.yaml", text: this.text }];
        const message = this.unreadable;
        throw new CapstanError({ code: "INVALID_INPUT", source: "user", message });
      },
      providers: [localProvider()],
      clock: { now: () => this.nowMs },
      known: [],
      isFromHere: (key) => !this.elsewhere.has(key),
      leave: (key) => this.left.push(key),
      remember: (key) => this.remembered.push(key),
      onChange: (key) => this.changed.push(key),
      tell: (news) => this.news.push(news),
      ...more,
    });
  }

  /** Reads as often as it takes for a change to count. */
  settle(): string[] {
    this.news.length = 0;
    this.changed.length = 0;
    return [this.source.refresh(), this.source.refresh(), this.source.refresh()];
  }

  kinds(): string[] {
    return this.news.map(({ kind }) => kind);
  }

  intents(...keys: readonly string[]): string[] {
    return keys.map((key) => this.source.intentOf(key).kind);
  }
}

const [prod, stage] = ["default/prod", "default/stage"] as const;

describe("clusters in files", () => {
  it("count once two reads in a row have shown the same", () => {
    const desk = new Desk();
    assert.equal(desk.source.refresh(), "unsettled");
    assert.deepEqual(desk.source.keys(), []);
    desk.text = one;
    assert.equal(desk.source.refresh(), "unsettled");
    desk.text = two;
    assert.deepEqual(desk.settle(), ["unsettled", "accepted", "same"]);
    assert.deepEqual(desk.source.keys(), [prod, stage]);
    assert.deepEqual(desk.changed, [prod, stage]);
    assert.deepEqual(desk.news, [{ kind: "read", clusters: 2, objects: 3 }]);
  });

  it("keep the digest of their intent as long as nothing of theirs changes", () => {
    const desk = new Desk();
    desk.settle();
    const before = [prod, stage].map((key) => desk.source.intentOf(key).digest);
    desk.text = textOf([cluster(), machine("a"), machine("b"), stageCluster]);
    desk.settle();
    const after = [prod, stage].map((key) => desk.source.intentOf(key).digest);
    assert.notEqual(after[0], before[0]);
    assert.equal(after[1], before[1]);
  });

  const held: readonly {
    readonly name: string;
    readonly spoil: (desk: Desk) => void;
    readonly told: FileNews["kind"];
  }[] = [
    { name: "a text that is no YAML", spoil: (desk) => (desk.text = "a: ["), told: "wrong" },
    {
      name: "a text that breaks a rule",
      spoil: (desk) => (desk.text = two.replace("192.168.0.0/16", "all")),
      told: "wrong",
    },
    {
      name: "a folder that cannot be read",
      spoil: (desk) => (desk.unreadable = "cannot read all: EIO"),
      told: "unreadable",
    },
  ];
  for (const { name, spoil, told } of held) {
    it(`stay as they were read before ${name}, which is told once, and again when it is mended`, () => {
      const desk = new Desk({ prune: anyShare });
      desk.settle();
      const before = [prod, stage].map((key) => desk.source.intentOf(key));
      spoil(desk);
      desk.settle();
      assert.deepEqual(desk.kinds(), [told]);
      assert.deepEqual(desk.changed, []);
      assert.deepEqual(
        [prod, stage].map((key) => desk.source.intentOf(key)),
        before,
      );
      desk.settle();
      assert.deepEqual(desk.kinds(), []);
      [desk.text, desk.unreadable] = [two, undefined];
      desk.settle();
      assert.deepEqual(desk.kinds(), ["read"]);
    });
  }

  it("are wanted with what is put into them", () => {
    const settings = [parseSetting("MachineDeployment/web:spec.replicas=7")].flatMap(
      (one) => one ?? [],
    );
    const desk = new Desk({ overrides: { settings } });
    desk.text = textOf([cluster(), machineDeployment("web", 2)]);
    desk.settle();
    const intent = desk.source.intentOf(prod);
    assert.equal(intent.kind === "want" && intent.desired.machineDeployments[0]?.spec.replicas, 7);
  });

  it("tell file and line of what is wrong", () => {
    const desk = new Desk();
    desk.text = textOf([{ ...machine("a"), spec: {} }]);
    desk.settle();
    const [news] = desk.news;
    assert.equal(news?.kind, "wrong");
    const { file, line } = news.diagnostics[0]?.position ?? {};
    assert.deepEqual([file, typeof line], ["all.yaml", "number"]);
  });

  it("are left alone when they disappear, which is told once", () => {
    const desk = new Desk();
    desk.settle();
    desk.text = one;
    desk.settle();
    assert.deepEqual(desk.news.at(-1), { kind: "gone", cluster: stage, fate: "left" });
    assert.deepEqual(desk.changed, [prod, stage]);
    assert.deepEqual(desk.intents(prod, stage), ["want", "absent"]);
    desk.text = `${one}\n# the same\n`;
    desk.settle();
    assert.deepEqual(desk.kinds(), ["read"]);
  });

  it("are taken down when they disappear and that was asked for, and then forgotten", async () => {
    const desk = new Desk({ prune: anyShare });
    desk.settle();
    await desk.source.claim(stage);
    assert.deepEqual(desk.remembered, [stage]);
    desk.text = one;
    desk.settle();
    assert.deepEqual(desk.intents(prod, stage), ["want", "remove"]);
    await desk.source.release(stage);
    assert.deepEqual(desk.intents(prod, stage), ["want", "absent"]);
    desk.text = `${one}\n# the same\n`;
    desk.settle();
    assert.deepEqual(desk.kinds(), ["read"]);
    assert.deepEqual(desk.intents(stage), ["absent"]);
  });

  it("are left alone where somebody applies them from other manifests, and whoever is about to take them down hears of it", async () => {
    const desk = new Desk({ prune: { graceMs: 60_000, maxSharePercent: 100 } });
    desk.settle();
    await desk.source.claim(stage);
    desk.text = one;
    desk.settle();
    desk.elsewhere.add(stage);
    desk.nowMs += 120_000;
    desk.settle();
    assert.deepEqual([desk.kinds(), desk.intents(stage)], [[], ["absent"]]);
    assert.deepEqual(desk.left, [stage]);
    desk.elsewhere.clear();
    desk.settle();
    assert.deepEqual(desk.intents(stage), ["absent"], "it is forgotten");

    const due = new Desk({ prune: anyShare, known: [stage] });
    due.text = one;
    due.settle();
    assert.deepEqual(due.intents(stage), ["remove"]);
    due.elsewhere.add(stage);
    assert.deepEqual(due.intents(stage), ["absent"]);
  });

  it("are missed although another process has made them", () => {
    const desk = new Desk({ prune: anyShare, known: [stage] });
    desk.text = one;
    desk.settle();
    assert.deepEqual(desk.news.at(-1), { kind: "gone", cluster: stage, fate: "pruned" });
    assert.deepEqual(desk.intents(stage), ["remove"]);
  });

  const four = ["a", "b", "c", "d"].map((name) => cluster({ name }));
  const graceMs = 60_000;
  const limits = { graceMs, maxSharePercent: 25 };
  const keysOf = (...names: string[]) => names.map((name) => `default/${name}`);
  /** A desk that has read four clusters, which all exist. */
  const deskOfFour = (): Desk => {
    const known = keysOf("a", "b", "c", "d");
    const desk = new Desk({ prune: limits, known });
    desk.text = textOf(four);
    desk.settle();
    return desk;
  };

  it("are not taken down before they were missing for the grace, which is told", () => {
    const desk = deskOfFour();
    desk.text = textOf(four.slice(1));
    desk.settle();
    assert.deepEqual(desk.news.at(-1), { kind: "gone", cluster: "default/a", fate: "waiting" });
    desk.nowMs += graceMs - 1;
    desk.settle();
    assert.deepEqual([desk.kinds(), desk.intents("default/a")], [[], ["absent"]]);
    desk.nowMs += 1;
    desk.settle();
    assert.deepEqual(desk.news, [{ kind: "gone", cluster: "default/a", fate: "pruned" }]);
    assert.deepEqual(desk.changed, ["default/a"]);
    assert.deepEqual(desk.intents("default/a"), ["remove"]);
  });

  const lookedAway: readonly [string, (desk: Desk) => void][] = [
    ["are back", (desk) => (desk.text = textOf(four))],
    ["nobody can read whether they are there", (desk) => (desk.unreadable = "EIO")],
    ["the text is wrong", (desk) => (desk.text = "a: [")],
  ];
  for (const [name, happen] of lookedAway) {
    it(`wait for the whole grace anew after a look at which ${name}`, () => {
      const desk = deskOfFour();
      const less = textOf(four.slice(1));
      desk.text = less;
      desk.settle();
      desk.nowMs += graceMs - 1;
      happen(desk);
      desk.settle();
      desk.nowMs += graceMs;
      desk.settle();
      assert.notEqual(desk.intents("default/a")[0], "remove");
      [desk.text, desk.unreadable] = [less, undefined];
      desk.settle();
      assert.deepEqual(desk.intents("default/a"), ["absent"]);
      desk.nowMs += graceMs;
      desk.settle();
      assert.deepEqual(desk.intents("default/a"), ["remove"]);
    });
  }

  const tooMany: readonly [string, string, string[]][] = [
    ["an emptied file", "", ["a", "b", "c", "d"]],
    ["an edit that loses most", textOf(four.slice(3)), ["a", "b", "c"]],
    ["an edit that loses one more than is allowed", textOf(four.slice(2)), ["a", "b"]],
  ];
  for (const [name, text, lost] of tooMany) {
    it(`are all left alone after ${name}, however long it lasts, and others go on`, () => {
      const desk = deskOfFour();
      desk.text = text;
      desk.settle();
      const share = { toDelete: lost.length, owned: 4 };
      const held = { kind: "held", clusters: keysOf(...lost), share };
      assert.deepEqual(desk.news.slice(1), [held]);
      desk.nowMs += 1_000 * graceMs;
      desk.settle();
      assert.deepEqual(desk.kinds(), []);
      assert.deepEqual(new Set(desk.intents(...keysOf(...lost))), new Set(["absent"]));
      assert.deepEqual(
        desk.source.keys(),
        keysOf("a", "b", "c", "d").filter((key) => !held.clusters.includes(key)),
      );
      desk.text = textOf(four);
      desk.settle();
      assert.deepEqual(new Set(desk.intents(...keysOf("a", "b", "c", "d"))), new Set(["want"]));
    });
  }

  it("are left alone when an earlier process has made them and the file is empty at the start", () => {
    const desk = new Desk({ prune: limits, known: [prod, stage] });
    desk.text = "";
    desk.settle();
    desk.nowMs += 1_000 * graceMs;
    desk.settle();
    assert.deepEqual(desk.intents(prod, stage), ["absent", "absent"]);
  });

  it("that are being taken down go on when others disappear, which are held", () => {
    const desk = deskOfFour();
    desk.text = textOf(four.slice(1));
    desk.settle();
    desk.nowMs += graceMs;
    desk.settle();
    desk.text = "";
    desk.settle();
    desk.nowMs += graceMs;
    desk.settle();
    assert.deepEqual(desk.intents(...keysOf("a", "b", "c", "d")), [
      "remove",
      "absent",
      "absent",
      "absent",
    ]);
  });

  it("come back as they were wanted", () => {
    const desk = new Desk();
    desk.settle();
    const before = desk.source.intentOf(stage);
    desk.text = one;
    desk.settle();
    desk.text = two;
    desk.settle();
    assert.equal(desk.source.intentOf(stage).digest, before.digest);
    desk.text = one;
    desk.settle();
    assert.equal(desk.news.at(-1)?.kind, "gone");
  });
});
