import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { localClusterSpec, localMachineSpec } from "../../providers/local/specs.js";
import { kinds } from "../../src/api/kind-names.js";
import type { Kind } from "../../src/api/schema.js";
import { fieldsOf as fieldsOfSpec } from "../../src/provider/spec-schema.js";
import { fieldsOf } from "../kube/field-samples.js";
import { effectOf, hasEffect } from "./field-effect.js";
import { fieldPage, type TriedField } from "./field-page.js";
import { changeOf, runInFiles, runOnServer } from "./field-run.js";
import { fieldTrials } from "./field-trials.js";
import type { FieldTrial } from "./field-trial.js";

const page = fileURLToPath(new URL("../../../docs/fields.md", import.meta.url));
/** Files may carry them; an API server, or we ourselves, say them. */
const ofServer = /(^|\.)(providerID|timeAdded)$/;

/** The fields of a kind, with those of the local cloud's objects in it. */
function allFieldsOf(kind: Kind): string[] {
  return fieldsOf(kind)
    .filter((field) => !ofServer.test(field))
    .flatMap((field) => {
      if (!field.endsWith("roviderSpec.value") && field !== "providerSpec") return [field];
      if (kind === "MachineClass") return [`${field}.size`];
      const schema = kind === "Cluster" ? localClusterSpec : localMachineSpec;
      const own = fieldsOfSpec(schema);
      return own.map((name) => `${field}.${name}`);
    });
}

describe("every field that users write", () => {
  const tried = new Map<FieldTrial, TriedField>();
  before(async () => {
    for (const trial of fieldTrials) tried.set(trial, await triedField(trial));
  });

  for (const kind of kinds) {
    it(`of ${kind} is tried`, () => {
      const known = new Set(
        fieldTrials.filter((one) => one.kind === kind).map(({ field }) => field),
      );
      assert.deepEqual(
        allFieldsOf(kind).filter((field) => !known.has(field)),
        [],
      );
    });
  }

  for (const trial of fieldTrials) {
    it(`has an effect: ${trial.kind} ${trial.field}`, () => {
      const { files, server } = tried.get(trial)!;
      const without = trial.withoutEffect?.in;
      assert.equal(hasEffect(files), without !== "files" && without !== "both", "in files");
      assert.equal(
        hasEffect(server) || (trial.isShown === true && server.shows),
        without !== "server" && without !== "both",
        "on an API server",
      );
    });
  }

  it("is in docs/fields.md", async () => {
    const options = await resolveConfig(page);
    const text = await format(fieldPage([...tried.values()]), { ...options, parser: "markdown" });
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(page, text);
    assert.equal(text, readFileSync(page, "utf8"), "UPDATE_GOLDEN=1 rewrites it");
  });
});

async function triedField(trial: FieldTrial): Promise<TriedField> {
  return {
    trial,
    files: effectOf(await runInFiles(trial, "one"), await runInFiles(trial, "other")),
    server: effectOf(await runOnServer(trial, "one"), await runOnServer(trial, "other")),
    change: await changeOf(trial),
  };
}
