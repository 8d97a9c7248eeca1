import { nearest } from "./validate.js";

/** What a template of user data can be filled with. Source: docs/bootstrap.md#what-else-a-host-gets. */
const names = [
  "bootstrapScript",
  "clusterName",
  "role",
  "kubernetesVersion",
  "kubeletVersion",
] as const;

type TemplateVariable = (typeof names)[number];

interface TemplateFault {
  readonly summary: string;
  readonly hint: string;
}

/** What keeps a template from being filled. Pure. */
export function templateFaults(template: string): TemplateFault[] {
  const lines = template.split("\n");
  const unknown = lines.flatMap((line, at) =>
    [...line.matchAll(opening)].flatMap(({ 1: written, 2: name }) =>
      isVariable(name) ? [] : [unknownVariable(at + 1, written ?? "", name)],
    ),
  );
  const isComplete = [...template.matchAll(opening)].some(
    ({ 2: name }) => name === "bootstrapScript",
  );
  return isComplete
    ? unknown
    : [
        ...unknown,
        {
          summary: "has no {{ bootstrapScript }}",
          hint: "without it no host becomes a node; write it where our script goes",
        },
      ];
}

/** Every opening of a variable, as it is written, and its name where it is one. */
const opening = /(\{\{(?:\s*([A-Za-z]\w*)\s*\}\}|[^}\n]{0,20}\}{0,2}))/g;

function isVariable(name: string | undefined): name is TemplateVariable {
  return names.some((one) => one === name);
}

function unknownVariable(line: number, written: string, name = ""): TemplateFault {
  const near = nearest(name, names);
  return {
    summary: `line ${line} of it has ${written}, which is no variable`,
    hint: near === undefined ? `known: ${names.join(", ")}` : `did you mean {{ ${near} }}?`,
  };
}

/** A template that has no fault, with values in the places of those variables. Pure. */
export function filledTemplate(
  template: string,
  values: Readonly<Partial<Record<TemplateVariable, string>>>,
): string {
  return template.replace(
    opening,
    (written: string, _, name: string | undefined) =>
      (isVariable(name) ? values[name] : undefined) ?? written,
  );
}
