import { CommanderError } from "commander";
import { storageFailureOf } from "../../api/storage-failure.js";
import { visible } from "../../api/visible.js";
import { keptAlive } from "../../engine/run/kept-alive.js";
import { SecretValues } from "../../provider/secret-values.js";
import { exitCodes } from "../exit.js";
import { habitAnswer } from "./habits.js";
import { makeProgram } from "./program.js";

/** Runs the command line of this process; leaves its result as exit code. */
export async function runCommandLine(): Promise<void> {
  // Read before anything is parsed: what cannot be parsed has to be told in the same form.
  const json = process.argv.includes("--json");
  // Whoever reads may have seen enough: `capstan history | head -1`.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    // The work goes on without its words: an end here would leave it half done.
    if (storageFailureOf(error) === undefined) throw error;
  });
  process.stderr.on("error", (error: NodeJS.ErrnoException) => {
    if (storageFailureOf(error) === undefined) throw error;
  });
  const program = makeProgram({ silent: json });

  try {
    await keptAlive(() => program.parseAsync());
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Help that was asked for and the version are no errors, but help in the place of a verb that is missing is one.
    const fine = error.exitCode === 0;
    process.exitCode = fine ? exitCodes.done : exitCodes.badUsage;
    const hint = habitAnswer(error.message);
    if (hint !== undefined && !json) process.stderr.write(visible(`hint: ${hint}\n`));
    if (!fine && json) {
      const message =
        error.code === "commander.help" ? "which verb?" : error.message.replace(/^error: /, "");
      const document = { type: "error", code: "BAD_USAGE", message, source: "user", hint };
      process.stdout.write(visible(`${new SecretValues(process.env).json(document)}\n`));
    }
  }
}
