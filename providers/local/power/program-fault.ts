import { basename } from "node:path";
import { type LocalResource, nodesOf } from "../file/resource.js";
import { programsOn } from "../kubeadm/host-programs.js";
import { giveRoom, requireLimits, takeRoom } from "../nodes/full-disk.js";
import { folderOf, HostFolder } from "../nodes/host-folder.js";
import { memberPrograms } from "../nodes/member-programs.js";
import {
  naming,
  running,
  type RunningProgram,
  signalProcesses,
} from "../nodes/processes-naming.js";

/** What runs on hosts that are not simulated and may be made to fail there. */
export const faultyPrograms = [...memberPrograms, "kubelet", "containerd"] as const;
type FaultyProgram = (typeof faultyPrograms)[number];

const faultsOfAll = ["die", "hang", "goOn"] as const;
const faultsOfMembers = [...faultsOfAll, "fillDisk", "freeDisk"] as const;

/**
 * `die`: at once, and whoever keeps it starts it again. `hang`: it stands still until it goes on by `goOn`. `fillDisk`: it finds its
 * disk full, also when it is started again, until it has room by `freeDisk`.
 */
export type ProgramFault = (typeof faultsOfMembers)[number];

/** The faults of a program. What a kubelet or a containerd starts would find the disk full as well, and stay so. Pure. */
export function faultsOf(program: FaultyProgram): readonly ProgramFault[] {
  return memberPrograms.some((one) => one === program) ? faultsOfMembers : faultsOfAll;
}

const signals: Readonly<Record<(typeof faultsOfAll)[number], NodeJS.Signals>> = {
  die: "SIGKILL",
  hang: "SIGSTOP",
  goOn: "SIGCONT",
};

/** A program of a host, whose cloud is in the file `cloudPath`. */
interface ProgramPlace {
  readonly cloudPath: string;
  readonly host: Pick<LocalResource, "id" | "spec">;
  readonly program: FaultyProgram;
}

/**
 * Does it to a program of a host. Answers how many processes it met: none where the program does not run. Throws TOOLCHAIN where
 * this machine cannot do it.
 */
export function failProgram(place: ProgramPlace, fault: ProgramFault): number {
  if (fault === "fillDisk") return fillDisk(place);
  if (fault === "freeDisk") return freeDisk(place);
  return signalProcesses(pidsOf(place), signals[fault]);
}

/** The mark is there before anything ends of it, so that whoever starts it again knows. */
function fillDisk(place: ProgramPlace): number {
  requireLimits();
  const { program } = place;
  const folder = folderAt(place);
  const pids = pidsOf(place);
  if (pids.length === 0 && !folder.isFull(program)) return 0;
  folder.noteFull(program);
  takeRoom(pids);
  return Math.max(pids.length, 1);
}

/** The mark goes first: what is started after that has room. One that ends again and again may not run just now. */
function freeDisk(place: ProgramPlace): number {
  requireLimits();
  const { program } = place;
  const folder = folderAt(place);
  const wasFull = folder.isFull(program);
  folder.noteRoom(program);
  const met = giveRoom(pidsOf(place));
  return wasFull ? Math.max(met, 1) : met;
}

function folderAt({ cloudPath, host }: ProgramPlace): HostFolder {
  return new HostFolder(folderOf(cloudPath, host.id));
}

function pidsOf(place: ProgramPlace): number[] {
  return programsOf(place).map(([pid]) => pid);
}

function programsOf({ cloudPath, host: { id, spec }, program }: ProgramPlace): RunningProgram[] {
  switch (nodesOf(spec)) {
    case "simulated":
      return [];
    case "processes": {
      // The host's own process stands in for the kubelet.
      const name = program === "kubelet" ? basename(process.execPath) : program;
      return naming(folderOf(cloudPath, id), running(new Set([name])));
    }
    case "kubeadm":
      return programsOn(id, program);
  }
}
