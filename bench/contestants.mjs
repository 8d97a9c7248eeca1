// What is compared: each contestant sets up a project of n machines in a folder and gives a command
// for each step. A command `shows` what proves that it did that work and no other.

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { withPathFirst } from "../tools/toolchain/run.mjs";
import { clusterManifests } from "./manifests.mjs";
import { runToEnd } from "./measure.mjs";

/**
 * @typedef {{ program: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv,
 *   expected?: number, shows?: RegExp }} Command
 * @typedef {"plan" | "up" | "planAgain" | "upAgain" | "update" | "destroy"} Step
 * @typedef {{ commands: Readonly<Record<Step, Command>>, grow(): void }} Project `grow` edits what
 *   is wanted, so that the update step has every machine to change
 * @typedef {{ name: string, version: string,
 *   project(folder: string, machines: number): Promise<Project> }} Contestant
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const programs = fileURLToPath(new URL("programs", import.meta.url));

/** The disk of every machine, before and after the update; all of them can do that in place. */
const [smallGib, grownGib] = [20, 30];

/**
 * @param {{ node: string }} tools
 * @returns {Contestant}
 */
export function capstan({ node }) {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const main = join(root, "dist", "cli", "main.js");
  return {
    name: "capstan",
    version,
    async project(folder, machines) {
      const manifests = join(folder, "manifests");
      mkdirSync(manifests);
      const want = (/** @type {number} */ diskGib) =>
        writeFileSync(join(manifests, "cluster.yaml"), clusterManifests({ machines, diskGib }));
      want(smallGib);
      const command = (/** @type {string} */ name, /** @type {string[]} */ ...rest) => ({
        program: node,
        args: [main, name, "-f", manifests, "--state", join(folder, "state"), ...rest],
        cwd: folder,
        env: process.env,
      });
      // The network and the load balancer come with the cluster.
      const creates = new RegExp(`Plan: ${machines + 2} to create`);
      const updates = new RegExp(`Plan: ${machines} to update in place; `);
      const nothing = /No changes/;
      return {
        grow: () => want(grownGib),
        commands: {
          plan: { ...command("plan"), expected: 2, shows: creates },
          up: { ...command("up", "--yes"), shows: creates },
          planAgain: { ...command("plan"), shows: nothing },
          upAgain: { ...command("up", "--yes"), shows: nothing },
          update: { ...command("up", "--yes"), shows: updates },
          destroy: { ...command("destroy", "--yes"), shows: /, 0 left/ },
        },
      };
    },
  };
}

/**
 * @param {{ node: string, pulumi: { bin: string, binDir: string } }} tools
 * @returns {Promise<Contestant>}
 */
export async function plainPulumi({ node, pulumi }) {
  const version = await runToEnd({
    program: pulumi.bin,
    args: ["version"],
    cwd: root,
    env: process.env,
  });
  return {
    name: "plain Pulumi",
    version: version.output.trim(),
    async project(folder, machines) {
      cpSync(join(programs, "pulumi"), folder, { recursive: true });
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
      mkdirSync(join(folder, "backend"));
      const want = (/** @type {number} */ diskGib) =>
        writeSettings(join(folder, "settings.json"), { machines, diskGib });
      want(smallGib);
      const command = (/** @type {string[]} */ ...args) => ({
        program: pulumi.bin,
        args: [...args, "--non-interactive"],
        cwd: folder,
        env: {
          ...withPathFirst(withPathFirst(process.env, dirname(node)), pulumi.binDir),
          PULUMI_HOME: join(folder, "home"),
          PULUMI_BACKEND_URL: pathToFileURL(join(folder, "backend")).href,
          PULUMI_CONFIG_PASSPHRASE: "bench",
          PULUMI_SKIP_UPDATE_CHECK: "1",
          PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "1",
        },
      });
      await runToEnd(command("stack", "init", "bench"));
      // The network and the stack itself count as well.
      const creates = new RegExp(`\\+ ${machines + 2} `);
      const nothing = new RegExp(` ${machines + 2} unchanged`);
      const up = command("up", "--yes", "--skip-preview");
      return {
        grow: () => want(grownGib),
        commands: {
          plan: { ...command("preview"), shows: creates },
          up: { ...up, shows: creates },
          planAgain: { ...command("preview"), shows: nothing },
          upAgain: { ...up, shows: nothing },
          update: { ...up, shows: new RegExp(`~ ${machines} updated`) },
          destroy: { ...command("destroy", "--yes", "--skip-preview"), shows: /- \d+ deleted/ },
        },
      };
    },
  };
}

/** @returns {Promise<Contestant | undefined>} undefined when terraform is not on PATH */
export async function terraform() {
  const env = { ...process.env, CHECKPOINT_DISABLE: "1" };
  const asked = { program: "terraform", args: ["version", "-json"], cwd: root, env };
  const answer = await runToEnd(asked).catch(() => undefined);
  if (answer === undefined) return undefined;
  return {
    name: "terraform",
    version: /"terraform_version": "([^"]+)"/.exec(answer.output)?.[1] ?? "unknown",
    async project(folder, machines) {
      cpSync(join(programs, "terraform"), folder, { recursive: true });
      const settings = join(folder, "terraform.tfvars.json");
      const want = (/** @type {number} */ diskGib) =>
        writeSettings(settings, { machines, diskGib });
      want(smallGib);
      const configuration = join(folder, "terraform.rc");
      writeFileSync(configuration, "");
      const command = (/** @type {string[]} */ ...args) => ({
        program: "terraform",
        args: [...args, "-no-color"],
        cwd: folder,
        env: { ...env, TF_CLI_CONFIG_FILE: configuration, TF_IN_AUTOMATION: "1" },
      });
      await runToEnd(command("init"));
      const apply = command("apply", "-auto-approve", "-input=false");
      return {
        grow: () => want(grownGib),
        commands: {
          plan: { ...command("plan", "-input=false"), shows: added("to add", machines) },
          up: { ...apply, shows: added("added", machines) },
          planAgain: { ...command("plan", "-input=false"), shows: /No changes/ },
          upAgain: { ...apply, shows: /No changes/ },
          update: { ...apply, shows: new RegExp(` 0 added, ${machines} changed, 0 destroyed`) },
          destroy: { ...command("destroy", "-auto-approve"), shows: /Destroy complete/ },
        },
      };
    },
  };
}

/**
 * The network counts as well.
 *
 * @param {string} verb
 * @param {number} machines
 */
function added(verb, machines) {
  return new RegExp(` ${machines + 1} ${verb}, 0 `);
}

/**
 * @param {string} file
 * @param {{ machines: number, diskGib: number }} settings
 */
function writeSettings(file, settings) {
  writeFileSync(file, JSON.stringify(settings));
}
