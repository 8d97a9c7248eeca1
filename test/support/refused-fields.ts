import assert from "node:assert/strict";
import { stringify } from "yaml";
import type { JsonObject } from "../../src/api/json.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { readDesired } from "../../src/manifest/desired.js";
import { cluster, localProvider, type Manifest } from "./manifests.js";

/** What is said of a Machine whose providerSpec has these fields, too: "f.yaml:9:3: error: ...". */
export function saidOfFields(machine: Manifest, fields: JsonObject): string[] {
  const written = machine as { spec: { providerSpec: { value: object } } };
  const { spec } = written;
  const providerSpec = { value: { ...spec.providerSpec.value, ...fields } };
  const objects = [cluster(), { ...written, spec: { ...spec, providerSpec } }];
  const text = objects.map((object) => stringify(object)).join("---\n");
  return readDesired([{ file: "f.yaml", text }], [localProvider()]).diagnostics.map(diagnosticText);
}

interface RefusedCase {
  readonly name: string;
  readonly given: JsonObject;
  readonly want: RegExp;
}

/** A test for each: nothing but that is said. */
export function itRefusesEach(
  cases: readonly RefusedCase[],
  saidOf: (given: JsonObject) => string[],
): void {
  for (const { name, given, want } of cases) {
    it(`is refused: ${name}`, () => {
      const said = saidOf(given);
      assert.equal(said.length, 1, said.join("\n"));
      assert.match(said[0] ?? "", want);
    });
  }
}
