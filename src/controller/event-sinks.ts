import { driftCounts } from "../drift/classify.js";
import type { Regarding } from "../kube/event-names.js";
import type { EventRecorder } from "../kube/events.js";
import type { ObjectName } from "../kube/live-object.js";
import type { ClusterSource } from "../source/cluster-source.js";
import type { Log } from "./log.js";
import type { Metrics, TransactionResult } from "./metrics.js";
import { eventTextOf } from "./event-messages.js";
import type { ReconcileEvent, EventSink } from "./reconcile-event.js";

/** One line in the log for what happened, where that is worth one. */
export function logSink(log: Log): EventSink {
  return (key, event) => {
    const told = eventTextOf(event);
    if (told === undefined) return;
    const { level, message, detail } = told;
    log[level](message, { cluster: key, ...detail });
  };
}

/** Events of the object that something happened to; of one that is not there, of its Cluster. */
export function kubeEventSink(
  recorder: EventRecorder,
  regarding: (key: string, about?: ObjectName) => Regarding | undefined,
): EventSink {
  return (key, event) => {
    const told = eventTextOf(event);
    if (told?.event === undefined) return;
    const { about, ...happening } = told.event;
    const object = regarding(key, about);
    if (object === undefined) return;
    recorder.record({ ...happening, regarding: object, note: told.message });
  };
}

/** Counts what happened. */
export function metricsSink(metrics: Metrics): EventSink {
  return (key, event) => {
    switch (event.kind) {
      case "ended":
        metrics.transactionEnded(...transactionOf(event));
        break;
      case "destroyed":
        metrics.transactionEnded("destroy", "succeeded");
        metrics.forget(key);
        break;
      case "forgotten":
        metrics.forget(key);
        break;
      case "drift":
        metrics.drift(key, driftCounts(event.drift.report));
        break;
      case "certificates":
        metrics.certificates(key, event.expiries);
        break;
      default:
        break;
    }
  };
}

function transactionOf({
  result,
}: Extract<ReconcileEvent, { kind: "ended" }>): ["forward" | "back", TransactionResult] {
  switch (result.kind) {
    case "done":
      return ["forward", "succeeded"];
    case "rolledBack":
      return ["back", "succeeded"];
    case "stopped":
      return ["back", result.result === "incomplete" ? "incomplete" : "failed"];
  }
}

/** The same source, that also counts in which phases clusters are shown. */
export function countedSource(source: ClusterSource, metrics: Metrics): ClusterSource {
  return {
    owner: source.owner,
    keys: () => source.keys(),
    intentOf: (key, isDecision) => source.intentOf(key, isDecision),
    claim: (key) => source.claim(key),
    show: (key, view, provider) => {
      metrics.phase(key, view.phase);
      return source.show(key, view, provider);
    },
    noteKept: (key) => source.noteKept(key),
    isShown: (key, view, provider) => source.isShown(key, view, provider),
    givenKeys: (key) => source.givenKeys(key),
    certificatesOf: (key, view, provider, nowMs) =>
      source.certificatesOf(key, view, provider, nowMs),
    release: (key) => source.release(key),
    forget: (key) => source.forget(key),
  };
}

/** Tells all of them. */
export function allSinks(sinks: readonly EventSink[]): EventSink {
  return (key, event) => {
    for (const sink of sinks) sink(key, event);
  };
}
