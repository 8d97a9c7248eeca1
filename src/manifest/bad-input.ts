import { counted } from "../api/counted.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { CapstanError } from "../api/error.js";
import { byPosition, type Diagnostic, diagnosticText } from "./diagnostic.js";

/** So many problems are told in a text: a person mends those and looks again. */
const mostShown = 30;

/** Manifests that cannot be used: all problems at once, INVALID_INPUT. */
export class BadInput extends CapstanError {
  readonly diagnostics: readonly Diagnostic[];

  /** `hint`: another way that needs no manifests. */
  constructor(diagnostics: readonly Diagnostic[], hint?: string) {
    const ordered = [...diagnostics].sort(byPosition);
    const errors = ordered.filter(({ severity }) => severity === "error");
    const count = `${counted(errors.length, "error")}; nothing was touched`;
    const few = ordered.length <= mostShown ? ordered : errors.slice(0, mostShown);
    const shown = few.map(diagnosticText);
    const rest = ordered.length - shown.length;
    const more = rest === 0 ? [] : [`... and ${rest} more; --json has all of them`];
    const message = [...shown, ...more, count].join("\n");
    super(
      omitUndefined({ code: "INVALID_INPUT" as const, source: "user" as const, message, hint }),
    );
    this.diagnostics = ordered;
  }
}
