import { timeText } from "../api/time-text.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { NodeAddress, NodeReport, ReportedCondition } from "../provider/port.js";
import { type CordonedNode, cordonedBy, isMarkLeft } from "./cordon.js";
import { type MarkedNode, type NodeMarks, otherMarksOf } from "./node-marks.js";

/** A Node as its API server shows it, as far as it says what runs there. Source: core/v1, NodeStatus. */
export interface ReportingNode extends CordonedNode, MarkedNode {
  readonly metadata?:
    | (CordonedNode["metadata"] &
        MarkedNode["metadata"] & { readonly name?: string; readonly uid?: string })
    | undefined;
  readonly spec?: CordonedNode["spec"] & MarkedNode["spec"];
  readonly status?:
    | {
        readonly nodeInfo?: NodeInfo | undefined;
        readonly addresses?: readonly NodeAddress[] | undefined;
        readonly conditions?: readonly NodeCondition[] | undefined;
      }
    | undefined;
}

interface NodeInfo {
  /** "v1.34.2". */
  readonly kubeletVersion: string;
  /** "containerd://2.1.5". */
  readonly containerRuntimeVersion: string;
  readonly osImage: string;
}

interface NodeCondition {
  readonly type: string;
  readonly status: string;
  readonly lastTransitionTime?: Date | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/**
 * What a Node says of itself; undefined before its kubelet has said anything. Heartbeats are left out: they move all the time.
 * `wanted`: what its Machine asks it to bear; its marks are not compared without. Pure.
 */
export function nodeReportOf(node: ReportingNode, wanted?: NodeMarks): NodeReport | undefined {
  const { metadata, status } = node;
  const { nodeInfo, addresses, conditions } = status ?? {};
  if (!nodeInfo?.kubeletVersion) return undefined;
  const { kubeletVersion, containerRuntimeVersion, osImage } = nodeInfo;
  return omitUndefined({
    kubelet: withoutV(kubeletVersion),
    containerRuntime: runtimeIn(containerRuntimeVersion),
    osImage: textOf(osImage),
    uid: metadata?.uid,
    name: metadata?.name,
    addresses: addresses?.map(({ type, address }) => ({ type, address })),
    conditions: conditions?.map(reported),
    cordonedBy: cordonedBy(node),
    cordonMarkIsLeft: isMarkLeft(node) ? true : undefined,
    otherMarks: wanted && otherMarksOf(node, wanted),
  });
}

function runtimeIn(text: string): NodeReport["containerRuntime"] {
  const [, name, version] = /^([^:]+):\/\/(.+)$/.exec(text) ?? [];
  if (name === undefined || version === undefined) return undefined;
  return { name, version: withoutV(version) };
}

function withoutV(version: string): string {
  return version.replace(/^v(?=\d)/, "");
}

function reported(condition: NodeCondition): ReportedCondition {
  const { type, status, lastTransitionTime, reason, message } = condition;
  return omitUndefined({
    type,
    status: status === "True" || status === "False" ? status : ("Unknown" as const),
    lastTransitionTime: lastTransitionTime && timeText(lastTransitionTime.getTime()),
    reason: textOf(reason),
    message: textOf(message),
  });
}

function textOf(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
