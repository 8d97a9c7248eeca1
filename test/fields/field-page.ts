import { fixedFields } from "../../src/api/fixed-fields.js";
import type { Kind } from "../../src/api/schema.js";
import { type FieldEffect, hasEffect } from "./field-effect.js";
import type { FieldTrial } from "./field-trial.js";

/** A trial and what it showed. */
export interface TriedField {
  readonly trial: FieldTrial;
  readonly files: FieldEffect;
  readonly server: FieldEffect;
  /** What a plan says of the change: "update", "delete, replace", "refused: INVALID_INPUT", "". */
  readonly change: string;
}

const head = `# What each field changes

Each row was tried: two clusters on the simulated cloud that differ in this field alone, in files with \`capstan up\` and on an API server with
\`capstan watch\`. _What it changes_ names inputs of the cloud's resources, or what is decided by it. _Changed later_ is what a plan says
when a living cluster's field changes. What is the API server's own (\`uid\`, \`resourceVersion\`, \`generation\`, \`creationTimestamp\`,
\`finalizers\`, \`ownerReferences\`, \`status\`, \`providerID\`, \`timeAdded\`) may stand in files and is ignored there. A test makes this page,
and fails where a field changes nothing.
[Custom resources](custom-resources.md) lists where each annotation of ours is read.
`;

/** docs/fields.md, before it is formatted. Pure. */
export function fieldPage(tried: readonly TriedField[]): string {
  const kinds = [...new Set(tried.map(({ trial }) => trial.kind))];
  return [head, ...kinds.map((kind) => section(kind, tried))].join("\n");
}

function section(kind: Kind, tried: readonly TriedField[]): string {
  const rows = tried.filter(({ trial }) => trial.kind === kind).map(row);
  return [
    `## ${kind}`,
    "",
    "| Field | What it changes | Changed later |",
    "| --- | --- | --- |",
    ...rows,
    "",
  ].join("\n");
}

function row(field: TriedField): string {
  return `| \`${field.trial.field}\` | ${effectText(field)} | ${changeText(field)} |`;
}

function effectText({ trial, files, server }: TriedField): string {
  const effect = hasEffect(files) ? files : server;
  const inputs = effect.inputs.map((input) => `\`${input}\``).join(", ");
  const codes = [...effect.refused, ...effect.warned].map((code) => `\`${code}\``).join(", ");
  const what = trial.decides ?? (inputs === "" ? codes : inputs);
  const { withoutEffect } = trial;
  if (what === "" && withoutEffect === undefined) {
    throw new Error(`the page does not say what ${trial.kind} ${trial.field} decides`);
  }
  if (withoutEffect === undefined) return what;
  return [what, withoutEffect.because].filter((text) => text !== "").join("; ");
}

function changeText({ trial, files, change }: TriedField): string {
  if (trial.withoutEffect?.in === "both") return "nothing";
  const isFixed = fixedFields[trial.kind].some(({ path }) =>
    trial.field.startsWith(path.join(".")),
  );
  if (isFixed || files.refused.length > 0 || change.startsWith("refused")) return "refused";
  switch (change) {
    case "update":
      return "in place";
    case "replace":
      return "new host";
    case "delete, replace":
      return "everything new";
    case "create":
      return "hosts come or go";
    default:
      return isForNewMachines(trial) ? "new Machines only" : "from then on";
  }
}

/** How the deletion of a Machine goes is said of those that there are, too. */
function isForNewMachines({ field, keeps }: FieldTrial): boolean {
  return field.startsWith("spec.template.spec") && keeps === undefined;
}
