import assert from "node:assert/strict";
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { stringify } from "yaml";
import { Command, type Outcome } from "./command.js";
import type { Deployment } from "./ledger-judge.js";
import { checkpointIn, commandLine, repository, type Sandbox } from "./sandbox.js";

/** Name of the stack that a user works on. */
export const userStack = "dev";

/** Name of the project. */
export const userProject = "shop";

/** A Pulumi project of a user's, with a backend and a passphrase of its own, on a sandbox's cloud. */
export class UserProjectFolder {
  readonly folder: string;

  /** More of the environment of its commands. */
  more: Readonly<Record<string, string>> = {};

  private constructor(private readonly sandbox: Sandbox) {
    this.folder = join(sandbox.folder, "shop");
  }

  /** One whose program holds the sandbox's cluster, with a stack that is still empty. */
  static async make(sandbox: Sandbox): Promise<UserProjectFolder> {
    const project = new UserProjectFolder(sandbox);
    const { folder } = project;
    const modules = join(folder, "node_modules");
    mkdirSync(join(modules, "@pulumi"), { recursive: true });
    mkdirSync(join(sandbox.folder, "backend"), { recursive: true });
    mkdirSync(sandbox.state, { recursive: true });
    symlinkSync(repository, join(modules, "capstan"));
    for (const name of ["pulumi", "aws"]) {
      symlinkSync(
        join(repository, "node_modules", "@pulumi", name),
        join(modules, "@pulumi", name),
      );
    }
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    project.settle();
    await project.pulumi(0, "stack", "init", userStack);
    await project.pulumi(0, "config", "set", "shop:colour", "blue", "--stack", userStack);
    return project;
  }

  /** The same in a copy of its sandbox, with the program of one that was just made. */
  copyTo(sandbox: Sandbox): UserProjectFolder {
    const copy = new UserProjectFolder(sandbox);
    cpSync(this.folder, copy.folder, { recursive: true, verbatimSymlinks: true });
    const backend = join(this.sandbox.folder, "backend");
    cpSync(backend, join(sandbox.folder, "backend"), { recursive: true });
    copy.settle();
    return copy;
  }

  /** Writes what names its sandbox. */
  private settle(): void {
    const backend = { url: pathToFileURL(join(this.sandbox.folder, "backend")).href };
    // Programs of plain JavaScript: a compiler that Pulumi would load for each costs more than they do.
    const runtime = { name: "nodejs", options: { typescript: false } };
    const project = { name: userProject, runtime, main: "program.js", backend };
    writeFileSync(join(this.folder, "Pulumi.yaml"), stringify(project));
    this.program("");
  }

  /** Writes the program: the cluster, and what else there is to be. */
  program(more: string): void {
    const lines = [
      more,
      `export const { revision } = await cluster({ manifests: ${JSON.stringify(this.sandbox.manifests)} });`,
    ];
    this.programOf(lines);
  }

  /** Writes a whole program, behind its imports. */
  programOf(lines: readonly string[]): void {
    const imports = [
      'import * as pulumi from "@pulumi/pulumi";',
      'import { cluster } from "capstan";',
    ];
    writeFileSync(join(this.folder, "program.js"), [...imports, ...lines].join("\n"));
  }

  /** The same with a resource that belongs to no cluster. */
  programWithMore(): void {
    this.program('new pulumi.ComponentResource("shop:index:Till", "till");');
  }

  start(program: string, args: readonly string[], cwd = this.folder): Command {
    return new Command(program, args, { cwd, env: this.env() });
  }

  /** Runs Pulumi in the project to its end; fails unless it exits with `code`. */
  async pulumi(code: number, ...args: string[]): Promise<Outcome> {
    const outcome = await this.start("pulumi", [...args, "--non-interactive"]).finished;
    return expectCode(code, `pulumi ${args.join(" ")}`, outcome);
  }

  /** `pulumi up` as its users run it. */
  up(code = 0): Promise<Outcome> {
    return this.pulumi(code, "up", "--yes", "--skip-preview", "--stack", userStack);
  }

  /** Starts the command line in another folder, as the options alone must lead to project and stack. */
  startCapstan(...args: string[]): Command {
    return this.start(process.execPath, [commandLine, ...args], this.sandbox.folder);
  }

  /** The same, with the options that name project and stack, to its end. */
  async capstan(code: number, ...args: string[]): Promise<Outcome> {
    const where = ["--project", this.folder, "--stack", userStack];
    const outcome = await this.startCapstan(...where, ...args).finished;
    return expectCode(code, `capstan ${args.join(" ")}`, outcome);
  }

  /** Runs a command as a text names it, as a shell would; fails unless it exits with `code`. */
  async named(code: number, text: string, pattern: RegExp, ...more: string[]): Promise<Outcome> {
    const [command] = pattern.exec(text) ?? [];
    assert.ok(command !== undefined, `${text}\nnames no ${String(pattern)}`);
    const words = [command.replace(/^capstan/, `'${process.execPath}' '${commandLine}'`), ...more];
    const shell = this.start("sh", ["-c", words.join(" ")], this.sandbox.folder);
    return expectCode(code, command, await shell.finished);
  }

  async deployment(): Promise<Deployment> {
    const stored = join(this.sandbox.folder, "backend", ".pulumi", "stacks", userProject);
    return checkpointIn(join(stored, `${userStack}.json`)) ?? {};
  }

  private env(): NodeJS.ProcessEnv {
    const {
      PULUMI_BACKEND_URL: _backend,
      PULUMI_CONFIG_PASSPHRASE_FILE: _file,
      ...env
    } = this.sandbox.pulumiEnv();
    return { ...env, PULUMI_CONFIG_PASSPHRASE: "a user's own", ...this.more };
  }
}

function expectCode(code: number, what: string, outcome: Outcome): Outcome {
  assert.equal(outcome.code, code, `${what}\n${outcome.stdout}\n${outcome.stderr}`);
  return outcome;
}
