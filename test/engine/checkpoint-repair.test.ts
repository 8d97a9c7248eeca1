import assert from "node:assert/strict";
import fc from "fast-check";
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  copyInsteadOf,
  isStillCopy,
  isCutOff,
  keepState,
  newestGood,
  restore,
} from "../../src/engine/backend/checkpoint-repair.js";
import { scratchFolder } from "../support/scratch.js";
import { assertLaw } from "../support/laws.js";

const stack = "default.demo";

const state = (time: string, salt = "v1:salt", urn = "urn:one") =>
  JSON.stringify({
    version: 3,
    checkpoint: {
      stack,
      latest: {
        manifest: { time },
        secrets_providers: { type: "passphrase", state: { salt } },
        resources: [{ urn, type: "a:b:C" }],
      },
    },
  });
const morning = "2026-01-01T08:00:00Z";
const noon = "2026-01-01T12:00:00Z";

describe("a state that was cut off", () => {
  it("is known by every length but the whole", () => {
    const whole = state(noon);
    assertLaw(
      fc.property(
        fc.integer({ min: 0, max: whole.length }),
        (length) => isCutOff(whole.slice(0, length)) === length < whole.length,
      ),
    );
  });

  const choices = [
    {
      name: "the newest",
      files: { "a.bak": state(morning), "b.json": state(noon) },
      want: "b.json",
    },
    {
      name: "the newest that is whole",
      files: { "a.bak": state(noon).slice(0, -1), "b.json": state(morning) },
      want: "b.json",
    },
    {
      name: "none of a stack that had the name before",
      files: { "a.bak": state(noon, "v1:older") },
      kept: state("0001-01-01T00:00:00Z"),
      want: "kept",
    },
    {
      name: "nothing where nothing is whole",
      files: { "a.bak": "", "b.json": "{" },
      want: undefined,
    },
  ];
  for (const { name, files, kept, want } of choices) {
    it(`is read from ${name}`, () => {
      const candidates = Object.entries(files).map(([file, text]) => ({ file, text }));
      const found = newestGood(
        candidates,
        kept === undefined ? undefined : { file: "kept", text: kept },
      );
      assert.equal(found?.file, want);
    });
  }
});

describe("a state on a disk", () => {
  const scratch = scratchFolder();
  let file: string;
  const place = {
    get backendUrl() {
      return pathToFileURL(scratch.path).href;
    },
    checkpointFile: () => file,
  };

  beforeEach(() => {
    file = join(scratch.path, ".pulumi", "stacks", "capstan", `${stack}.json`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, state(morning));
  });

  it("that is whole needs no copy, and one that there is not has none", () => {
    keepState(place, stack);
    assert.equal(copyInsteadOf(place, stack), undefined);
    file = `${file}.gz`;
    keepState(place, stack);
    assert.equal(copyInsteadOf(place, stack), undefined);
  });

  it("is kept through an engine's writes, also when its own backup is cut off", () => {
    keepState(place, stack);
    keepState(place, stack);
    replace(state(noon).slice(0, 40));
    writeFileSync(`${file}.bak`, state(noon).slice(0, 40));
    // What is cut off is not taken for good.
    keepState(place, stack);
    assert.deepEqual(copyInsteadOf(place, stack), { file: `${file}.kept`, writtenAt: morning });
  });

  it("is found in Pulumi's history where that is newer, its records of updates aside", () => {
    keepState(place, stack);
    replace("");
    const folder = join(scratch.path, ".pulumi", "history", "capstan", stack);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${stack}-1795271332681660919.history.json`), "{}");
    const copy = join(folder, `${stack}-1795271332681660919.checkpoint.json`);
    writeFileSync(copy, state(noon));
    assert.deepEqual(copyInsteadOf(place, stack), { file: copy, writtenAt: noon });
  });

  it("is restored beside what is damaged, which is never thrown away", () => {
    for (const [index, damaged] of ["", "{"].entries()) {
      keepState(place, stack);
      replace(damaged);
      const copy = copyInsteadOf(place, stack);
      assert.ok(copy !== undefined);
      const aside = restore(place, stack, copy);
      assert.equal(aside, `${file}.damaged-${index + 1}`);
      assert.equal(readFileSync(aside, "utf8"), damaged);
      assert.equal(readFileSync(file, "utf8"), state(morning));
    }
    assert.equal(isStillCopy(place, stack, morning), true);
    // An engine has written it since.
    assert.equal(isStillCopy(place, stack, new Date(Date.now() + 1_000).toISOString()), false);
    const names = readdirSync(dirname(file)).map((name) => name.slice(`${stack}.json`.length));
    assert.deepEqual(names.sort(), ["", ".damaged-1", ".damaged-2", ".kept"]);
  });

  /** As Pulumi does it: a new file takes the name. */
  const replace = (text: string): void => {
    const fresh = `${file}.tmp`;
    writeFileSync(fresh, text);
    renameSync(fresh, file);
  };
});
