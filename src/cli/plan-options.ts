import type { Removal } from "../api/protection.js";
import type { UndoClass } from "../plan/plan.js";
import type { PlanFormat } from "../report/formats/format-names.js";
import type { NamedFiles } from "./named-files.js";
import type { GlobalOptions } from "./context.js";

export interface PlanOptions extends GlobalOptions, NamedFiles {
  readonly adopt?: boolean;
  /** Delete clusters that the manifests no longer hold. */
  readonly prune?: boolean;
  /** Show all inputs of what is new. */
  readonly details?: boolean;
  /** Where to save the plan. */
  readonly out?: string;
  readonly format?: PlanFormat;
  /** The worst class of step that is allowed. */
  readonly require?: UndoClass;
  /** The fingerprint of an implausible answer of the cloud that is true. */
  readonly thaw?: string;
  /** What was looked up is looked up again. */
  readonly refreshLookups?: boolean;
  /** What may be lost that a cluster cannot lose by accident. */
  readonly allowRemoval?: readonly Removal[];
}
