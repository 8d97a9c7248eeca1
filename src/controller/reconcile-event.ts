import type { CapstanError } from "../api/error.js";
import type { JudgedDrift } from "../drift/judge.js";
import type { ApplyResult } from "../engine/operations/apply-result.js";
import type { RunEvent } from "../engine/run/run-event.js";
import type { Diagnostic } from "../manifest/diagnostic.js";
import type { Plan } from "../plan/plan.js";
import type { CertificateExpiry } from "../source/certificate-report.js";
import type { ObjectFailure } from "../source/cluster-view.js";

/** What happens to clusters, for logs, Events and metrics. */
export type ReconcileEvent =
  | { readonly kind: "planned"; readonly plan: Plan }
  | { readonly kind: "run"; readonly event: RunEvent; readonly plan: Plan }
  | {
      readonly kind: "ended";
      readonly result: ApplyResult;
      readonly plan: Plan;
      readonly tookMs: number;
    }
  /** Its objects have changed meanwhile, or the process ends: planned anew by whoever comes next. */
  | { readonly kind: "broken off"; readonly plan: Plan; readonly reason: string }
  | { readonly kind: "drift"; readonly drift: JudgedDrift }
  | { readonly kind: "destroying"; readonly resources: number }
  | { readonly kind: "destroyed"; readonly deleted: number }
  /** Of one object: beside what is told of the whole cluster. */
  | { readonly kind: "object failed"; readonly failure: ObjectFailure }
  | { readonly kind: "refused"; readonly error: CapstanError }
  | { readonly kind: "failed"; readonly error: CapstanError }
  /** Of one object, that it may not be meant so; once for each content. */
  | { readonly kind: "warned"; readonly warning: Diagnostic }
  /** Until when they count, at every look. */
  | { readonly kind: "certificates"; readonly expiries: readonly CertificateExpiry[] }
  /** It has passed a threshold. */
  | { readonly kind: "certificate expires"; readonly expiry: CertificateExpiry }
  /** Secrets of somebody else stand where a cluster's should: "default/prod-ca". */
  | { readonly kind: "secret conflict"; readonly secrets: readonly string[] }
  | { readonly kind: "paused"; readonly reason: string }
  /** Nobody speaks of it any more. */
  | { readonly kind: "forgotten" };

/** Is told; must not throw and must not wait. */
export type EventSink = (key: string, event: ReconcileEvent) => void;
