import { counted } from "../api/counted.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { CapstanError } from "../api/error.js";
import { byPosition, type Diagnostic, diagnosticText } from "./diagnostic.js";

/** Manifests that cannot be used: all problems at once, INVALID_INPUT. */
export class BadInput extends CapstanError {
  readonly diagnostics: readonly Diagnostic[];

  /** `hint`: another way that needs no manifests. */
  constructor(diagnostics: readonly Diagnostic[], hint?: string) {
    const ordered = [...diagnostics].sort(byPosition);
    const errors = ordered.filter(({ severity }) => severity === "error").length;
    const count = `${counted(errors, "error")}; nothing was touched`;
    const message = [...ordered.map(diagnosticText), count].join("\n");
    super(
      omitUndefined({ code: "INVALID_INPUT" as const, source: "user" as const, message, hint }),
    );
    this.diagnostics = ordered;
  }
}
