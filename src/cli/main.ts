#!/usr/bin/env node
import { CommanderError } from "commander";
import { exitCodes } from "./exit.js";
import { makeProgram } from "./program.js";

try {
  await makeProgram().parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  // Commander has said what is wrong; help and version are no errors.
  process.exitCode = error.exitCode === 0 ? exitCodes.done : exitCodes.badUsage;
  if (error.code === "commander.help") process.exitCode = exitCodes.badUsage;
}
