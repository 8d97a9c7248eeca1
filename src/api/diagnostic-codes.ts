/** Every stable code of a diagnostic, with what it means. docs/errors.md is generated from this table. */
export const diagnosticCodes = {
  BAD_FORMAT: "A text does not have the form that its field needs.",
  CIDR_OVERLAP: "Two address ranges of one cluster share addresses.",
  CLASS_UNKNOWN: "valueFrom names a MachineClass that is not in these manifests.",
  CLUSTER_GONE: "A cluster that was applied from these manifests is no longer in them.",
  CLUSTER_MISSING: "An object belongs to no Cluster, or to one that is not in these manifests.",
  DUPLICATE:
    "Two objects have the same kind, namespace and name, or two taints the same key and effect.",
  FIELD_MISSING: "A field that is needed is not there.",
  FIELD_UNKNOWN: "A field that nobody knows.",
  HOST_NETWORK: "The hosts' network shares addresses with Services or Pods.",
  IDENTITY_REFUSED:
    "The identity that a Cluster names is not for its namespace, or not to be named.",
  IDENTITY_UNKNOWN: "The identity that a Cluster names is not there.",
  IMMUTABLE: "A field changed that cannot change while the object lives.",
  NAME_CLASH: "A Machine and a set would make two Machines of one name.",
  NAME_MADE: "An object has generateName and no name: one is made of it, the same each time.",
  NOT_ALLOWED: "A value is not among the allowed ones or out of range.",
  NO_EFFECT:
    "A field or an annotation changes nothing where it stands, or nothing on its provider.",
  OLD_SPELLING: "An older spelling was understood; write the present one.",
  PROVIDER_CONVERSION:
    "A provider cannot convert an object of one of its older versions to the next one.",
  PROVIDER_DEPRECATED: "An apiVersion that its provider has deprecated; write the newer one.",
  PROVIDER_MISMATCH:
    "A Machine and its Cluster, or a class and who names it, are of different providers.",
  PROVIDER_SPEC: "providerSpec needs exactly one of value and valueFrom.",
  PROVIDER_UNKNOWN: "No provider of this release has that apiVersion or kind.",
  ROLE_MISMATCH: "roles contradict versions.controlPlane, or name one role twice.",
  SELECTOR:
    "A selector is empty, malformed, does not match its own template, or matches Machines that are not its set's.",
  SETTING: "--set names no object, several, or a path that cannot be set.",
  STACK_NAME: "A stack's name would be too long and is shortened.",
  UNKNOWN_OBJECT: "An apiVersion or kind that this release does not read.",
  UNSUPPORTED_CONFIGURATION: "A version or a container runtime that the provider does not have.",
  USER_DATA: "No user data can be made for the host of a machine, or none that its cloud takes.",
  VALUE_UNKNOWN:
    "A program's value is known only after other resources are made, and a plan has to know it.",
  VARIABLE: "A variable in a manifest is not allowed, has no value, or is not written as one.",
  VERSION_SKEW: "A kubelet is newer than the control plane, or too old for it.",
  WRONG_TYPE: "A value is of another type than its field.",
  YAML: "The text is not valid YAML.",
} as const;

export type DiagnosticCode = keyof typeof diagnosticCodes;

/** Leads from an object's root to a member. */
export type MemberPath = readonly (string | number)[];

/** A violated rule. `path` leads to the member, or to the parent of a missing one. */
export interface Violation {
  readonly code: DiagnosticCode;
  readonly path: MemberPath;
  /** What is wrong, in a few words. */
  readonly summary: string;
  /** Why it matters, in full sentences, where that helps. */
  readonly detail?: string;
  /** The next action. */
  readonly hint?: string;
  /**
   * Of a number or a truth value where text has to stand: what is to be added to the hint. A reader that knows
   * the source shows that, as 1.30 is 1.3 once it is parsed.
   */
  readonly bare?: { readonly advice: string };
  /** What has to stand there, of a value that neither a list nor an object may be short for. */
  readonly wanted?: "list" | "object";
}
