import { timeText } from "../api/time-text.js";
import { asJson, isJsonObject, type JsonObject } from "../api/json.js";
import type { MachineStatus } from "../api/status.js";
import { followsVersions, withChosen } from "../sets/versions.js";
import type { ClusterView } from "../source/cluster-view.js";
import { type ApiWrite, statusPatch } from "./api-write.js";
import { isDeleting, type LiveObject } from "./live-object.js";
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
