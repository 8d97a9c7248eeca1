import { randomBytes, randomUUID } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parse, stringify } from "yaml";
import { digestOf } from "../../api/digest.js";
import { CapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { addFile, makeFolder, replaceFile } from "./durable-files.js";
import { engineEnvironment } from "./engine-environment.js";
import { projectText, refusePrograms, refuseStrangeProject } from "./hermetic-folders.js";
import { ManifestNotes } from "./manifest-notes.js";
import { layoutByProject } from "./new-stack.js";
import { type BackendObjects, backendObjects } from "./backend-objects.js";
import { fileBackendRoot, projectName, withoutPasswords } from "./project.js";
import { makeStateFolder } from "./state-folder.js";
import { checkpointEndings, stacksAmong } from "./stored-stacks.js";
import type { UserProject } from "./user-project.js";

interface WorkspaceOptions {
  readonly stateDir: string;
  /** Any Pulumi backend URL; the state folder's own when left out. */
  readonly backend?: string;
  /** A project of the user's to work in, as it is set up, instead of our own. */
  readonly project?: UserProject;
  readonly pulumiBinDir: string;
  readonly env: NodeJS.ProcessEnv;
}

/**
 * The folders and the environment that engine runs need: a Pulumi project of our own, the backend
 * and the passphrase file, all under the state folder unless the user named others. A project of the
 * user's keeps its backend, its secrets and its settings; whatever a stack is called, the one stack that was
 * chosen there is meant.
 */
export class Workspace {
  readonly stateDir: string;
  readonly workDir: string;
  readonly backendUrl: string;
  /** What the backend keeps, read past Pulumi; undefined for one that only Pulumi can read. */
  readonly objects: BackendObjects | undefined;
  private readonly ownBackend: boolean;

  constructor(private readonly options: WorkspaceOptions) {
    this.stateDir = resolve(options.stateDir);
    const { project } = options;
    this.workDir = project?.root ?? join(this.stateDir, "work");
    this.ownBackend = options.backend === undefined && project === undefined;
    // With metadata, Pulumi writes a second file beside each state, and not atomically.
    const own = `${pathToFileURL(join(this.stateDir, "pulumi")).href}?metadata=skip`;
    this.backendUrl = options.backend ?? (project === undefined ? own : (project.backend ?? ""));
    this.objects = backendObjects(this.backendUrl, options.env);
  }

  /** Name of the Pulumi project that the stacks are of. */
  get projectName(): string {
    return this.options.project?.name ?? projectName;
  }

  /** Whether project and stacks are of our own making: nobody else's settings and history are in them. */
  get isOurs(): boolean {
    return this.options.project === undefined;
  }

  /** What Pulumi calls a stack. */
  stackName(stack: string): string {
    return this.options.project?.stack ?? stack;
  }

  /** What the state folder's lock on a stack is called: a plain `pulumi` there asks for the same one. */
  lockName(stack: string): string {
    return lockNameIn(this.projectName, this.stackName(stack));
  }

  /**
   * The backend's name in records: a digest, since a URL can hold credentials. The state folder's own
   * has one name, wherever the folder is moved.
   */
  get backendKey(): string {
    if (this.ownBackend) return "own";
    const { project } = this.options;
    if (project === undefined) return digestOf(this.backendUrl, 32);
    return digestOf([this.backendUrl, project.name, project.stack ?? ""], 32);
  }

  /**
   * The state's name among all states, for the marks of what is made from files. The state folder's own has a random one
   * that moves with it, written by the first command that makes a cluster from there; until then it is another one each time.
   */
  stateName(how: "reads" | "makes"): string {
    if (!this.ownBackend) return this.backendKey;
    const file = join(this.stateDir, "state-name");
    if (how === "makes") writeIfMissing(file, `${randomUUID()}\n`);
    return existsSync(file) ? readFileSync(file, "utf8").trim() : randomUUID();
  }

  /** Where the stacks are, as people may see it: the state folder, or the URL of a backend without its password. */
  get place(): string {
    return this.isShared ? withoutPasswords(this.backendUrl) : this.stateDir;
  }

  /** Whether commands on other machines may work on the same stacks. */
  get isShared(): boolean {
    return !this.ownBackend;
  }

  /** Whether there is a state to read. Of a backend that is no folder only Pulumi can tell. */
  get exists(): boolean {
    if (!this.isOurs) return true;
    const root = fileBackendRoot(this.backendUrl);
    return root === undefined || existsSync(root);
  }

  /** Makes the folders, the project file and, without a passphrase of the user's, the key file. */
  prepare(): void {
    makeStateFolder(this.stateDir);
    if (!this.isOurs) return;
    makeFolder(this.workDir);
    if (this.ownBackend) makeFolder(join(this.stateDir, "pulumi"));
    refuseStrangeProject(this.workDir, { isOwnBackend: this.ownBackend });
    writeUnlessSame(join(this.workDir, "Pulumi.yaml"), projectText(projectName));
    if (!this.hasOwnPassphrase()) this.preparePassphrase();
    if (this.ownBackend) this.prepareHome();
  }

  /**
   * Pulumi writes everything it does to a folder of debug logs, which is a third of the work of a
   * pass over a hundred resources, up to 500 MB of them, and offers no way to have none. A file in the
   * folder's place is one: it then goes on without. A user who wants logs removes the file and makes the folder.
   */
  private prepareHome(): void {
    const home = this.engineHome();
    makeFolder(home);
    writeIfMissing(
      join(home, "logs"),
      "Pulumi is to keep no debug logs; with a folder in the place of this file it does.\n",
    );
    refusePrograms(home);
  }

  /** Not the home that `exports` names: there a plain Pulumi may install programs. */
  private engineHome(): string {
    return join(this.stateDir, "engine-home");
  }

  /** The environment of an engine run. The passphrase itself is never in it, only its file. */
  engineEnv(): NodeJS.ProcessEnv {
    const isOwnBackend = this.ownBackend;
    const home = isOwnBackend ? { PULUMI_HOME: this.engineHome() } : {};
    const given = engineEnvironment(this.options.env, { isOwnBackend });
    return { ...quick, ...given, ...this.exports(), ...home, ...hermetic };
  }

  /** What a plain `pulumi` needs in its environment to work on the same stacks. */
  exports(): Record<string, string> {
    return omitUndefined({
      PATH: pathWithTools(this.options.pulumiBinDir, this.options.env),
      PULUMI_BACKEND_URL: this.backendUrl === "" ? undefined : this.backendUrl,
      CAPSTAN_STATE: this.stateDir,
      PULUMI_HOME: this.ownBackend ? join(this.stateDir, "pulumi-home") : undefined,
      PULUMI_CONFIG_PASSPHRASE_FILE: this.hasOwnPassphrase() ? undefined : this.passphraseFile(),
    });
  }

  /** The stack's settings file in our project. */
  stackFile(stack: string): string {
    return join(this.workDir, `Pulumi.${this.stackName(stack)}.yaml`);
  }

  /** None in a project of the user's: the program or its settings name the manifests. */
  get manifestNotes(): ManifestNotes | undefined {
    return this.isOurs ? new ManifestNotes(join(this.workDir, "sources")) : undefined;
  }

  stackSettings(stack: string): Record<string, unknown> {
    const file = this.stackFile(stack);
    return existsSync(file) ? (parse(readFileSync(file, "utf8")) as Record<string, unknown>) : {};
  }

  writeStackSettings(file: string, settings: Record<string, unknown>): void {
    writeWhole(file, stringify(settings));
  }

  /** The file of a stack's state, for file backends; undefined for others. */
  checkpointFile(stack: string): string | undefined {
    const folder = this.checkpointFolder();
    if (folder === undefined) return undefined;
    const name = this.stackName(stack);
    const files = checkpointEndings.map((ending) => join(folder, `${name}${ending}`));
    return files.find((file) => existsSync(file)) ?? files[0];
  }

  /**
   * The stacks of the project in a file backend, in name order, whether or not their states can be
   * read; undefined for other backends.
   */
  stackNames(): string[] | undefined {
    const folder = this.checkpointFolder();
    if (folder === undefined) return undefined;
    const files = existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
    return stacksAmong(files.filter((file) => file.isFile()).map(({ name }) => name));
  }

  private checkpointFolder(): string | undefined {
    const root = fileBackendRoot(this.backendUrl);
    return root === undefined ? undefined : join(root, ".pulumi", "stacks", this.projectName);
  }

  /**
   * The passphrase that encrypts our stacks, as Pulumi finds it: in the environment, in the file that
   * it names, or in our own. Undefined when its file cannot be read.
   */
  passphrase(): string | undefined {
    const { env } = this.options;
    const given = env["PULUMI_CONFIG_PASSPHRASE"];
    if (given !== undefined) return given;
    const named = this.hasOwnPassphrase() ? env["PULUMI_CONFIG_PASSPHRASE_FILE"] : undefined;
    try {
      return readFileSync(resolve(this.workDir, named ?? this.passphraseFile()), "utf8").trim();
    } catch {
      return undefined; // Pulumi says it better.
    }
  }

  /** What `keepKey` kept for a stack; undefined where there is nothing, or nothing may be kept. */
  keptKey(stack: string): string | undefined {
    const file = this.keyFile(stack);
    return file !== undefined && existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }

  /** Keeps a key beside the passphrase that it comes from; never one of a passphrase of the user's. */
  keepKey(stack: string, text: string): void {
    const file = this.keyFile(stack);
    if (file === undefined) return;
    makeFolder(dirname(file));
    writeWhole(file, text);
  }

  private keyFile(stack: string): string | undefined {
    return this.hasOwnPassphrase() ? undefined : join(this.stateDir, "keys", stack);
  }

  /**
   * Puts a new stack's state in place. Only in the backend of our own, whose layout we know, and
   * never over another one. Returns whether it did.
   */
  addCheckpoint(stack: string, text: string): boolean {
    const file = this.checkpointFile(stack);
    if (!this.ownBackend || file === undefined || existsSync(file)) return false;
    const root = join(this.stateDir, "pulumi", ".pulumi");
    const layout = join(root, "meta.yaml");
    makeFolder(dirname(file), 0o777);
    writeIfMissing(layout, layoutByProject);
    if (readFileSync(layout, "utf8") !== layoutByProject) return false;
    return writeIfMissing(file, text);
  }

  /**
   * Removes the metadata that a file backend keeps beside a state when a killed Pulumi left it half
   * written: Pulumi then no longer reads the state itself, and does without it where it is missing.
   */
  dropDamagedMetadata(stack: string): void {
    const file = `${this.checkpointFile(stack) ?? ""}.attrs`;
    if (!existsSync(file)) return;
    try {
      JSON.parse(readFileSync(file, "utf8"));
    } catch {
      rmSync(file, { force: true });
    }
  }

  private passphraseFile(): string {
    return join(this.stateDir, "passphrase");
  }

  private hasOwnPassphrase(): boolean {
    const { env } = this.options;
    return (
      !this.isOurs ||
      env["PULUMI_CONFIG_PASSPHRASE"] !== undefined ||
      (env["PULUMI_CONFIG_PASSPHRASE_FILE"] ?? "") !== ""
    );
  }

  private preparePassphrase(): void {
    const file = this.passphraseFile();
    if (!existsSync(file) && this.hasStacks()) throw this.missingPassphrase(file);
    writeIfMissing(file, `${randomBytes(32).toString("base64url")}\n`);
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600);
  }

  /** Keys are kept for a passphrase that Capstan made, and for no other one. */
  private missingPassphrase(file: string): CapstanError {
    const wasOurs = existsSync(join(this.stateDir, "keys"));
    const isBlank = this.options.env["PULUMI_CONFIG_PASSPHRASE_FILE"] !== undefined;
    const variables = isBlank
      ? "PULUMI_CONFIG_PASSPHRASE_FILE is blank"
      : "neither PULUMI_CONFIG_PASSPHRASE_FILE nor PULUMI_CONFIG_PASSPHRASE is set";
    return new CapstanError({
      code: "BAD_STATE",
      source: "user",
      subject: wasOurs ? file : this.stateDir,
      message: wasOurs
        ? `cannot decrypt the state: ${file} is gone`
        : `cannot decrypt the state in ${this.stateDir}: ${variables}, and it was encrypted with a passphrase of yours`,
      hint: wasOurs
        ? "restore the file, or set PULUMI_CONFIG_PASSPHRASE_FILE to a copy of it"
        : "set PULUMI_CONFIG_PASSPHRASE_FILE or PULUMI_CONFIG_PASSPHRASE as it was when the stacks were made",
    });
  }

  private hasStacks(): boolean {
    return this.ownBackend && existsSync(join(this.stateDir, "pulumi", ".pulumi", "stacks"));
  }
}

/** A PATH on which this Pulumi and the Node.js that runs this come first. */
export function pathWithTools(pulumiBinDir: string, env: NodeJS.ProcessEnv): string {
  const path = [pulumiBinDir, dirname(process.execPath), env["PATH"]];
  return path.filter((part) => part !== undefined).join(delimiter);
}

/** The name of the lock on a stack. Pure. */
export function lockNameIn(project: string, stack: string): string {
  return project === projectName ? stack : `${project}/${stack}`;
}

/** Pulumi lives for a second: it need not collect its garbage as if it stayed. Saves 10 to 20 %. */
const quick = { GOGC: "400" };

/**
 * No update checks, no plugin downloads: an engine run talks to the backend and to us alone. When
 * states are written is decided pass by pass, never by the user's environment.
 */
const hermetic = {
  PULUMI_SKIP_UPDATE_CHECK: "1",
  PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "1",
  PULUMI_IGNORE_AMBIENT_PLUGINS: "1",
  PULUMI_SKIP_CHECKPOINTS: "false",
};

function writeIfMissing(file: string, text: string): boolean {
  return !existsSync(file) && toldOf(file, () => addFile(file, text));
}

function writeUnlessSame(file: string, text: string): void {
  const isSame = lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
  if (!isSame || readFileSync(file, "utf8") !== text) writeWhole(file, text);
}

function writeWhole(file: string, text: string): void {
  toldOf(file, () => replaceFile(file, text));
}

function toldOf<T>(file: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    throw toldAsStorage(error, file);
  }
}
