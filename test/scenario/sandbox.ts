import assert from "node:assert/strict";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parse, stringify } from "yaml";
import { ensurePulumi } from "#toolchain";
import { CloudHand } from "./cloud-hand.js";
import { Command, type Outcome } from "./command.js";
import {
  type CloudRow,
  type Deployment,
  judge,
  type LedgerRow,
  mutationsIn,
  nothingWrong,
  readCloud,
  readLedger,
} from "./ledger-judge.js";
import { type ScenarioCluster, writeManifests, writeObjects } from "./manifests.js";
import { until } from "./until.js";
import { removeFolder } from "../support/folders.js";

export const repository = fileURLToPath(new URL("../../../", import.meta.url));

/** The program of the command line, as users run it. */
export const commandLine = join(repository, "dist", "cli", "main.js");

/** Where stacks are kept, if not in the state folder. */
export interface StateBackend {
  readonly url: string;
  /** What commands need in their environment to reach it and to decrypt what it holds. */
  readonly env: Readonly<Record<string, string>>;
  /** Another one that holds what this one holds. */
  copy(): StateBackend;
}

/** One that all copies share, as machines do. */
export function sharedBackend(url: string, env: StateBackend["env"]): StateBackend {
  const backend: StateBackend = { url, env, copy: () => backend };
  return backend;
}

export interface SandboxOptions {
  /** The program of the command line that is run; the repository's unless given. */
  readonly program?: string;
  readonly backend?: StateBackend;
  /** Commands answer in lines of JSON. */
  readonly json?: boolean;
  /** More of the environment of commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** What the command line is run by: a program and its first arguments; nothing unless given. */
  readonly runner?: readonly string[];
  /** Where its folder is made; the system's folder for temporary files unless given. */
  readonly parent?: string;
}

/** A cluster to be written, an example by name, a folder of manifests, or objects to be written. */
export type SandboxSource =
  | ScenarioCluster
  | { readonly example: string }
  | { readonly folder: string }
  | { readonly objects: readonly object[] };

/** A folder of its own with manifests and a state, and the commands that work on them. */
export class Sandbox {
  readonly manifests: string;
  readonly state: string;
  readonly cloudFile: string;
  /** The file of another local cloud that commands are sent to; the one in the state folder without. */
  localCloud: string | undefined;
  /** What commands are run by from now on, instead of what the options say. */
  runner: readonly string[] | undefined;
  private readonly started: Command[] = [];

  private constructor(
    readonly folder: string,
    /** The folder of the pulumi that the command line uses too. */
    private readonly pulumiFolder: string,
    readonly options: SandboxOptions,
  ) {
    this.manifests = join(folder, "manifests");
    this.state = join(folder, "state");
    this.cloudFile = join(this.state, "local-cloud.db");
  }

  /** An empty one. Its manifests are those of a cluster, or of an example. */
  static async make(source: SandboxSource, options: SandboxOptions = {}): Promise<Sandbox> {
    const { binDir } = await ensurePulumi();
    const sandbox = new Sandbox(freshFolder(options), binDir, options);
    if ("example" in source) {
      cpSync(join(repository, "examples", source.example), sandbox.manifests, { recursive: true });
    } else if ("folder" in source) {
      cpSync(source.folder, sandbox.manifests, { recursive: true });
    } else if ("objects" in source) {
      mkdirSync(sandbox.manifests);
      sandbox.writeObjects(source.objects);
    } else {
      mkdirSync(sandbox.manifests);
      sandbox.write(source);
    }
    return sandbox;
  }

  /** Another one that goes on from where this one is. Nothing may run in this one. */
  copy(where: Pick<SandboxOptions, "parent" | "program" | "runner"> = {}): Sandbox {
    const backend = this.options.backend?.copy();
    const options = { ...this.options, ...where, ...(backend && { backend }) };
    const copy = new Sandbox(freshFolder(options), this.pulumiFolder, options);
    cpSync(this.manifests, copy.manifests, { recursive: true });
    if (existsSync(this.state)) cpSync(this.state, copy.state, { recursive: true });
    return copy;
  }

  /** Ends what still runs and removes the folder. */
  async close(): Promise<void> {
    for (const command of this.started) await command.killTree();
    removeFolder(this.folder);
  }

  write(shape: ScenarioCluster): void {
    writeManifests(this.manifests, shape);
  }

  writeObjects(objects: readonly object[]): void {
    writeObjects(this.manifests, objects);
  }

  /** Starts the command line and does not wait. */
  start(...args: string[]): Command {
    const { program: cli = commandLine, backend, json, env } = this.options;
    const { runner = this.options.runner ?? [] } = this;
    const where = ["--state", this.state, ...(backend ? ["--backend", backend.url] : [])];
    const how = json === true ? ["--json"] : [];
    const [program, ...words] = [...runner, process.execPath, cli, ...where, ...how, ...args];
    return this.launch(program ?? process.execPath, words, {
      cwd: this.folder,
      env: { ...cleanEnv(), ...this.backendEnv(), ...this.cloudEnv(), ...env },
    });
  }

  /** Runs the command line to its end; fails unless it exits with `code`. */
  async capstan(code: number, ...args: string[]): Promise<Outcome> {
    return expectCode(code, `capstan ${args.join(" ")}`, await this.start(...args).finished);
  }

  startUp(...args: string[]): Command {
    return this.start("up", "--yes", "-f", this.manifests, ...args);
  }

  up(code = 0, ...args: string[]): Promise<Outcome> {
    return this.capstan(code, "up", "--yes", "-f", this.manifests, ...args);
  }

  plan(code: number, ...args: string[]): Promise<Outcome> {
    return this.capstan(code, "plan", "-f", this.manifests, ...args);
  }

  /** The one JSON document that `plan --json` prints for the one cluster. */
  async planDocument(code: number): Promise<PrintedPlan> {
    const { stdout } = await this.plan(code, "--json");
    return JSON.parse(stdout) as PrintedPlan;
  }

  /** The local cloud of its commands, to be changed by hand. */
  get cloud(): CloudHand {
    return new CloudHand(this.localCloud ?? this.cloudFile);
  }

  /** What a plain pulumi needs to know to work on this sandbox's stacks. */
  pulumiEnv(): NodeJS.ProcessEnv {
    const env = cleanEnv();
    const path = [this.pulumiFolder, dirname(process.execPath), env["PATH"]];
    return {
      ...env,
      PATH: path.filter((part) => part !== undefined).join(delimiter),
      PULUMI_BACKEND_URL: `${pathToFileURL(join(this.state, "pulumi")).href}?metadata=skip`,
      PULUMI_HOME: join(this.state, "pulumi-home"),
      PULUMI_CONFIG_PASSPHRASE_FILE: join(this.state, "passphrase"),
      ...this.backendEnv(),
      PULUMI_SKIP_UPDATE_CHECK: "1",
      CAPSTAN_STATE: this.state,
      ...this.cloudEnv(),
      ...this.options.env,
    };
  }

  startPulumi(
    args: readonly string[],
    cwd = join(this.state, "work"),
    more: Readonly<Record<string, string>> = {},
    runner: readonly string[] = [],
  ): Command {
    const pulumi = join(this.pulumiFolder, "pulumi");
    const [program, ...words] = [...runner, pulumi, ...args, "--non-interactive"];
    const env = { ...this.pulumiEnv(), ...more };
    return this.launch(program ?? pulumi, words, { cwd, env });
  }

  /** Runs Pulumi's own command line to its end; fails unless it exits with `code`. */
  async pulumi(code: number, args: readonly string[], cwd?: string): Promise<Outcome> {
    const outcome = await this.startPulumi(args, cwd).finished;
    return expectCode(code, `pulumi ${args.join(" ")}`, outcome);
  }

  /**
   * Starts `pulumi <command>` in the root of the repository, as its users do, with a settings file
   * outside of it.
   */
  startPlain(command: string, stack: string, ...args: string[]): Command {
    const settings = join(this.folder, `Pulumi.${stack}.yaml`);
    const own = readFileSync(join(this.state, "work", `Pulumi.${stack}.yaml`), "utf8");
    const config = { "capstan:manifests": this.manifests };
    writeFileSync(settings, stringify({ ...(parse(own) as object), config }));
    return this.startPulumi(
      [command, ...args, "--stack", stack, "--config-file", settings],
      repository,
      {},
      this.runner,
    );
  }

  /** Runs `startPlain` to its end; fails unless it exits with `code`. */
  async plain(code: number, command: string, stack: string, ...args: string[]): Promise<Outcome> {
    const { finished } = this.startPlain(command, stack, ...args);
    return expectCode(code, `pulumi ${command} ${args.join(" ")}`, await finished);
  }

  /** Forgets a stack of the file backend, as whoever has lost the folder that it was in. */
  loseState(stack: string): void {
    const stored = join(this.state, "pulumi", ".pulumi");
    for (const file of readdirSync(stored, { recursive: true, encoding: "utf8" })) {
      const parts = file.split(sep);
      const isOfStack = parts.some((part) => part === stack || part.startsWith(`${stack}.`));
      if (isOfStack) removeFolder(join(stored, file));
    }
  }

  /**
   * What Pulumi has recorded about a stack; nothing for a stack that does not exist, as after a destroy. A plain file is read as it
   * is: hundreds of processes of Pulumi would say the same.
   */
  async deployment(stack: string): Promise<Deployment> {
    const recorded = checkpointIn(this.stateFile(stack));
    if (recorded !== undefined) return recorded;
    const args = ["stack", "export", "--stack", stack];
    const outcome = await this.startPulumi(args).finished;
    if (outcome.stderr.includes("no stack named")) return {};
    const { stdout } = expectCode(0, `pulumi ${args.join(" ")}`, outcome);
    return (JSON.parse(stdout) as { deployment: Deployment }).deployment;
  }

  /** The same; of a state that was cut off, what its newest copy says: with that the next command goes on. */
  async lastGoodDeployment(stack: string): Promise<Deployment> {
    const stored = join(this.state, "pulumi", ".pulumi");
    const file = this.stateFile(stack);
    if (this.options.backend !== undefined || !existsSync(file) || checkpointIn(file)) {
      return this.deployment(stack);
    }
    const copies = readdirSync(stored, { recursive: true, encoding: "utf8" })
      .filter((path) => path.includes(stack))
      .flatMap((path) => checkpointIn(join(stored, path)) ?? []);
    const timeOf = ({ manifest }: RecordedCheckpoint) => Date.parse(manifest.time);
    return copies.sort((left, right) => timeOf(right) - timeOf(left))[0] ?? {};
  }

  /** Changes what Pulumi has recorded about a stack, by exporting and importing it. */
  async editState(stack: string, edit: (deployment: Deployment) => void): Promise<void> {
    const { stdout } = await this.pulumi(0, ["stack", "export", "--stack", stack]);
    const exported = JSON.parse(stdout) as { deployment: Deployment };
    edit(exported.deployment);
    const file = join(this.folder, "edited.json");
    writeFileSync(file, JSON.stringify(exported));
    await this.pulumi(0, ["stack", "import", "--stack", stack, "--file", file]);
  }

  /** Every resource that the cloud ever had; none where no cloud was made. */
  rows(): CloudRow[] {
    return existsSync(this.cloudFile) ? readCloud(this.cloudFile) : [];
  }

  alive(): CloudRow[] {
    return this.rows().filter(({ state }) => state !== "terminated");
  }

  /** The one host alive whose name begins with the machine's. */
  hostOf(machine: string): CloudRow {
    const hosts = this.alive().filter(
      ({ kind, name }) => kind === "LocalHost" && name.startsWith(machine),
    );
    assert.equal(hosts.length, 1, `hosts alive of ${machine}`);
    return hosts[0]!;
  }

  ledger(after = 0): LedgerRow[] {
    return existsSync(this.cloudFile) ? readLedger(this.cloudFile, after) : [];
  }

  /** The number of the last entry in the ledger. */
  ledgerEnd(): number {
    return this.ledger().at(-1)?.seq ?? 0;
  }

  /** What providers asked the cloud to change after a ledger entry. */
  mutations(after: number): LedgerRow[] {
    return mutationsIn(this.ledger(after));
  }

  /**
   * Sets a fault of mode hang or hangAfter for a resource whose name begins so, starts a command,
   * and waits until it hangs there: the ledger then has the call, refused or carried out.
   */
  async startHanging(
    fault: { readonly call: string; readonly mode: string; readonly name: string },
    start: () => Command = () => this.startUp(),
  ): Promise<Command> {
    const { call, mode, name } = fault;
    await this.cloud.fault(call, mode, { name });
    const begin = this.ledgerEnd();
    const command = start();
    await until(`${call} of ${name} hangs`, () => {
      assert.equal(command.hasEnded, false, command.said);
      return this.ledger(begin).some(
        (row) =>
          row.call === call &&
          (row.effect === "refused: hang" || row.name?.startsWith(name) === true),
      );
    });
    return command;
  }

  /** Fails unless cloud and state agree: no duplicate, no orphan, nothing missing or unfinished. */
  async assertSound(stack: string): Promise<void> {
    assert.deepEqual(judge(this.rows(), await this.deployment(stack)), nothingWrong);
  }

  /** There is none where stacks are elsewhere. */
  private stateFile(stack: string): string {
    return join(this.state, "pulumi", ".pulumi", "stacks", "capstan", `${stack}.json`);
  }

  /** Pulumi keeps its own files in the sandbox also where its stacks are elsewhere. */
  private backendEnv(): Record<string, string> {
    const { backend } = this.options;
    if (backend === undefined) return {};
    const home = join(this.state, "pulumi-home");
    return { ...backend.env, PULUMI_BACKEND_URL: backend.url, PULUMI_HOME: home };
  }

  private cloudEnv(): Record<string, string> {
    return this.localCloud === undefined ? {} : { CAPSTAN_LOCAL_CLOUD: this.localCloud };
  }

  private launch(...of: ConstructorParameters<typeof Command>): Command {
    const command = new Command(...of);
    this.started.push(command);
    return command;
  }
}

/** The part of the plan's JSON that scenarios look at. */
export interface PrintedPlan {
  readonly empty: boolean;
  readonly transaction: { readonly number: number; readonly clusterUid: string };
  readonly steps: readonly { readonly kind: string; readonly key: string }[];
  readonly waves: readonly { readonly keys: readonly string[]; readonly reason: string }[];
  readonly resources: readonly {
    readonly kind: string;
    readonly name: string;
    readonly spec: Readonly<Record<string, unknown>>;
  }[];
}

export interface RecordedCheckpoint extends Deployment {
  readonly manifest: { readonly time: string };
}

/** What a state file of Pulumi's holds; undefined for one that holds none, or not a whole one. */
export function checkpointIn(file: string): RecordedCheckpoint | undefined {
  try {
    const { checkpoint } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly checkpoint?: { readonly latest: RecordedCheckpoint };
    };
    return checkpoint?.latest;
  } catch {
    return undefined;
  }
}

function freshFolder({ parent = tmpdir() }: SandboxOptions): string {
  return mkdtempSync(join(parent, "capstan-test-"));
}

function expectCode(code: number, what: string, outcome: Outcome): Outcome {
  assert.equal(outcome.code, code, `${what}\n${outcome.stdout}\n${outcome.stderr}`);
  return outcome;
}

/** The environment without what would lead commands to anything of the user's. */
export function cleanEnv(): NodeJS.ProcessEnv {
  const foreign = /^(PULUMI_|CAPSTAN_STATE$|CAPSTAN_TIMEOUT$|CAPSTAN_LOCAL_CLOUD$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([key]) => !foreign.test(key)));
}
