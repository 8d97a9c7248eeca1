import { asVerbatim } from "../../api/leaving-text.js";
import { stringify } from "yaml";
import { allDefinitions } from "../../api/identity-crd.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit.js";

/** capstan crds: a CustomResourceDefinition for every kind, as YAML for kubectl apply. */
export function crdsCommand({ json, emit, terminal, providers }: CommandContext): number {
  const definitions = allDefinitions(providers.all);
  if (json) definitions.forEach(emit);
  else {
    const texts = definitions.map((one) => stringify(one, { aliasDuplicateObjects: false }));
    terminal.document(asVerbatim(texts.join("---\n")));
  }
  return exitCodes.done;
}
