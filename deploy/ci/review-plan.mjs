// Plans what a pull request or merge request would change, and keeps one comment with the plan up to
// date. Where no comment can be written, as on a fork's pull request, the plan goes to the job's summary
// or log. Set up by variables, see README.md; needs Node.js and nothing else. Exits as the plan does,
// with 0 in the place of 2.

import { spawn } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { discussionOf } from "./forges.mjs";

const exit = { done: 0, changesPending: 2, badUsage: 64 };
/** What a forge says to somebody who may read but not write. */
const notAllowed = new Set([401, 403, 404]);

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>}
 */
async function review(env) {
  const files = linesOf(env["CAPSTAN_FILES"]).flatMap((file) => ["-f", file]);
  if (files.length === 0) {
    process.stderr.write("error: CAPSTAN_FILES names no manifests\n");
    return exit.badUsage;
  }
  const plan = await runPlan(["--format", "markdown", ...files], env);
  const isPlanned = [exit.done, exit.changesPending].includes(plan.code);
  const body = marked(isPlanned ? plan.output : failureText(plan.code), env["CAPSTAN_COMMENT_KEY"]);
  if (env["CAPSTAN_MARKDOWN"]) writeFileSync(env["CAPSTAN_MARKDOWN"], body);
  const page = isPlanned ? await writePage(files, env) : "";
  tellOutputs({ "exit-code": plan.code, changes: plan.code === exit.changesPending, page }, env);
  if (env["CAPSTAN_COMMENT"] !== "false") await comment(body, env);
  return isPlanned ? exit.done : plan.code;
}

/**
 * @param {readonly string[]} files
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<string>} the file; empty where none is wanted
 */
async function writePage(files, env) {
  const file = env["CAPSTAN_PAGE"] ?? "";
  if (file === "") return "";
  const { code, output } = await runPlan(["--format", "html", ...files], env);
  if (code !== exit.done && code !== exit.changesPending) {
    throw new Error(`the plan ended with ${code} when the page was made`);
  }
  writeFileSync(file, output);
  return file;
}

/**
 * The command gets the environment of the job, but not the token for comments.
 *
 * @param {readonly string[]} args behind the verb
 * @param {NodeJS.ProcessEnv} env the job's
 * @returns {Promise<{ code: number, output: string }>}
 */
async function runPlan(args, env) {
  const { ...own } = env;
  delete own["CAPSTAN_COMMENT_TOKEN"];
  const command = (env["CAPSTAN_COMMAND"] ?? "").split(/\s+/).filter((word) => word !== "");
  const [program = "npx", ...first] =
    command.length === 0 ? ["npx", "--no-install", "capstan"] : command;
  const child = spawn(program, [...first, "plan", ...args, ...linesOf(env["CAPSTAN_ARGS"])], {
    env: own,
    stdio: ["ignore", "pipe", "inherit"],
  });
  /** @type {Buffer[]} */
  const chunks = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  const code = await new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve(status ?? 1));
  });
  return { code, output: Buffer.concat(chunks).toString("utf8") };
}

/**
 * An old plan must not stand there as if it were of this change. What went wrong may name things that
 * are not for everybody who reads comments: it is in the log.
 *
 * @param {number} code
 */
function failureText(code) {
  return `<!-- capstan-plan -->\n\n## Capstan plan: failed\n\nExit code ${code}; the job's log tells why.\n`;
}

/**
 * The marker in the first line, with the key that tells several comments apart.
 *
 * @param {string} text
 * @param {string | undefined} key
 */
function marked(text, key = "") {
  const plain = key.replace(/[^\w.]+/g, "-").slice(0, 64);
  return plain === ""
    ? text
    : text.replace("<!-- capstan-plan -->", `<!-- capstan-plan ${plain} -->`);
}

/**
 * @param {string} body
 * @param {NodeJS.ProcessEnv} env
 */
async function comment(body, env) {
  const discussion = discussionOf(env);
  if (typeof discussion === "string") return tellElsewhere(body, discussion, env);
  const marker = body.split("\n", 1)[0] ?? "";
  const text = body.length <= discussion.longest ? body : tooLongText(body);
  try {
    const earlier = await discussion.find(marker);
    if (earlier === undefined) await discussion.create(text);
    else if (earlier.body !== text) await updateOrCreate(discussion, earlier.id, text);
    const what =
      earlier === undefined ? "written" : earlier.body === text ? "as it was" : "updated";
    process.stderr.write(`comment: ${what}\n`);
  } catch (error) {
    const { status, message } = /** @type {Error & { status?: number }} */ (error);
    if (status === undefined || !notAllowed.has(status)) throw error;
    return tellElsewhere(body, `no comment may be written (${message})`, env);
  }
  if (text !== body) tellElsewhere(body, "the plan is too long for a comment", env);
}

/**
 * Somebody may have deleted it since.
 *
 * @param {import("./forges.mjs").Discussion} discussion
 * @param {number} id
 * @param {string} text
 */
async function updateOrCreate(discussion, id, text) {
  try {
    await discussion.update(id, text);
  } catch (error) {
    if (/** @type {{ status?: number }} */ (error).status !== 404) throw error;
    await discussion.create(text);
  }
}

/** @param {string} body */
function tooLongText(body) {
  const [marker = "", , title = ""] = body.split("\n");
  return `${marker}\n\n${title.slice(0, 1_000)}\n\nThe plan is too long for a comment: the job's summary or log has it.\n`;
}

/**
 * @param {string} body
 * @param {string} why
 * @param {NodeJS.ProcessEnv} env
 */
function tellElsewhere(body, why, env) {
  const summary = env["GITHUB_STEP_SUMMARY"];
  if (summary) appendFileSync(summary, `${body}\n`);
  else process.stdout.write(`${body}\n`);
  process.stderr.write(
    `comment: none, ${why}; the plan is in the ${summary ? "summary" : "log"}\n`,
  );
}

/**
 * @param {Readonly<Record<string, string | number | boolean>>} outputs
 * @param {NodeJS.ProcessEnv} env
 */
function tellOutputs(outputs, env) {
  if (!env["GITHUB_OUTPUT"]) return;
  const lines = Object.entries(outputs).map(([name, value]) => `${name}=${value}\n`);
  appendFileSync(env["GITHUB_OUTPUT"], lines.join(""));
}

/**
 * One value a line: what a value holds is never split or expanded.
 *
 * @param {string | undefined} text
 */
function linesOf(text = "") {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

try {
  process.exitCode = await review(process.env);
} catch (error) {
  process.stderr.write(
    `error: cannot review the plan: ${error instanceof Error ? error.message : error}\n`,
  );
  process.exitCode = 1;
}
