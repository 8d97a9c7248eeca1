import { readFileSync } from "node:fs";

/** This file is joined with others for the command line: nothing may count the folders above it. */
const packageFile = new URL(import.meta.resolve("#package.json"));

/** The folder of the package that this command line is part of; ends with a slash. */
export const packageFolder = new URL("./", packageFile);

/** The release, as package.json says. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(packageFile, "utf8")) as { version: string }).version;
}
