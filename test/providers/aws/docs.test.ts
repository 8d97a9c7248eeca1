import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createProtocols } from "../../../providers/aws/kinds/protocols.js";
import { repository } from "../../scenario/sandbox.js";

const guide = readFileSync(join(repository, "docs", "aws.md"), "utf8");

/** Every call that the sources of the provider make, by the name that AWS has for it. */
function callsInSources(): string[] {
  const folder = join(repository, "providers", "aws");
  const texts = ["calls", "."].flatMap((part) =>
    readdirSync(join(folder, part))
      .filter((name) => name.endsWith(".ts"))
      .map((name) => readFileSync(join(folder, part, name), "utf8")),
  );
  const found = texts.flatMap((text) => [...text.matchAll(/\(\s*ctx,\s*"([A-Z][A-Za-z]+)"/g)]);
  return [...new Set(found.map(([, call = ""]) => call))].sort();
}

interface Policy {
  readonly Statement: readonly { readonly Action: string | readonly string[] }[];
}

describe("docs/aws.md", () => {
  it("has the rights to all calls that are made, and to no other", () => {
    const [, json = ""] = /```json\n([^`]+)```/.exec(guide) ?? [];
    const { Statement } = JSON.parse(json) as Policy;
    const allowed = Statement.flatMap(({ Action }) => Action).map((one) => one.split(":")[1] ?? "");
    // A role is passed with the launch, a secret is tagged in its create, and who one is everybody may ask.
    const called = callsInSources().filter((call) => call !== "GetCallerIdentity");
    const made = [...called, "PassRole", "TagResource"];
    assert.deepEqual(allowed.sort(), made.sort());
  });

  it("has the protocol of each kind", () => {
    for (const [kind, { create, marks, key, by }] of Object.entries(createProtocols)) {
      const row = guide.split("\n").find((line) => line.startsWith(`| ${kind} `));
      assert.ok(row !== undefined, kind);
      assert.ok(row.includes(`\`${create}\``) && row.includes(marks), row);
      assert.ok(by !== "key" || row.includes(`once in AWS: ${key ?? ""}`), row);
      assert.equal(row.includes("client token"), by === "token");
      assert.equal(row.includes("a look through all"), by === "look");
    }
  });
});
