import { pino, type DestinationStream, type Logger } from "pino";
import pc from "picocolors";
import { boundedRedaction } from "../api/bounded-text.js";
import { isCapstanError, messageOf } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { linesOf, quoted } from "../api/quoted.js";
import type { LogLevel } from "./log-levels.js";
import { isSecretName } from "../api/scrubber.js";
import { visible } from "../api/visible.js";

export type { LogLevel };

/** What a line may say about where it belongs. Field names are stable; docs/operations.md lists them. */
interface LogFields {
  /** "<namespace>/<name>". */
  readonly cluster?: string;
  readonly stack?: string;
  /** Number of the transaction. */
  readonly transaction?: number;
  /** Number of the revision. */
  readonly revision?: number;
  /** Which pass of the transaction. */
  readonly pass?: number;
  /** Who leads. */
  readonly leader?: string;
}

export type LogDetail = LogFields &
  Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Structured log lines. */
export interface Log {
  debug(message: string, detail?: LogDetail): void;
  info(message: string, detail?: LogDetail): void;
  warn(message: string, detail?: LogDetail, error?: unknown): void;
  error(message: string, detail?: LogDetail, error?: unknown): void;
  /** The same log with these fields in every line. */
  with(fields: LogFields): Log;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** Text for people instead of JSON lines. */
  readonly pretty?: boolean;
  readonly colors?: boolean;
  /** Takes secrets out of every text of a line. */
  readonly redact: (text: string) => string;
  write(line: string): void;
}

/** How deep causes of errors are told. */
const deepestCause = 4;

/** A log that writes JSON lines, or text that says on each line when, how grave and about whom. */
export function createLog(options: LogOptions): Log {
  const colors = pc.createColors(options.colors ?? false);
  const redact = boundedRedaction(options.redact);
  const stream: DestinationStream = {
    write: (line) => {
      const clean = JSON.parse(line, (name, value: unknown) => {
        if (typeof value !== "string") return value;
        return isSecretName(name) ? "[redacted]" : visible(redact(value));
      }) as Line;
      const text = options.pretty === true ? prettyText(clean, colors) : JSON.stringify(clean);
      options.write(`${text}\n`);
    },
  };
  const logger = pino(
    {
      level: options.level,
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    stream,
  );
  return logOn(logger);
}

function logOn(logger: Logger): Log {
  const line =
    (level: LogLevel) =>
    (message: string, detail: LogDetail = {}, error?: unknown) => {
      const fields = error === undefined ? detail : { ...detail, error: errorFields(error) };
      logger[level](fields, message);
    };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    with: (fields) => logOn(logger.child(fields)),
  };
}

/**
 * What a line says about an error: chosen fields, never whatever the error carries, since errors of
 * child processes carry their environment. Pure.
 */
export function errorFields(error: unknown, depth = 0): Readonly<Record<string, unknown>> {
  const cause = error instanceof Error && depth < deepestCause ? error.cause : undefined;
  return omitUndefined({
    ...ownFieldsOf(error),
    message: messageOf(error),
    cause: cause === undefined ? undefined : errorFields(cause, depth + 1),
  });
}

function ownFieldsOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!isCapstanError(error)) return error instanceof Error ? { type: error.name } : {};
  const { code, source, retryable, subject, hint } = error;
  return omitUndefined({ code, source, retryable, subject, hint });
}

interface Line {
  readonly level: string;
  readonly time: string;
  readonly message: string;
  readonly cluster?: string;
  readonly error?: { readonly message: string; readonly hint?: string };
}

function prettyText(line: Line, colors: ReturnType<typeof pc.createColors>): string {
  const { level, time, message, cluster, error, ...rest } = line;
  const paint =
    { warn: colors.yellow, error: colors.red, debug: colors.dim }[level] ??
    ((text: string) => text);
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${String(value)}`);
  const head = [
    colors.dim(time.slice(11, 19)),
    ...(level === "info" ? [] : [paint(level)]),
    ...(cluster === undefined ? [] : [colors.cyan(cluster)]),
  ];
  const said = error === undefined ? message : `${message} - ${quoted(error.message)}`;
  const [first = "", ...further] = linesOf(said).map(paint);
  const hint = error?.hint === undefined ? [] : [`(${error.hint})`];
  const words = [...head, first, ...hint, colors.dim(fields.join(" "))];
  const lines = [words.filter((word) => word !== ""), ...further.map((line) => [...head, line])];
  return lines.map((line) => line.join(" ")).join("\n");
}
