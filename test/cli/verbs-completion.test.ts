import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { completionScripts, shells } from "../../src/cli/completion-scripts.js";
import { completionsOf } from "../../src/cli/completions.js";
import { makeProgram } from "../../src/cli/verbs/program.js";
import { cleanEnv, commandLine } from "../scenario/sandbox.js";
import { assertGolden } from "../support/golden.js";

const sources = {
  stacks: () => ["default.dev", "default.prod"],
  transactions: async (named: readonly string[]) =>
    named.includes("default.many")
      ? []
      : [
          { number: 12, kept: true },
          { number: 3, kept: false },
          { number: 1, kept: true },
        ],
  records: async (stack: string) =>
    stack === "default.prod" ? ["LocalNetwork/network", "Machine/cp-0"] : [],
  contexts: async () => ["prod", "stage"],
  explainWords: (begun: string) => [`${begun}spec.`, `${begun}metadata.`],
};
const program = makeProgram();
const complete = (...typed: string[]) => completionsOf(program, typed, sources);

describe("completion", () => {
  const cases: { typed: string[]; words?: string[]; files?: boolean }[] = [
    { typed: ["pl"], words: ["plan"] },
    { typed: ["de"], words: ["destroy", "describe"] },
    { typed: ["local", "fa"], words: ["fault"] },
    { typed: ["sim", ""], words: ["aws"] },
    { typed: ["sim", "aws", "--sp"], words: ["--speed"] },
    { typed: ["sim", "aws", "--file", ""], files: true },
    { typed: ["sweep", "--m"], words: ["--max-share"] },
    { typed: ["--sta"], words: ["--state", "--stack"] },
    { typed: ["plan", "--pru"], words: ["--prune"] },
    { typed: ["plan", "--js"], words: ["--json"] },
    { typed: ["status", "default.p"], words: ["default.prod"] },
    { typed: ["destroy", "default.dev", ""], words: ["default.dev", "default.prod"] },
    { typed: ["describe", "--json", "default.d"], words: ["default.dev"] },
    { typed: ["env", "default.dev", ""], words: [] },
    { typed: ["history", ""], words: ["show", "diff", "default.dev", "default.prod"] },
    { typed: ["history", "default.dev", "d"], words: ["default.dev", "default.prod"] },
    { typed: ["history", "show", ""], words: ["12", "3", "1"] },
    { typed: ["history", "show", "1"], words: ["12", "1"] },
    { typed: ["history", "diff", ""], words: ["12", "1"] },
    { typed: ["history", "diff", "12", ""], words: ["12", "1"] },
    { typed: ["rollback", "default.prod", "--to", ""], words: ["12", "1"] },
    { typed: ["rollback", "default.many", "--to", ""], words: [] },
    { typed: ["history", "show", "3", "default.p"], words: ["default.prod"] },
    { typed: ["history", "diff", "3", "5", ""], words: ["default.dev", "default.prod"] },
    { typed: ["state", ""], words: ["list", "show", "move", "forget"] },
    { typed: ["state", "show", "default.p"], words: ["default.prod"] },
    {
      typed: ["state", "show", "default.prod", ""],
      words: ["LocalNetwork/network", "Machine/cp-0"],
    },
    { typed: ["state", "forget", "default.prod", ""], words: ["Machine/cp-0"] },
    { typed: ["import", "default.p"], words: ["default.prod"] },
    { typed: ["import", "default.prod", ""], words: [] },
    { typed: ["local", "machines", ""], words: [] },
    { typed: ["diff", "default.p"], words: ["default.prod"], files: true },
    { typed: ["diff", "a", "default.d"], words: ["default.dev"], files: true },
    { typed: ["diff", "--format", ""], words: ["text", "markdown", "json"] },
    { typed: ["plan", "--format", "m"], words: ["markdown", "mermaid"] },
    { typed: ["explain", "machine."], words: ["machine.spec.", "machine.metadata."] },
    { typed: ["graph", "--format", ""], words: ["mermaid", "dot"] },
    { typed: ["completion", "z"], words: ["zsh"] },
    { typed: ["init", "--control-planes", ""], words: ["1", "3"] },
    { typed: ["plan", "-f", "x"], files: true },
    { typed: ["--state", ""], files: true },
    { typed: ["init", ""], files: true },
    { typed: ["install", "--kubeconfig", ""], files: true },
    { typed: ["install", "--context", "s"], words: ["stage"] },
    { typed: ["up", "--timeout", ""], words: [] },
    { typed: ["version", ""], words: [] },
    { typed: ["help", "desc"], words: ["describe"] },
    { typed: ["help", "local", "ki"], words: ["kill"] },
    { typed: ["unknown", ""], words: [] },
  ];
  for (const { typed, words = [], files = false } of cases) {
    it(`capstan ${typed.join(" ")}|`, async () =>
      assert.deepEqual(await complete(...typed), { words, files }));
  }

  it("offers every verb and no hidden one", async () => {
    const { words } = await complete("");
    assert.ok(words.includes("plan") && words.includes("completion"));
    assert.ok(words.every((word) => !word.startsWith("_")));
  });

  it("the scripts are as they were looked at", () => {
    for (const shell of shells) assertGolden(`completion-${shell}`, completionScripts[shell]);
  });
});

describe("completion in a shell", () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-completion-"));
    writeFileSync(
      join(folder, "capstan"),
      `#!/bin/sh\nexec "${process.execPath}" "${commandLine}" "$@"\n`,
    );
    chmodSync(join(folder, "capstan"), 0o755);
    const stacks = join(folder, "state", "pulumi", ".pulumi", "stacks", "capstan");
    mkdirSync(stacks, { recursive: true });
    for (const file of ["default.prod.json", "default.dev.json", "default.dev.json.bak"]) {
      writeFileSync(join(stacks, file), "{}");
    }
    env = {
      ...cleanEnv(),
      PATH: [folder, process.env["PATH"]].join(delimiter),
      CAPSTAN_STATE: join(folder, "state"),
    };
  });
  after(() => rmSync(folder, { recursive: true }));

  /** What bash would offer for the words, the last of which is being typed. */
  const inBash = (...typed: string[]): string[] => {
    const script = `source <(capstan completion bash)
COMP_WORDS=(capstan "$@"); COMP_CWORD=$#
_capstan
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const ran = spawnSync("bash", ["-c", script, "bash", ...typed], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    assert.equal(ran.status, 0, ran.stderr);
    assert.equal(ran.stderr, "");
    return ran.stdout.split("\n").filter((line) => line !== "");
  };

  it("bash: by an alias", () => {
    const script = `source <(capstan completion bash)
alias k='env -- capstan'; complete -F _capstan k
COMP_WORDS=(k pla); COMP_CWORD=1
_capstan k
printf '%s\\n' "\${COMPREPLY[@]}"`;
    const ran = spawnSync("bash", ["-c", script], { cwd: folder, env, encoding: "utf8" });
    assert.deepEqual([ran.stdout, ran.stderr], ["plan\n", ""]);
  });

  it("bash: verbs, options, stacks, fields and files", () => {
    assert.deepEqual(inBash("pl"), ["plan"]);
    assert.deepEqual(inBash("plan", "--ad"), ["--adopt"]);
    assert.deepEqual(inBash("describe", ""), ["default.dev", "default.prod"]);
    assert.ok(inBash("explain", "machine.spec.v").includes("machine.spec.versions."));
    assert.deepEqual(inBash("plan", "-f", "stat"), ["state"]);
    assert.deepEqual(inBash("version", ""), []);
  });

  for (const [shell, check] of [
    ["zsh", ["-n"]],
    ["fish", ["--no-execute"]],
  ] as const) {
    const isThere = spawnSync(shell, ["--version"]).status === 0;
    it(`${shell}: ${isThere ? "the script parses" : "is not on this machine; its text is golden"}`, () => {
      if (!isThere) return;
      const file = join(folder, `completion.${shell}`);
      writeFileSync(file, completionScripts[shell]);
      const ran = spawnSync(shell, [...check, file], { encoding: "utf8" });
      assert.equal(ran.stderr, "");
      assert.equal(ran.status, 0);
    });
  }
});
