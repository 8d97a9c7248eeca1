import type { NodeReport, ReportedCondition } from "../provider/port.js";
import { aligned } from "./table.js";
import { durationText } from "./time-text.js";

// What Nodes say of themselves, as people read it.

/** Conditions of which a kubelet says by True that something is wrong. Source: core/v1, NodeConditionType. */
const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/** The first condition of a Node that is not as it should be: "its Node says Ready False: KubeletNotReady". Undefined: all are. Pure. */
export function nodeAilment({ conditions = [] }: NodeReport): string | undefined {
  const isIll = ({ type, status }: ReportedCondition) =>
    type === "Ready" ? status !== "True" : pressures.includes(type) && status === "True";
  const [ill] = [
    ...conditions.filter(({ type }) => type === "Ready"),
    ...conditions.filter(({ type }) => type !== "Ready"),
  ].filter(isIll);
  if (ill === undefined) return undefined;
  return `its Node says ${ill.type} ${ill.status}${ill.reason === undefined ? "" : `: ${ill.reason}`}`;
}

/** Who keeps pods from a node, as a person reads it. Pure. */
export function cordonText(by: NonNullable<NodeReport["cordonedBy"]>): string {
  return by === "capstan" ? "cordoned by a drain of capstan" : "cordoned by somebody";
}

/** The conditions of a Node under a title: type, status, for how long, reason and message. Nothing where it has none. Pure. */
export function conditionLines(conditions: readonly ReportedCondition[], nowMs: number): string[] {
  if (conditions.length === 0) return [];
  const rows = conditions.map(({ type, status, lastTransitionTime: since, reason, message }) => {
    const why = [reason, message === reason ? undefined : message];
    return [
      type,
      status,
      since === undefined ? "" : durationText(nowMs - Date.parse(since)),
      why.filter((text) => text !== undefined).join(": "),
    ];
  });
  const lines = aligned([["TYPE", "STATUS", "SINCE", "REASON"], ...rows]);
  return ["Node conditions:", ...lines.map((line) => `  ${line.trimEnd()}`)];
}
