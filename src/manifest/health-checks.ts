import type { Violation } from "../api/diagnostic-codes.js";
import { isEmptySelector, isSelector, selectorMatches } from "../api/label-selector.js";
import { parseUnhealthyRange } from "../api/machine-health-check.js";
import { ruleWords } from "../api/rules.js";
import { type Desired, type MachineHealthCheckObject, machineLabelsOf } from "../api/types.js";

/** What is wrong with a check beyond its schema. Pure. */
export function checkHealthCheck({ spec }: MachineHealthCheckObject): Violation[] {
  const { selector, remediation } = spec;
  const isEmpty = isEmptySelector(selector);
  const [least, most] = parseUnhealthyRange(remediation?.triggerIf?.unhealthyInRange ?? "") ?? [];
  const rangePath = ["spec", "remediation", "triggerIf", "unhealthyInRange"];
  return [
    ...(isEmpty || !isSelector(selector)
      ? [
          {
            code: "SELECTOR" as const,
            path: ["spec", "selector"],
            ...(isEmpty ? ruleWords.emptySelector : ruleWords.badSelector),
          },
        ]
      : []),
    ...(least !== undefined && most !== undefined && least > most
      ? [{ code: "NOT_ALLOWED" as const, path: rangePath, ...ruleWords.emptyRange }]
      : []),
  ];
}

/** A check that selects no Machine of its Cluster. Pure. */
export function idleHealthCheck(
  { spec }: MachineHealthCheckObject,
  { machines, machineSets, machineDeployments }: Desired,
): Violation[] {
  const labels = [...machines, ...machineSets, ...machineDeployments].map(machineLabelsOf);
  if (labels.some((one) => selectorMatches(spec.selector, one))) return [];
  return [
    {
      code: "NO_EFFECT",
      path: ["spec", "selector"],
      summary: "selects no Machine of its Cluster",
      hint: "name labels that Machines carry, or the templates of sets and deployments",
    },
  ];
}
