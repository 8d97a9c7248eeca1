import type { Violation } from "../api/diagnostic-codes.js";
import { isJsonObject } from "../api/json.js";
import { kubeadmFieldName } from "../api/kubeadm-patch.js";
import { defaultRevisionHistoryLimit } from "../api/schema.js";
import { asksForControlPlane, type AnyObject, type MachineDeploymentObject } from "../api/types.js";
import { machineSpecsIn, type ObjectHolder } from "./object-parts.js";

/**
 * Fields of an object that fits its schema which change nothing where they stand. A user who writes one
 * expects something of it. Pure.
 */
export function idleFields(object: AnyObject, holder: ObjectHolder): Violation[] {
  const ofMachines = idleKubeadm(object);
  if (object.kind !== "MachineDeployment") return ofMachines;
  const ofFiles = holder === "files" ? idleHistoryLimit(object) : [];
  return [...ofMachines, ...idleBounds(object), ...ofFiles];
}

/** What only a member of the control plane reads; in a MachineClass it may be for others, too. */
function idleKubeadm(object: AnyObject): Violation[] {
  return machineSpecsIn(object).flatMap(({ spec, path }): Violation[] => {
    const value: unknown = spec.providerSpec.value;
    const patch = isJsonObject(value) ? value[kubeadmFieldName] : undefined;
    const isIdle = isJsonObject(patch) && patch["clusterConfiguration"] !== undefined;
    if (!isIdle || asksForControlPlane(spec)) return [];
    return [
      {
        code: "NO_EFFECT",
        path: [...path, "providerSpec", "value", kubeadmFieldName, "clusterConfiguration"],
        summary: "has no effect on workers",
        hint: "write it on the members of the control plane",
      },
    ];
  });
}

/** Bounds of a rolling update that there is not. */
function idleBounds({ spec: { strategy, template } }: MachineDeploymentObject): Violation[] {
  const path = ["spec", "strategy", "rollingUpdate"];
  const bounds = Object.keys(strategy?.rollingUpdate ?? {});
  if (strategy === undefined || bounds.length === 0) return [];
  if (strategy.type === "OnDelete") {
    return [
      {
        code: "NO_EFFECT",
        path,
        summary: "has no effect while strategy.type is OnDelete",
        hint: "take it away, or make the type RollingUpdate",
      },
    ];
  }
  if (!asksForControlPlane(template.spec)) return [];
  return [
    {
      code: "NO_EFFECT",
      path,
      summary: "has no effect on control-plane members, of which one changes at a time",
      hint: "take it away",
    },
  ];
}

function idleHistoryLimit({ spec }: MachineDeploymentObject): Violation[] {
  if (spec.revisionHistoryLimit === defaultRevisionHistoryLimit) return [];
  return [
    {
      code: "NO_EFFECT",
      path: ["spec", "revisionHistoryLimit"],
      summary: "has no effect in files, which keep no empty MachineSets",
      hint: "leave it out; capstan history keeps every revision, and capstan rollback goes back to one",
    },
  ];
}
