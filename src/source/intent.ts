import type { Desired } from "../api/types.js";
import type { Annotations } from "../api/update-policy.js";
import type { MachineAnnotations } from "../records/host-machine.js";
import type { Diagnostic } from "../manifest/diagnostic.js";
import type { Manifests } from "../manifest/desired.js";

/** What a cluster is kept by while some of its objects are wrong. */
export interface KeptGoal {
  readonly desired: Desired;
  /** Why objects are not in it as they are written now, with every reason of each. */
  readonly diagnostics: readonly Diagnostic[];
}

/** What is asked of a cluster beside the contents of its objects. */
export interface IntentDetails {
  readonly positionOf: Manifests["positionOf"];
  /** Derived Machines that somebody deleted: their sets make others. */
  readonly discarded: readonly string[];
  /** What is suspicious about the objects; absent where their source tells of it itself. */
  readonly warnings?: readonly Diagnostic[];
  /** Delete marks on the objects of derived Machines, by their names. */
  readonly deleteMarks?: Readonly<Record<string, Annotations>>;
  /** The same of Machines, derived or not, that say how their deletion goes; absent where nothing holds Machines. */
  readonly liveAnnotations?: MachineAnnotations;
  /** Protected objects that are being deleted and whose annotation was taken away: "Machine default/a". */
  readonly released?: readonly string[];
  /** The cluster's UID as this very object remembers it, for when the state is lost; absent of a copy. */
  readonly clusterUid?: string;
}

/** What is asked of one cluster now, by whatever holds its objects. */
export type Intent = { readonly digest: string } & (
  | { readonly kind: "absent" }
  /** Some of the objects are wrong: the records say by what the cluster is kept until they change. */
  | (IntentDetails & {
      readonly kind: "invalid";
      readonly diagnostics: readonly Diagnostic[];
      /** Undefined where nothing can be kept: then nothing is done. Pure. */
      readonly keptGoal: (accepted: Desired | undefined) => KeptGoal | undefined;
    })
  | { readonly kind: "paused"; readonly reason: string }
  /** Take everything down, then let the objects go. */
  | {
      readonly kind: "remove";
      /** As its object remembers it: of what the cloud may hold although the state is lost. */
      readonly clusterUid?: string;
      /** Name of the provider that its object names; absent: of this release none serves it. */
      readonly provider?: string;
      readonly released?: readonly string[];
      /** How the objects of Machines say that their deletion goes; absent where there are none. */
      readonly liveAnnotations?: MachineAnnotations;
    }
  | (IntentDetails & { readonly kind: "want"; readonly desired: Desired })
);
