import { relative } from "node:path";
import { CapstanError } from "../api/error.js";
import { type Desired, stackNameOf } from "../api/types.js";
import { BadInput } from "../manifest/bad-input.js";
import { type Manifests, readDesired } from "../manifest/desired.js";
import type { Diagnostic } from "../manifest/diagnostic.js";
import { readSources } from "../manifest/files.js";
import { noOverrides, type Overrides } from "../manifest/overrides.js";
import type { SourceText } from "../manifest/parse.js";
import type { Variables } from "../manifest/variables.js";
import type { InfrastructureProvider } from "../provider/port.js";

/** One cluster, and where its members were written. */
export interface OneCluster {
  readonly desired: Desired;
  readonly positionOf: Manifests["positionOf"];
}

/** The texts of manifests, named from the project's folder. */
export function textsOf(paths: readonly string[], root: string): SourceText[] {
  return readSources(paths).map(({ file, text }) => ({ file: relative(root, file), text }));
}

/** Throws BadInput for what is wrong with manifests whatever the program's values are. Pure. */
export function checkTexts(
  texts: readonly SourceText[],
  variables: Variables,
  providers: readonly InfrastructureProvider[],
): void {
  const { diagnostics } = readDesired(texts, providers, overridesOf(variables));
  refuseErrors(diagnostics.filter(({ code }) => code !== "VALUE_UNKNOWN"));
}

/** The one cluster of some manifests; `variables`: what the program gives. Throws BadInput and INVALID_INPUT. Pure. */
export function readOne(
  texts: readonly SourceText[],
  variables: Variables | undefined,
  providers: readonly InfrastructureProvider[],
): OneCluster {
  const { clusters, diagnostics, positionOf } = readDesired(
    texts,
    providers,
    overridesOf(variables),
  );
  refuseErrors(diagnostics);
  const [only, ...others] = clusters;
  if (only !== undefined && others.length === 0) return { desired: only, positionOf };
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `a stack holds one cluster, and these manifests hold ${clusters.length}: ${clusters.map(({ cluster: one }) => stackNameOf(one)).join(", ")}`,
    hint: "give each Cluster a folder and a stack of its own",
  });
}

/** The names that texts take values of, sorted. Pure. */
export function namesUsed(texts: readonly SourceText[], names: Iterable<string>): string[] {
  return [...names].filter((name) => texts.some(({ text }) => text.includes(`\${${name}}`))).sort();
}

function overridesOf(variables: Variables | undefined): Overrides {
  return variables === undefined ? noOverrides : { variables, givenBy: "program", settings: [] };
}

function refuseErrors(diagnostics: readonly Diagnostic[]): void {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new BadInput(errors);
}
