import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { once } from "node:events";

/** Whom everything of a cloud of processes listens for: nobody but this machine. */
export const loopback = "127.0.0.1";

/** Where the programs of a host listen. They keep their ports for as long as the host lives. */
export interface HostPorts {
  readonly etcd: number;
  readonly etcdPeers: number;
  readonly api: number;
  readonly controllers: number;
  readonly scheduler: number;
  readonly kubelet: number;
}

const portNames = ["etcd", "etcdPeers", "api", "controllers", "scheduler", "kubelet"] as const;

/** Folder of a resource that has processes: beside the cloud's file, under its id. Pure. */
export function folderOf(cloudPath: string, id: string): string {
  return join(dirname(cloudPath), `${basename(cloudPath)}.hosts`, id);
}

/**
 * The disk of a host: all that its programs keep, gone with it. It is made once, with the user data on it (ProcessRecords.boot);
 * nothing else makes a folder here, so one that is gone stays gone.
 */
export class HostFolder {
  constructor(readonly path: string) {}

  /** Of the resource. */
  get id(): string {
    return basename(this.path);
  }

  make(userData: string): void {
    for (const part of ["log", join("pki", "etcd")]) {
      mkdirSync(this.at(part), { recursive: true, mode: 0o700 });
    }
    this.write(userDataFile, userData);
  }

  /** Whether nothing is missing that a host cannot lose and still be the same one: a member without its data would begin anew. */
  isWhole(): boolean {
    return this.has(userDataFile) && (!this.has(votesFile) || this.has("etcd/member"));
  }

  /** Secrets among it. */
  userData(): string {
    return this.read(userDataFile);
  }

  /** Whether its etcd has become a member that counts. */
  get votes(): boolean {
    return this.has(votesFile);
  }

  noteVote(): void {
    if (!this.votes) this.write(votesFile, "");
  }

  /** Whether its namespaces were made: they go with the process that keeps them, and are not made again. */
  get hasBegun(): boolean {
    return this.has(begunFile);
  }

  noteBegin(): void {
    this.write(begunFile, "");
  }

  /** Whether a program of the host is to find its disk full, for as long as nobody gives it room. */
  isFull(program: string): boolean {
    return this.has(fullFile(program));
  }

  noteFull(program: string): void {
    this.write(fullFile(program), "");
  }

  noteRoom(program: string): void {
    rmSync(this.at(fullFile(program)), { force: true });
  }

  /** That its one process holds. */
  get lock(): string {
    return this.at("lock");
  }

  /** Of a host of namespaces: what it writes. */
  get disk(): string {
    return this.at("disk");
  }

  /** Of the load balancer of a cluster of namespaces: what stands for the network. */
  get network(): string {
    return this.at("network");
  }

  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  has(name: string): boolean {
    return existsSync(this.at(name));
  }

  read(name: string): string {
    return readFileSync(this.at(name), "utf8");
  }

  /** Whole or not at all; for nobody else to read. */
  write(name: string, content: string): void {
    const path = this.at(name);
    writeFileSync(`${path}.new`, content, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
  }

  log(program: string): string {
    return this.at("log", `${program}.log`);
  }

  /** Those that it has, or free ones, which are its own from then on. */
  async ports(): Promise<HostPorts> {
    const known = portsIn(this.path);
    if (known !== undefined) return known;
    const free = await freePorts(portNames.length);
    const ports = Object.fromEntries(portNames.map((name, index) => [name, free[index]]));
    this.write(portsFile, JSON.stringify(ports));
    return ports as unknown as HostPorts;
  }
}

const userDataFile = "user-data";
const votesFile = "etcd.votes";
const begunFile = "begun";
const portsFile = "ports.json";
const fullFile = (program: string) => `${program}.full`;

/** Where the programs of a host listen that has begun; undefined of one that has not. */
export function portsIn(folder: string): HostPorts | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, portsFile), "utf8")) as HostPorts;
  } catch {
    return undefined;
  }
}

/** Ports that nobody listens on, all different. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, loopback));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(
    servers.map((server) => {
      server.close();
      return once(server, "close");
    }),
  );
  return ports;
}
