import { CapstanError } from "../api/error.js";
import type { MemberPath } from "../api/diagnostic-codes.js";
import type { ExpandedMachine } from "../sets/expand.js";

/** A change that cannot be made, and of what. */
export interface Refusal {
  /** "Machine cp-0", "LocalNetwork network". */
  readonly subject: string;
  readonly reason: string;
  /** The machine that it is about; absent of what machines share. */
  readonly machine?: Pick<ExpandedMachine, "name" | "owner">;
  /** What asks for it, below the machine's spec: ["versions", "kubelet"]. */
  readonly member?: MemberPath;
}

/** UNSUPPORTED_CHANGE of everything that cannot be changed, a line each. */
export class RefusedChange extends CapstanError {
  /** `placeOf` says where somebody asked for it: "workers.yaml:9:3". */
  constructor(
    readonly refusals: readonly Refusal[],
    readonly remedy: string,
    placeOf: (refusal: Refusal) => string | undefined = () => undefined,
  ) {
    super({
      code: "UNSUPPORTED_CHANGE",
      source: "user",
      message: refusals
        .map((refusal) => {
          const place = placeOf(refusal);
          const line = `cannot change ${refusal.subject}: ${refusal.reason}`;
          return place === undefined ? line : `${place}: ${line}`;
        })
        .join("\n"),
      hint: remedy,
    });
  }
}
