import { timeText } from "../api/time-text.js";
import { asJson, isJsonObject, type JsonObject } from "../api/json.js";
import type { MachineStatus } from "../api/status.js";
import { followsVersions, withChosen } from "../sets/versions.js";
import type { ClusterView } from "../source/cluster-view.js";
import { machineAnnotationsAmong } from "../api/machine-annotations.js";
import { type ApiWrite, machineFinalizer, released, statusPatch } from "./api-write.js";
import { controllerOf, isDeleting, type LiveObject } from "./live-object.js";
import { refusedMachineStatus } from "./machine-status.js";
import type { MachineView } from "./machine-views.js";
import { type Redact, redactedCopy } from "./redaction.js";

interface MachineWritesInput {
  readonly view: ClusterView;
  readonly redact: Redact;
}

/** Statuses of Machines that are wrong and in no goal: they say why. Pure. */
export function refusedMachines(
  among: readonly LiveObject[],
  input: MachineWritesInput,
): ApiWrite[] {
  const { failures = [] } = input.view.unmet ?? {};
  return among.flatMap((live) => {
    const failure = failures.find(
      ({ kind, name }) => kind === live.kind && name === live.metadata.name,
    );
    const isRefused = live.kind === "Machine" && failure !== undefined && !isDeleting(live);
    if (!isRefused) return [];
    return machineStatusWrites(live, refusedMachineStatus(live, failure, input.view), input);
  });
}

/** Whether what is asked of the cluster changes when the object goes: see `intentOf`. Pure. */
export function isInGoal(machine: LiveObject): boolean {
  const isDiscarded = isDeleting(machine) && controllerOf(machine) !== undefined;
  const says = Object.keys(machineAnnotationsAmong(machine.metadata.annotations)).length > 0;
  return isDiscarded || says;
}

/** What becomes of a Machine that nothing has a host of: let go if somebody deletes it, deleted if a set made it. Pure. */
export function leftMachine(live: LiveObject): ApiWrite[] {
  const isDerived = controllerOf(live) !== undefined;
  if (!isDerived && !isDeleting(live)) return [];
  // Freed first: while it is being deleted, a derived Machine is one that its set has to replace.
  const freed = released(live, [machineFinalizer]);
  return freed.length > 0 || isDeleting(live) ? freed : [{ kind: "delete", on: live }];
}

/** The status with its time, which moves only with something else. Pure. */
export function machineStatusWrites(
  live: LiveObject,
  status: MachineStatus,
  { view, redact }: MachineWritesInput,
): ApiWrite[] {
  const { lastUpdated: _last, ...shown } = live.status ?? {};
  if (statusPatch({ ...live, status: shown }, redactedCopy(status, redact)).length === 0) return [];
  const dated = { ...status, lastUpdated: timeText(view.nowMs) };
  return statusPatch(live, redactedCopy(dated, redact));
}

/**
 * The versions that a user left out are written back, once those that are there are the recorded ones: a
 * choice for others would stand in the way of theirs. Pure. Source: docs/cluster-api.md#machine.
 */
export function versionsIn({ versions }: JsonObject, { machine }: MachineView): JsonObject {
  const chosen = machine.spec.versions;
  if (!isJsonObject(versions)) return chosen;
  return followsVersions(chosen, versions) ? asJson(withChosen(versions, chosen)) : versions;
}
