import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isJsonObject, type Json, type JsonObject } from "../../src/api/json.js";
import { scratchFolder } from "../support/scratch.js";
import { caseOutcome, conform } from "./run.js";
import { readVectorFile, type VectorCase } from "./vector-file.js";

const folder = join(fileURLToPath(import.meta.url), "..", "..", "..", "..", "test", "vectors");
const files = readdirSync(folder).map((name) => join(folder, name));

function casesIn(file: string): VectorCase[] {
  return readVectorFile(file).map((read) => {
    assert.ok(read.kind === "case", `${file} ${JSON.stringify(read)}`);
    return read.asked;
  });
}

/** A value that is not the same. */
function altered(value: Json): Json {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (typeof value === "string") return `${value}x`;
  if (Array.isArray(value)) return value.length > 0 ? (value as Json[]).slice(1) : ["m1"];
  return value === null ? 1 : { ...(value as JsonObject), more: 1 };
}

/** Every document that differs from a value in one place, with that place. */
function* alterations(value: Json, path = ""): Generator<{ place: string; value: Json }> {
  yield { place: path, value: altered(value) };
  if (Array.isArray(value)) {
    for (const [index, item] of (value as Json[]).entries()) {
      for (const inside of alterations(item, `${path}[${index}]`)) {
        yield { place: inside.place, value: (value as Json[]).with(index, inside.value) };
      }
    }
  } else if (isJsonObject(value)) {
    for (const [key, member] of Object.entries(value)) {
      for (const inside of alterations(member, `${path}.${key}`)) {
        yield { place: inside.place, value: { ...value, [key]: inside.value } };
      }
    }
  }
}

/** Bounds above what is used, and how many reasons are listed in which words, say nothing about the answer. */
const leftOpen = [
  /^$/,
  /^\.invariants(\.convergesWithinIterations)?$/,
  /^\.reasons(\.[^.[]+)?(\[\d+\])?$/,
];

/** Long traces have thousands of places; these many of each case, evenly spread, are altered. */
const placesPerCase = 150;

function altersOf(want: JsonObject): { place: string; value: Json }[] {
  const all = [...alterations(want)].filter(
    ({ place }) => !leftOpen.some((open) => open.test(place)),
  );
  const stride = Math.ceil(all.length / placesPerCase);
  return all.filter((_, index) => index % stride === 0);
}

describe("conformance", () => {
  const scratch = scratchFolder();

  it("passes every case of test/vectors", async () => {
    const { failures, passed, deviations } = await conform(files);
    assert.deepEqual(failures, []);
    assert.equal(passed, 164);
    assert.deepEqual(
      Object.fromEntries(deviations.map(({ reason, cases }) => [reason.split(":")[0], cases])),
      {
        "no bootstrap cluster is made": 11,
        "no bootstrap cluster is left, as there never is one": 1,
        "objects without a namespace are in default, whatever a kubeconfig says": 2,
        "move makes no namespace": 3,
        "no provider components are saved": 1,
      },
    );
  });

  it("fails exactly one case for each file in which one want is altered", async () => {
    for (const file of files) {
      const document = JSON.parse(readFileSync(file, "utf8")) as { cases: { want: JsonObject }[] };
      const [first] = document.cases;
      assert.ok(first !== undefined);
      const [key, member] = Object.entries(first.want)[0] ?? [];
      assert.ok(key !== undefined && member !== undefined);
      first.want = { ...first.want, [key]: altered(member) };
      const copy = join(scratch.path, "altered.json");
      writeFileSync(copy, JSON.stringify(document));
      const { failures, passed } = await conform([copy]);
      assert.equal(failures.length, 1, `${file}: ${failures.join("\n")}`);
      assert.equal(passed, document.cases.length - 1, file);
    }
  });

  for (const file of files) {
    it(`notices whatever is altered in a want of ${file.slice(folder.length + 1)}`, async () => {
      for (const asked of casesIn(file)) {
        const own = await caseOutcome(asked);
        const deviating = own.kind === "passed" ? own.deviations.length : 0;
        for (const { place, value } of altersOf(asked.want)) {
          const outcome = await caseOutcome({ ...asked, want: value as JsonObject });
          // What was altered to just what the product does deviates no more.
          const isOurs = outcome.kind === "passed" && outcome.deviations.length < deviating;
          assert.ok(isOurs || outcome.kind === "failed", `${asked.id}${place}`);
        }
      }
    });
  }

  it("fails what it cannot read, does not know or is asked in a wrong way, with one line each", async () => {
    const write = (name: string, content: string) => {
      writeFileSync(join(scratch.path, name), content);
      return join(scratch.path, name);
    };
    const withCase = (one: object, profile = "modern") => JSON.stringify({ profile, cases: [one] });
    const asked = [
      join(scratch.path, "absent.json"),
      scratch.path,
      write("torn.json", '{"cases": ['),
      write("list.json", "[]"),
      write("empty.json", '{"profile": "modern", "cases": []}'),
      write("profile.json", withCase({ id: "a", given: {}, want: { a: 1 } }, "v2")),
      write("no-want.json", withCase({ id: "a", given: { operation: "parse" } })),
      write("no-operation.json", withCase({ id: "a", given: {}, want: { valid: true } })),
      write("drain.json", withCase({ id: "a", given: { operation: "drain" }, want: { a: 1 } })),
      write(
        "inherited.json",
        withCase({ id: "a", given: { operation: "toString" }, want: { a: 1 } }),
      ),
      write("given.json", withCase({ id: "a", given: { operation: "equals" }, want: { a: 1 } })),
    ];
    const { failures, passed } = await conform(asked);
    assert.equal(passed, 0);
    assert.equal(failures.length, asked.length, failures.join("\n"));
    for (const [index, failure] of failures.entries()) {
      assert.ok(failure.startsWith(`${asked[index] ?? ""} `), failure);
      assert.doesNotMatch(failure, /\n/);
    }
  });

  it("ends with the counts, and with 1 when a case failed and 64 without a file", () => {
    const main = join(fileURLToPath(import.meta.url), "..", "main.js");
    const run = (args: string[]) => {
      const { status, stdout } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
      return { status, last: stdout.trimEnd().split("\n").at(-1) };
    };
    const fenceposts = join(folder, "fenceposts.json");
    assert.deepEqual(run([fenceposts]), { status: 0, last: "9 passed, 0 failed" });
    assert.deepEqual(run([fenceposts, "absent.json"]), { status: 1, last: "9 passed, 1 failed" });
    assert.equal(run([]).status, 64);
  });

  it("follows the profile of a case before that of its file", async () => {
    const machine = (name: string, annotations: object) => ({
      name,
      annotations,
      nodeRef: { name },
      conditions: [],
    });
    const given = {
      operation: "selectForDeletion",
      now: "2024-06-15T12:00:00Z",
      deletionOrder: "Random",
      deleteCountRequested: 1,
      machines: [machine("a", {}), machine("b", { "cluster.x-k8s.io/delete-machine": "" })],
    };
    const file = join(scratch.path, "profiles.json");
    const cases = [
      { id: "of-the-file", given, want: { delete: ["b"] } },
      { id: "of-the-case", profile: "v1alpha1", given, want: { delete: ["a"] } },
    ];
    writeFileSync(file, JSON.stringify({ profile: "modern", cases }));
    const { failures, passed } = await conform([file]);
    assert.deepEqual({ failures, passed }, { failures: [], passed: 2 });
  });
});
