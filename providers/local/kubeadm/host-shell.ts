import { copyFile, mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { output, type ProgramOptions, scriptPath } from "./namespaces.js";

/** Runs and writes something on a host of namespaces, as its root. */
export class HostShell {
  constructor(
    /** Name of the host's cgroups. */
    private readonly group: string,
    /** The host's first process, as seen from outside. */
    private readonly pid: number,
  ) {}

  /** Puts a program of this machine into a folder of the host: by default where it finds programs first. */
  async install(program: string, folder = "/usr/local/bin"): Promise<void> {
    const target = join("/proc", String(this.pid), "root", folder);
    await mkdir(target, { recursive: true });
    await copyFile(program, join(target, basename(program)));
  }

  /** The output of a program. */
  run(program: string, ...args: readonly string[]): Promise<string> {
    return this.runWith({}, program, ...args);
  }

  runWith(options: ProgramOptions, program: string, ...args: readonly string[]): Promise<string> {
    const entering = [this.group, String(this.pid), program, ...args];
    return output(scriptPath("enter-host.sh"), entering, options);
  }

  async write(path: string, mode: string, content: string): Promise<void> {
    const writing = 'mkdir -p "$(dirname "$1")"; umask 077; cat > "$1"; chmod "$2" "$1"';
    await this.runWith({ input: content }, "sh", "-c", writing, "sh", path, mode);
  }
}
