import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { type LocalResource, nodesOf } from "../file/resource.js";
import { groupOf } from "../kubeadm/place.js";
import { folderOf } from "../nodes/host-folder.js";
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

/** `die`: at once, and whoever keeps it starts it again. `hang`: it stands still until it goes on by `goOn`. */
export const programFaults = ["die", "hang", "goOn"] as const;
type ProgramFault = (typeof programFaults)[number];

const signals: Readonly<Record<ProgramFault, NodeJS.Signals>> = {
  die: "SIGKILL",
  hang: "SIGSTOP",
  goOn: "SIGCONT",
};

/**
 * Does it to a program of a host, whose cloud is in the file `cloudPath`. Answers how many processes it met: none where the
 * program does not run.
 */
export function failProgram(
  cloudPath: string,
  host: Pick<LocalResource, "id" | "spec">,
  { program, fault }: { readonly program: FaultyProgram; readonly fault: ProgramFault },
): number {
  const pids = programsOf(cloudPath, host, program).map(([pid]) => pid);
  return signalProcesses(pids, signals[fault]);
}

function programsOf(
  cloudPath: string,
  { id, spec }: Pick<LocalResource, "id" | "spec">,
  program: FaultyProgram,
): RunningProgram[] {
  switch (nodesOf(spec)) {
    case "simulated":
      return [];
    case "processes": {
      // The host's own process stands in for the kubelet.
      const name = program === "kubelet" ? basename(process.execPath) : program;
      return naming(folderOf(cloudPath, id), running(new Set([name])));
    }
    case "kubeadm":
      return running(new Set([program])).filter(([pid]) => isInGroup(pid, groupOf(id)));
  }
}

/** Containers of a host are in groups below that of the host. */
function isInGroup(pid: number, group: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(`/${group}/`);
  } catch {
    return false; // It has ended in between.
  }
}
