import { execFile } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { CapstanError, messageOf } from "../api/error.js";

const run = promisify(execFile);

/** A file backend moves a state away before it writes the next one, as often as other resources are made. */
const attempts = 4;
const pauseMs = 250;

/**
 * The running stack's own state, secrets in clear, read by a second command line while the first
 * one runs the program. Takes no lock. Throws BAD_STATE: a program that cannot see its state must
 * not register anything.
 */
export async function exportStack(stack: string, projectFolder: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await exportOnce(stack, projectFolder);
    } catch (error) {
      if (attempt === attempts) throw error;
      await setTimeout(pauseMs);
    }
  }
}

async function exportOnce(stack: string, projectFolder: string): Promise<string> {
  try {
    const { stdout } = await run(
      "pulumi",
      ["stack", "export", "--show-secrets", "--stack", stack, "--non-interactive"],
      { cwd: projectFolder, maxBuffer: 512 * 1024 * 1024, env: process.env },
    );
    return stdout;
  } catch (error) {
    throw new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      subject: stack,
      message: `cannot read the state of ${stack}: ${messageOf(error)}`,
      hint: "nothing was registered; pulumi must be on PATH, and the backend and passphrase set",
      cause: error,
    });
  }
}
