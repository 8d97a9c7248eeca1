import type { JsonObject } from "../api/json.js";
import { secretFieldsIn, withoutSecretFields } from "../api/secret-fields.js";
import { userDataFieldNames } from "../api/user-data-fields.js";
import { secretOutputsOf } from "../provider/secret-fields.js";
import { textsIn } from "../provider/secret-values.js";
import type { Rig } from "./rig.js";
import { checkable, must, offered } from "./subject.js";

/** "keeps what its secret fields hold out of all else that it shows" */
export async function keepsSecrets(rig: Rig): Promise<void> {
  const { provider, kind, handler, context } = rig;
  const inputs = markedInputs(rig);
  const outputs = secretOutputsOf(provider, kind);
  offered(inputs.length + outputs.length > 0, "it marks no field as secret");
  const { who, spec } = await rig.prepare();
  const made = await handler.create(context, who, spec);
  const { spec: seen, status, ...rest } = made;
  const secrets = [...valuesOf(spec, inputs), ...valuesOf(status, outputs)];
  checkable(secrets.length > 0, "the sample leaves its secret fields out");
  const shown = JSON.stringify([
    rest,
    withoutSecretFields(seen, inputs),
    withoutSecretFields(status, outputs),
  ]);
  must(
    !secrets.some((one) => shown.includes(one)),
    "keep what its secret fields hold out of ids, other fields, status and failures",
    `what is shown of ${kind} ${who.name} has it`,
  );
  for (const field of inputs) {
    const changed = provider.verdict(kind, spec, { ...spec, [field]: "another value" });
    const words = JSON.stringify(changed);
    must(
      !valuesOf(spec, [field]).some((one) => words.includes(one)),
      "judge a secret field without repeating it",
      `the verdict on another ${field} has its value`,
    );
  }
}

/** Beside what every provider's hosts have: those are kept by us. */
function markedInputs({ provider, handler, isHost }: Rig): string[] {
  const written = isHost ? secretFieldsIn(provider.machineSpec.schema) : [];
  const marked = [...new Set([...(handler.secretInputs ?? []), ...written])];
  return marked.filter((field) => !userDataFieldNames.includes(field));
}

function valuesOf(object: JsonObject, fields: readonly string[]): string[] {
  return fields.flatMap((field) => textsIn(object[field]));
}
