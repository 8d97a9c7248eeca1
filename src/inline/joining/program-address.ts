import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { toldAsStorage } from "../../api/storage-failure.js";
import { isJsonObject, type JsonObject } from "../../api/json.js";
import {
  isIdentity,
  type ProcessIdentity,
  sameProcess,
} from "../../engine/locks/process-identity.js";

/** Where a Pulumi program answers the host of its resources. A secret. */
export interface ProgramAddress {
  /** On the loopback interface. */
  readonly port: number;
  /** Whoever knows it is of the same user. */
  readonly key: string;
}

/**
 * Notes where the program of an engine answers, until this process ends. In a file that its user alone may read: arguments and
 * environments are read by others. Throws NO_SPACE or NOT_WRITABLE.
 */
export function noteAddress(
  stateDir: string,
  engine: ProcessIdentity,
  address: ProgramAddress,
): void {
  const file = fileOf(stateDir, engine);
  try {
    mkdirSync(join(file, ".."), { recursive: true, mode: 0o700 });
    rmSync(file, { force: true });
    writeFileSync(file, JSON.stringify({ engine, ...address }), { mode: 0o600, flag: "wx" });
  } catch (error) {
    throw toldAsStorage(error, file);
  }
  process.once("exit", () => rmSync(file, { force: true }));
}

/** Undefined where no program of the engine answers: it has none, or has ended. */
export function notedAddress(
  stateDir: string,
  engine: ProcessIdentity,
): ProgramAddress | undefined {
  const noted = read(fileOf(stateDir, engine));
  const { engine: whose, port, key } = noted ?? {};
  if (!isIdentity(whose) || typeof port !== "number" || typeof key !== "string") return undefined;
  return sameProcess(engine, whose) ? { port, key } : undefined;
}

function fileOf(stateDir: string, { pid }: ProcessIdentity): string {
  return join(stateDir, "programs", `${pid}.json`);
}

function read(file: string): JsonObject | undefined {
  try {
    const noted = JSON.parse(readFileSync(file, "utf8")) as JsonObject;
    return isJsonObject(noted) ? noted : undefined;
  } catch {
    return undefined;
  }
}
