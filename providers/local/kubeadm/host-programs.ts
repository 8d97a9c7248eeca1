import { readFileSync } from "node:fs";
import { running, type RunningProgram } from "../nodes/processes-naming.js";
import { groupOf } from "./place.js";

/** What runs a program on a host of namespaces, in its containers or beside them. */
export function programsOn(hostId: string, program: string): RunningProgram[] {
  const group = groupOf(hostId);
  return running(new Set([program])).filter(([pid]) => isInGroup(pid, group));
}

/** Containers of a host are in groups below that of the host. */
function isInGroup(pid: number, group: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(`/${group}/`);
  } catch {
    return false; // It has ended in between.
  }
}
