import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ESLint } from "eslint";

const repository = fileURLToPath(new URL("../../..", import.meta.url));

/** Imports that ESLint refuses in a file which stands there, by the lines of the text. */
async function refusedIn(file: string, imports: readonly string[]): Promise<string[]> {
  const lint = new ESLint({
    cwd: repository,
    ruleFilter: ({ ruleId }) => ruleId === "no-restricted-imports",
    // What stands in no file has no types.
    overrideConfig: {
      languageOptions: { parserOptions: { projectService: false, project: false } },
    },
  });
  const text = imports.map((from, index) => `import * as i${index} from "${from}";`).join("\n");
  const [result] = await lint.lintText(text, { filePath: join(repository, file) });
  const messages = result?.messages ?? [];
  assert.deepEqual(
    messages.filter(({ fatal }) => fatal === true),
    [],
  );
  return messages.map(({ line }) => imports[line - 1] ?? "");
}

describe("the lint between a provider and the simulator that judges it", () => {
  const cases = [
    {
      file: "providers/aws/calls/judged.ts",
      refused: [
        "../../sim/aws/server.js",
        "../../../providers/sim/core/store.js",
        "../../sim/aws/model/tables.js",
      ],
      allowed: ["../kinds/kinds.js", "@aws-sdk/client-ec2", "../../../src/provider/port.js"],
    },
    {
      file: "providers/sim/aws/ec2/judge.ts",
      refused: [
        "../../../aws/kinds/protocols.js",
        "../../../../providers/aws/provider.js",
        "../../../local/cloud.js",
        "@aws-sdk/client-ec2",
        "@smithy/types",
      ],
      allowed: ["../model/tables.js", "../../core/store.js"],
    },
    {
      file: "providers/sim/core/judge.ts",
      refused: ["../../aws/provider.js", "../aws/server.js"],
      allowed: ["./store.js"],
    },
  ];
  for (const { file, refused, allowed } of cases) {
    it(`lets nothing through in ${file}`, async () => {
      assert.deepEqual(await refusedIn(file, [...allowed, ...refused]), refused);
    });
  }
});
