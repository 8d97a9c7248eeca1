import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { planMarker, planMarkdown } from "../../src/report/formats/plan-markdown.js";
import { type Outcome, run } from "../scenario/command.js";
import { cleanEnv, commandLine, repository, Sandbox } from "../scenario/sandbox.js";
import { Forge, forgeToken } from "../support/forge.js";
import { largePlan, reportOf, unalike } from "../support/sample-plans.js";
import { scratchFolder } from "../support/scratch.js";

const ci = join(repository, "deploy", "ci");
const bot = "github-actions[bot]";

interface Step {
  readonly id: string;
  readonly shell: string;
  readonly env: Readonly<Record<string, string>>;
  readonly run: string;
}

interface Action {
  readonly inputs: Readonly<Record<string, { description: string; default?: string }>>;
  readonly outputs: Readonly<Record<string, { value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

const action = parse(readFileSync(join(ci, "github", "action.yml"), "utf8")) as Action;
const [step] = action.runs.steps;
assert.ok(step !== undefined);

type Job = Readonly<{
  variables: Record<string, string>;
  script: string[];
  rules: unknown[];
  artifacts: { paths: string[] };
}>;

const template = parse(
  readFileSync(join(ci, "gitlab", "capstan-plan.gitlab-ci.yml"), "utf8"),
) as Readonly<Record<string, Job>>;

describe("the GitHub action", () => {
  it("is composite, of one step that calls nobody else's action", () => {
    assert.equal(action.runs.using, "composite");
    assert.deepEqual(Object.keys(step), ["id", "shell", "env", "run"]);
    assert.equal(action.runs.steps.length, 1);
  });

  it("gives every input to the step by its environment, and none to its script", () => {
    assert.doesNotMatch(step.run, /\$\{\{/);
    const given = Object.values(step.env).map((value) => /inputs\.([\w-]+)/.exec(value)?.[1]);
    assert.deepEqual(given.sort(), Object.keys(action.inputs).sort());
    for (const [name, { description }] of Object.entries(action.inputs)) {
      assert.ok(description.length > 10, name);
    }
  });

  it("sets the outputs that it promises, and documents the variables that it sets", () => {
    const script = readFileSync(join(ci, "review-plan.mjs"), "utf8");
    for (const [name, { value }] of Object.entries(action.outputs)) {
      assert.equal(value, `\${{ steps.review.outputs.${name} }}`);
      assert.match(script, new RegExp(`tellOutputs\\(.*\\b${name}\\b`));
    }
    const readme = readFileSync(join(ci, "README.md"), "utf8");
    for (const name of Object.keys(step.env)) assert.ok(readme.includes(`\`${name}\``), name);
  });
});

describe("the GitLab template", () => {
  it("runs on merge requests only, a script that is in the package", () => {
    const job = template[".capstan-plan"];
    assert.deepEqual(job?.rules, [{ if: '$CI_PIPELINE_SOURCE == "merge_request_event"' }]);
    const script = job.script.at(-1)?.replace("node node_modules/capstan/", "") ?? "";
    assert.ok(existsSync(join(repository, script)), script);
    const { files } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
      files: string[];
    };
    assert.ok(files.includes(dirname(script)));
    const { CAPSTAN_MARKDOWN, CAPSTAN_PAGE } = job.variables;
    assert.deepEqual(job.artifacts.paths, [CAPSTAN_MARKDOWN, CAPSTAN_PAGE]);
  });
});

describe("a plan under review", () => {
  const scratch = scratchFolder();
  const file = (name: string) => join(scratch.path, name);
  let forge: Forge;

  const start = async (kind: "github" | "gitlab", self: string): Promise<void> => {
    forge = await Forge.start(kind, self);
  };
  afterEach(() => forge.close());

  /** A command in the place of capstan: says this, ends so, and notes its arguments and environment. */
  const fake = (says: string, code: number): string => {
    writeFileSync(file("says.txt"), says);
    writeFileSync(
      file("fake.mjs"),
      `import { readFileSync, writeFileSync } from "node:fs";
       const { argv, env } = process;
       writeFileSync(${JSON.stringify(file("called.json"))}, JSON.stringify([argv.slice(2), env]));
       process.stdout.write(readFileSync(${JSON.stringify(file("says.txt"))}));
       process.exitCode = ${code};\n`,
    );
    return `${process.execPath} ${file("fake.mjs")}`;
  };
  const called = () => JSON.parse(readFileSync(file("called.json"), "utf8")) as [string[], object];
  const read = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), "utf8") : "");

  /** Runs the action's step as GitHub does: inputs become its environment. */
  const runAction = (
    inputs: Readonly<Record<string, string>>,
    event: object = { pull_request: { number: 7 } },
  ): Promise<Outcome> => {
    writeFileSync(file("event.json"), JSON.stringify(event));
    const valueOf = (name: string) =>
      inputs[name] ?? (name === "token" ? forgeToken : (action.inputs[name]?.default ?? ""));
    const given = Object.entries(step.env).map(([variable, expression]) => [
      variable,
      valueOf(/inputs\.([\w-]+)/.exec(expression)?.[1] ?? ""),
    ]);
    const env = {
      ...cleanEnv(),
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      ...(Object.fromEntries(given) as NodeJS.ProcessEnv),
      GITHUB_ACTIONS: "true",
      GITHUB_ACTION_PATH: join(ci, "github"),
      GITHUB_API_URL: forge.url,
      GITHUB_REPOSITORY: "octo/shop",
      GITHUB_EVENT_PATH: file("event.json"),
      GITHUB_STEP_SUMMARY: file("summary.md"),
      GITHUB_OUTPUT: file("outputs"),
    };
    return run("bash", ["-e", "-c", step.run], { cwd: scratch.path, env });
  };
  const reviewed = async (says: string, inputs: Readonly<Record<string, string>> = {}) => {
    const outcome = await runAction({
      files: "clusters/prod",
      command: fake(says, 2),
      ...inputs,
    });
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.doesNotMatch(outcome.stdout + outcome.stderr, new RegExp(forgeToken));
    return outcome;
  };
  const bodies = () =>
    forge.comments.map(({ author, body }) => `${author}: ${body.split("\n")[2]}`);
  const planText = (title: string) => `${planMarker}\n\n## ${title}\n`;

  describe("on GitHub", () => {
    beforeEach(() => start("github", bot));

    it("is commented once, and the same comment is updated", async () => {
      await reviewed(planText("first"));
      await reviewed(planText("second"));
      assert.deepEqual(bodies(), [`${bot}: ## second`]);
      assert.equal(read("outputs"), "exit-code=2\nchanges=true\npage=\n".repeat(2));
      assert.equal(read("summary.md"), "");
    });

    it("leaves a comment alone that says it already", async () => {
      await reviewed(planText("same"));
      await reviewed(planText("same"));
      assert.equal(forge.calls.filter((call) => !call.startsWith("GET")).length, 1);
    });

    it("finds its comment behind 250 others, not among those of strangers", async () => {
      forge.add("mallory", planText("a trap"));
      forge.add(bot, `quoted\n${planMarker}`);
      const ours = forge.add(bot, planText("old"));
      for (let index = 0; index < 250; index += 1) forge.add("ann", "looks good");
      await reviewed(planText("new"));
      assert.equal(ours.body, planText("new"));
      assert.equal(forge.comments.length, 253);
      assert.equal(forge.comments[0]?.body, planText("a trap"));
    });

    it("keeps plans with other keys apart", async () => {
      await reviewed(planText("prod"), { key: "prod" });
      await reviewed(planText("staging"), { key: "staging --> <b>" });
      await reviewed(planText("prod again"), { key: "prod" });
      assert.deepEqual(bodies(), [`${bot}: ## prod again`, `${bot}: ## staging`]);
      assert.match(forge.comments[1]?.body ?? "", /^<!-- capstan-plan staging-b- -->\n/);
    });

    it("is in the summary when the token may only read, as on a fork", async () => {
      forge.mayWrite = false;
      const { stderr } = await reviewed(planText("from a fork"));
      assert.match(stderr, /comment: none, .*answered 403.*; the plan is in the summary/);
      assert.match(read("summary.md"), /## from a fork/);
      assert.deepEqual(forge.comments, []);
    });

    it("is in the summary when there is no pull request, or no token", async () => {
      const command = fake(planText("pushed"), 0);
      assert.equal((await runAction({ files: "a", command }, { ref: "main" })).code, 0);
      assert.equal((await runAction({ files: "a", command, token: "" })).code, 0);
      assert.equal(read("summary.md").match(/## pushed/g)?.length, 2);
      assert.deepEqual(forge.calls, []);
    });

    it("is tried again while the forge is out of order, and given up loudly", async () => {
      forge.faults.push(502, 429);
      await reviewed(planText("patient"));
      assert.deepEqual(bodies(), [`${bot}: ## patient`]);
      forge.faults.push(500, 500, 500, 500);
      const outcome = await runAction({ files: "a", command: fake(planText("late"), 2) });
      assert.equal(outcome.code, 1);
      assert.match(outcome.stderr, /cannot review the plan: GET .*answered 500/);
    });

    it("of 1,000 machines none of which is like another goes into one comment", async () => {
      const text = planMarkdown(reportOf(unalike(await largePlan(999))));
      assert.ok(text.length > 60_000);
      await reviewed(text, { key: "k".repeat(200) });
      const [only, ...others] = forge.comments;
      assert.deepEqual(others, []);
      assert.equal(
        only?.body.split("\n").slice(1).join("\n"),
        text.split("\n").slice(1).join("\n"),
      );
    });

    it("of exactly the limit is commented; a character more is summed up", async () => {
      const head = planText("long");
      const full = head + "x".repeat(65_536 - head.length);
      await reviewed(full);
      assert.equal(forge.comments[0]?.body.length, 65_536);
      await reviewed(`${full}x`);
      assert.match(forge.comments[0]?.body ?? "", /## long\n\nThe plan is too long for a comment/);
      assert.ok(read("summary.md").includes(`${full}x`));
    });

    it("replaces an old plan when planning fails, and the job fails with its code", async () => {
      await reviewed(planText("old"));
      const failing = await runAction({ files: "a", command: fake("half a pl", 65) });
      assert.equal(failing.code, 65);
      assert.deepEqual(bodies(), [`${bot}: ## Capstan plan: failed`]);
      assert.match(read("outputs"), /exit-code=65\nchanges=false\n/);
    });

    it("gets its arguments one a line and unexpanded, and never the token", async () => {
      const files = "clusters/a b\n\n  $(touch hacked)\n*\n";
      await reviewed(planText("quoted"), { files, args: "--require\nreversible" });
      const [args, env] = called();
      assert.deepEqual(args, [
        "plan",
        "--format",
        "markdown",
        "-f",
        "clusters/a b",
        "-f",
        "$(touch hacked)",
        "-f",
        "*",
        "--require",
        "reversible",
      ]);
      assert.doesNotMatch(JSON.stringify(env), new RegExp(forgeToken));
      assert.ok(!existsSync(file("hacked")));
    });

    it("only plans when no comment is wanted, and writes both files", async () => {
      const files = { markdown: file("plan.md"), page: file("plan.html") };
      await reviewed(planText("quiet"), { comment: "false", ...files });
      assert.deepEqual(forge.calls, []);
      assert.equal(read("plan.md"), planText("quiet"));
      assert.equal(called()[0][2], "html");
      assert.match(read("outputs"), /^page=.*plan\.html$/m);
    });

    it("is the product's own", async () => {
      const sandbox = await Sandbox.make({ machines: { "cp-0": { controlPlane: true } } });
      try {
        const command = `${process.execPath} ${commandLine} --state ${sandbox.state}`;
        const inputs = { files: sandbox.manifests, command, page: file("plan.html") };
        const outcome = await runAction(inputs);
        assert.equal(outcome.code, 0, outcome.stderr);
        assert.deepEqual(bodies(), [`${bot}: ## Capstan plan: 3 to create; 1 wave`]);
        assert.match(read("plan.html"), /^<!doctype html>/);
      } finally {
        await sandbox.close();
      }
    });
  });

  describe("on GitLab", () => {
    const self = "1000";
    beforeEach(() => start("gitlab", self));

    const runJob = (env: NodeJS.ProcessEnv): Promise<Outcome> =>
      run(process.execPath, [join(ci, "review-plan.mjs")], {
        cwd: scratch.path,
        env: {
          ...cleanEnv(),
          ...template[".capstan-plan"]?.variables,
          GITLAB_CI: "true",
          CI_API_V4_URL: forge.url,
          CI_PROJECT_ID: "42",
          CI_MERGE_REQUEST_IID: "7",
          CAPSTAN_FILES: "clusters/prod",
          CAPSTAN_PAGE: "",
          ...env,
        },
      });

    it("is commented once, and the same comment is updated", async () => {
      forge.add("mallory", planText("a trap"));
      for (const title of ["first", "second"]) {
        const env = { CAPSTAN_COMMAND: fake(planText(title), 2) };
        const outcome = await runJob({ ...env, CAPSTAN_COMMENT_TOKEN: forgeToken });
        assert.equal(outcome.code, 0, outcome.stderr);
      }
      assert.deepEqual(bodies(), ["mallory: ## a trap", `${self}: ## second`]);
      assert.equal(read("plan.md"), planText("second"));
    });

    it("is in the log without a token", async () => {
      const outcome = await runJob({ CAPSTAN_COMMAND: fake(planText("logged"), 2) });
      assert.equal(outcome.code, 0);
      assert.match(outcome.stdout, /## logged/);
      assert.match(outcome.stderr, /there is no token .*; the plan is in the log/);
      assert.deepEqual(forge.calls, []);
    });
  });
});
