import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { CapstanError, messageOf } from "../../api/error.js";
import { isJsonObject, type Json } from "../../api/json.js";

// A state folder is data: it may come with a repository that others wrote. Pulumi runs programs that its project file, a file
// beside it or its home names, so engines find nothing in them that Capstan did not write.

/** Text of the project file of our own project. */
export function projectText(name: string): string {
  return `name: ${name}\nruntime: nodejs\n`;
}

/** Which members a stack's settings file may have. */
const settingsOfOurs = ["config", "encryptionsalt"];
/** On a shared backend the user may choose how a new stack is encrypted. */
const settingsOfUsers = [...settingsOfOurs, "encryptedkey", "secretsprovider"];

/**
 * Refuses a folder of our own project with anything but the project file, settings of stacks and the notes of manifests: Pulumi
 * would read a Pulumi.json before our Pulumi.yaml. Throws BAD_STATE naming the path.
 */
export function refuseStrangeProject(
  workDir: string,
  { isOwnBackend }: { readonly isOwnBackend: boolean },
): void {
  for (const entry of readdirSync(workDir, { withFileTypes: true })) {
    const path = join(workDir, entry.name);
    if (entry.name === "sources" && entry.isDirectory()) continue;
    // Ours, of a command that was killed while it wrote.
    if (entry.isFile() && entry.name.endsWith(".tmp")) continue;
    const isSettings = entry.isFile() && /^Pulumi\.(.+\.)?yaml$/.test(entry.name);
    if (!isSettings) throw strangeFile(path);
    if (entry.name === "Pulumi.yaml") continue;
    const [strange] = Object.keys(settingsIn(path)).filter(
      (name) => !(isOwnBackend ? settingsOfOurs : settingsOfUsers).includes(name),
    );
    if (strange !== undefined) throw strangeFile(path, `it sets ${strange}`);
  }
}

/** Members of a home of Pulumi's that it runs programs from. */
const programFolders = ["plugins", "policies"];

/** Refuses a home of engines that holds programs: engines install none. Throws BAD_STATE naming the path. */
export function refusePrograms(home: string): void {
  for (const path of programFolders.map((name) => join(home, name))) {
    const [first] = existsSync(path) ? readdirSync(path) : [];
    if (first !== undefined) throw strangeFile(join(path, first));
  }
}

function settingsIn(path: string): object {
  try {
    const settings = parse(readFileSync(path, "utf8")) as Json;
    return isJsonObject(settings) ? settings : {};
  } catch (error) {
    throw strangeFile(path, messageOf(error));
  }
}

function strangeFile(path: string, why = "Capstan did not write it"): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "user",
    subject: path,
    message: `cannot use the state folder with ${path}: ${why}, and Pulumi would obey it`,
    hint: "find out who put it there; once it is removed, the same command goes on",
  });
}
