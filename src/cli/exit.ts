import { CapstanError, type ErrorDetails, isCapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";

/** Exit codes of every command. docs/cli.md lists them for users. */
export const exitCodes = {
  done: 0,
  failed: 1,
  changesPending: 2,
  incomplete: 3,
  piecesKept: 4,
  locked: 5,
  planStale: 6,
  badUsage: 64,
  badInput: 65,
  interrupted: 130,
} as const;

/** A failure whose exit code says what it left behind. */
export class CommandFailure extends CapstanError {
  constructor(
    readonly exitCode: number,
    failure: CapstanError,
    words: Pick<ErrorDetails, "message" | "hint"> = omitUndefined({
      message: failure.message,
      hint: failure.hint,
    }),
  ) {
    super({ code: failure.code, source: failure.source, ...words, cause: failure });
  }
}

/** The exit code for an error that ended a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFailure) return error.exitCode;
  if (!isCapstanError(error)) return exitCodes.failed;
  return byCode[error.code] ?? exitCodes.failed;
}

const byCode: Partial<Record<CapstanError["code"], number>> = {
  LOCKED: exitCodes.locked,
  AMBIGUOUS_OWNER: exitCodes.locked,
  NOT_OWNER: exitCodes.locked,
  FROZEN: exitCodes.locked,
  WRONG_CLOUD: exitCodes.locked,
  BAD_USAGE: exitCodes.badUsage,
  NOT_CONFIRMED: exitCodes.badUsage,
  INVALID_INPUT: exitCodes.badInput,
  KUBECONFIG: exitCodes.badInput,
  UNSUPPORTED_CHANGE: exitCodes.badInput,
  PROTECTED: exitCodes.badInput,
  PLAN_STALE: exitCodes.planStale,
  NOT_REVERSIBLE: exitCodes.badInput,
  CANCELLED: exitCodes.interrupted,
};
