import assert from "node:assert/strict";
import { findAwsCli } from "#aws-cli";
import { Command } from "../scenario/command.js";

/** Asks the command line of AWS, which runs beside this process: its JSON. */
export async function askAwsCli(
  folder: string,
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<unknown> {
  const python = findAwsCli(process.env);
  assert.ok(python !== undefined, "no command line of AWS: run npm test, which installs it");
  const command = new Command(python, ["-m", "awscli", "--output", "json", ...args], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      AWS_EC2_METADATA_DISABLED: "true",
      // It knows no AWS_REGION.
      AWS_DEFAULT_REGION: env["AWS_REGION"],
      ...env,
    },
  });
  const { code, stdout, stderr } = await command.finished;
  assert.equal(code, 0, `aws ${args.join(" ")}\n${stderr}`);
  return JSON.parse(stdout);
}
