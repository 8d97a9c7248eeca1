import { omitUndefined } from "../api/omit-undefined.js";
import { driftCounts, type ExtraOrigin } from "../drift/classify.js";
import { hasDrift, type JudgedItem } from "../drift/judge.js";
import { decisionText, freezeText } from "../drift/drift-text.js";
import { anyDrift, type DriftedCluster, type DriftRun } from "./drift-report.js";
import {
  type ClusterDriftDocument,
  type DriftDocument,
  driftSchemaVersion,
} from "./drift-schema.js";

/** The drift of one cluster for machines. Pure. */
export function clusterDriftDocument(drifted: DriftedCluster): ClusterDriftDocument {
  const { judged, cluster, stack, provider, revision, openTransaction } = drifted;
  const { report, freeze, thawed, items } = judged;
  const { fingerprint, recorded, listed } = report;
  return omitUndefined({
    cluster,
    stack,
    provider,
    revision,
    openTransaction,
    drift: hasDrift(judged),
    fingerprint,
    recorded,
    listed,
    counts: driftCounts(report),
    notChecked: report.notChecked?.map(({ kind, fields }) => ({ kind, fields: [...fields] })),
    freeze:
      freeze &&
      omitUndefined({
        cause: freeze.cause.kind,
        reason: freezeText(freeze.cause),
        thawsAtMs: freeze.thawsAtMs,
      }),
    thawed,
    items: items.map(itemDocument),
  });
}

/** One run as one document, as docs/schemas/drift-v1.schema.json describes it. Pure. */
export function driftDocument(run: DriftRun): DriftDocument {
  return {
    schemaVersion: driftSchemaVersion,
    kind: "DriftReport",
    release: run.release,
    drift: anyDrift(run),
    clusters: run.clusters.map(clusterDriftDocument),
  };
}

/** The words of schema version 1. */
const originsInDocuments = {
  orphaned: "abandoned",
  duplicate: "twin",
  newer: "newer",
  otherClusterUid: "otherLife",
} as const satisfies Record<ExtraOrigin, string>;

function itemDocument(one: JudgedItem): ClusterDriftDocument["items"][number] {
  const { item, policy, decision } = one;
  const { class: found, key, kind, name, machine, id } = item;
  return omitUndefined({
    class: found,
    key,
    kind,
    name,
    machine: machine?.name,
    controlPlane: machine?.controlPlane,
    id,
    external: item.external,
    fields: "fields" in item ? item.fields.map((field) => ({ ...field })) : [],
    failure: "failure" in item ? item.failure : undefined,
    expiresAtMs: "expiry" in item ? item.expiry.expiresAtMs : undefined,
    leavesAtMs: "leavesAtMs" in item ? item.leavesAtMs : undefined,
    back: "back" in item && item.back.kind !== "same" ? item.back.kind : undefined,
    origin: "origin" in item ? originsInDocuments[item.origin] : undefined,
    policy,
    decision: decision.kind,
    how: decision.kind === "correct" ? decision.how : undefined,
    reason: decisionText(one),
  });
}
