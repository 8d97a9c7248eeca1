import assert from "node:assert/strict";
import fc from "fast-check";
import { areFromAmong, isAlsoFrom } from "../../src/cli/gone-clusters.js";
import {
  forgetManifests,
  forgetThese,
  notedManifests,
  rememberBegun,
  rememberManifests,
} from "../../src/cli/stack-settings.js";
import {
  type ManifestNote,
  ManifestNotes,
  type ManifestSource,
} from "../../src/engine/backend/manifest-notes.js";
import { FileSource } from "../../src/source/file-source.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, localProvider, textOf } from "../support/manifests.js";

const stack = "default.moved";
const key = "default/moved";
const stays = cluster({ name: "stays" });
const moved = [stays, cluster({ name: "moved" })];

/** As in files, without waiting for a disk. */
class NotesInMemory extends ManifestNotes {
  private readonly notes = new Map<string, ManifestNote>();

  constructor() {
    super("/nowhere");
  }

  protected override notesOf(): readonly ManifestNote[] {
    return [...this.notes.values()].sort((left, right) => left.rank - right.rank);
  }

  protected override write(_stack: string, note: ManifestNote): void {
    this.notes.set(String(note.source), note);
  }

  protected override remove(_stack: string, source: ManifestSource): void {
    this.notes.delete(String(source));
  }
}

/** Whoever looked last is the only one that is noted. */
class LastOneAlone extends NotesInMemory {
  override add(name: string, source: ManifestSource): void {
    this.takeOut(name, () => true);
    super.add(name, source);
  }
}

/** A folder that is watched with --prune, and nobody waits before a cluster goes that is missing there. */
class Folder {
  holds = false;
  /** It has been looked at since it holds the cluster. */
  isSeen = false;
  source: FileSource;

  constructor(
    private readonly name: string,
    private readonly notes: ManifestNotes,
    private readonly exists: () => boolean,
  ) {
    this.source = this.begun();
  }

  /** A watch, as a process begins it. */
  begun(): FileSource {
    const workspace = { manifestNotes: this.notes };
    const from = [`/${this.name}`];
    const noted = () => notedManifests(workspace, stack);
    return new FileSource({
      read: () => [{ file: "all.yaml", text: textOf(this.holds ? moved : [stays]) }],
      providers: [localProvider()],
      clock: { now: () => 0 },
      prune: { graceMs: 0, maxSharePercent: 100 },
      known: this.exists() && isAlsoFrom(noted(), from) ? [key] : [],
      isFromHere: () => areFromAmong(noted(), from),
      leave: () => forgetThese(workspace, stack, from),
      remember: (_key, how) => {
        const note = how === "begun" ? rememberBegun : rememberManifests;
        note(workspace, stack, from);
      },
      onChange: () => undefined,
      tell: () => undefined,
    });
  }
}

/** `fail`: it looks, and what it begins comes to no end. */
type Act = readonly [folder: 0 | 1 | 2, what: "put" | "take" | "look" | "fail" | "restart"];

const courses: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.tuple(
    fc.constantFrom<(0 | 1 | 2)[]>(0, 1, 2),
    fc.constantFrom<Act[1][]>("put", "take", "look", "look", "fail", "restart"),
  ),
  { maxLength: 20 },
);

/** Whose cluster went although they hold it and have said so. Nothing else changes while one of them looks, as under the lock of its stack. */
async function robbed(course: readonly Act[], notes: ManifestNotes): Promise<string[]> {
  let exists = false;
  const folders = ["a", "b", "a/below"].map((name) => new Folder(name, notes, () => exists));
  for (const [at, what] of course) {
    const folder = folders[at];
    assert.ok(folder);
    if (what === "put" || what === "take") {
      folder.isSeen &&= folder.holds === (what === "put");
      folder.holds = what === "put";
      continue;
    }
    if (what === "restart") folder.source = folder.begun();
    for (let reads = 0; reads < 3; reads += 1) folder.source.refresh();
    const { kind } = folder.source.intentOf(key);
    if (kind === "want") {
      await folder.source.claim(key);
      exists = true;
      if (what !== "fail") folder.source.noteKept(key);
      folder.isSeen = true;
    }
    if (kind !== "remove" || !exists) continue;
    const others = folders.filter((one) => one !== folder && one.holds && one.isSeen);
    if (others.length > 0) return course.map((act) => act.join(" "));
    exists = false;
    forgetManifests({ manifestNotes: notes }, stack);
    await folder.source.release(key);
  }
  return [];
}

describe("a cluster that several watched folders may hold", () => {
  it("is taken down by none of them while another one holds it and has said so", async () => {
    const property = fc.asyncProperty(courses, async (course) => {
      assert.deepEqual(await robbed(course, new NotesInMemory()), []);
    });
    await assertAsyncLaw(property, 200);
  });

  it("would be where the last one that looked were noted alone", async () => {
    const course: Act[] = [
      [0, "put"],
      [0, "look"],
      [1, "put"],
      [1, "look"],
      [0, "restart"],
      [0, "take"],
      [0, "look"],
    ];
    assert.deepEqual(await robbed(course, new NotesInMemory()), []);
    assert.notDeepEqual(await robbed(course, new LastOneAlone()), []);
  });
});
