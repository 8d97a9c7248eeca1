import type { CapstanError } from "../../api/error.js";
import type { ResourceEvent } from "../../dynamic/resource-event.js";
import type { NodeKey } from "../../graph/graph.js";
import type { Plan } from "../../plan/plan.js";
import type { DeletionWait } from "../../workload/drain/deletion-stage.js";
import type { Leftover } from "../../provider/leftovers.js";

/** Told how a run goes, for people and for logs. */
export type RunEvent =
  | {
      readonly kind: "pass";
      readonly number: number;
      readonly keys: readonly NodeKey[];
      readonly reason: string;
    }
  /** For hosts, or for somebody else to end: no keys. */
  | {
      readonly kind: "waiting";
      readonly keys: readonly NodeKey[];
      readonly reason: string;
      /** What machines share; hosts without. */
      readonly of?: "infrastructure";
      /** Hosts that are to go or to be disturbed, and what each waits for; absent where it is not about any. */
      readonly leaving?: readonly DeletionWait[];
    }
  /** It runs, and counts once it has done so for longer than its set's minReadySeconds. */
  | {
      readonly kind: "proving";
      readonly key: NodeKey;
      readonly readySinceMs: number;
      readonly minReadyMs: number;
    }
  | { readonly kind: "ready"; readonly key: NodeKey }
  | { readonly kind: "resource"; readonly event: ResourceEvent }
  /** What a controller in the cluster has made is gone. */
  | { readonly kind: "leftover"; readonly leftover: Leftover }
  /** Objects of the cluster itself are changed: the ConfigMap kubeadm-config, kube-proxy, CoreDNS, Nodes. */
  | {
      readonly kind: "configured";
      readonly what: string;
      /** Hosts whose Nodes are changed; absent: no Node is. */
      readonly hosts?: readonly NodeKey[];
    }
  /** The change is done, and those objects and the Nodes' marks stay as they are until the next command. */
  | { readonly kind: "unconfigured"; readonly reason: string }
  /** What a dead command has left is dealt with. */
  | { readonly kind: "recovering"; readonly reason: string }
  /** Resources that this run has changed are read again: their cloud shows more of them by now. */
  | { readonly kind: "refreshing"; readonly keys: readonly NodeKey[] }
  | { readonly kind: "committed"; readonly revision: number }
  /** The same goal under other names: those of hosts are spent, or the hosts never came up. What follows is about `plan`. */
  | { readonly kind: "plannedAnew"; readonly plan: Plan; readonly reason: string }
  /** A transaction is taken back; what follows is about `plan`. */
  | {
      readonly kind: "rollingBack";
      readonly transaction: number;
      readonly plan: Plan;
      readonly reason: string;
      readonly failure: CapstanError;
    };
