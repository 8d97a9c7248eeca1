import { omitUndefined } from "../api/omit-undefined.js";
import { type CaseDefinition, caseDefinitions } from "./cases.js";
import { Rig } from "./rig.js";
import { originOf, thrownText } from "./seen.js";
import {
  ConformanceFailure,
  type ConformanceSubject,
  type KindFailure,
  NoVerdict,
  type WithoutVerdict,
} from "./subject.js";

/** What came of a case that did not fail. */
export type Checked =
  | {
      readonly outcome: "passed";
      /** What could not be checked, and why: "LocalNetwork: the world cannot change its cidr". */
      readonly exceptFor: readonly string[];
    }
  | { readonly outcome: WithoutVerdict; readonly reason: string };

/** One thing that every provider must do. */
export interface ConformanceCase {
  readonly name: string;
  /**
   * Answers what was checked: nothing may count as passed that was not. Rejects with a ConformanceFailure that says
   * what the provider must do and what it did, of each kind that failed.
   */
  readonly run: () => Promise<Checked>;
}

/** What a run tells while it goes on. */
export interface ConformanceProgress {
  readonly name: string;
  /** The kind that begins now. */
  readonly kind: string;
}

export interface ConformanceOptions {
  /**
   * How long a case may go on with one kind while no call of the provider ends, and how much processor time it may take. A machine
   * that is busy with other things does not use it up. 60,000 without.
   */
  readonly timeoutMs?: number;
  readonly progress?: (now: ConformanceProgress) => void;
}

const defaultTimeoutMs = 60_000;

/**
 * The cases for one provider, in a fixed order, each on worlds of its own. Register them with any framework, and skip
 * what was not checked: docs/providers.md shows how.
 */
export function conformanceCases(
  subject: ConformanceSubject,
  options: ConformanceOptions = {},
): ConformanceCase[] {
  const { timeoutMs = defaultTimeoutMs } = options;
  let kinds: Promise<Kinds> | undefined;
  const kindsOnce = () => (kinds ??= Rig.use(subject, { timeoutMs }, kindsOf));
  const firsts = new Map<string, string>();
  return caseDefinitions.map((definition) => ({
    name: definition.name,
    run: async () => {
      try {
        return await runCase(subject, definition, await kindsOnce(), options);
      } catch (error) {
        throw error instanceof ConformanceFailure ? asAFollower(error, definition, firsts) : error;
      }
    },
  }));
}

/** The same failure, which says where its cause was met first: with many kinds one cause fails many cases. */
function asAFollower(
  failure: ConformanceFailure,
  { name }: CaseDefinition,
  firsts: Map<string, string>,
): ConformanceFailure {
  const before = new Set<string>();
  for (const { kind, origin } of failure.failures) {
    if (origin === undefined) continue;
    const first = firsts.get(origin);
    if (first === undefined) firsts.set(origin, `"${name}" with ${kind}`);
    else if (!first.startsWith(`"${name}"`)) before.add(first);
  }
  if (before.size === 0) return failure;
  const message = `${failure.message}\nfirst met in ${[...before].join(" and ")}`;
  return new ConformanceFailure(message, { cause: failure.cause }, failure.failures);
}

interface Kinds {
  readonly hostKind: string;
  /** Those that the sample needs. */
  readonly used: readonly string[];
  /** Those that the provider serves and the sample does not need. */
  readonly unused: readonly string[];
}

async function kindsOf(rig: Rig): Promise<Kinds> {
  const used = rig.kinds();
  const { hostKind, handlers } = rig.provider;
  return { hostKind, used, unused: [...handlers.keys()].filter((kind) => !used.includes(kind)) };
}

/** All kinds, whatever becomes of one of them: who mends a provider wants to see all of it. */
async function runCase(
  subject: ConformanceSubject,
  { name, each, work }: CaseDefinition,
  { hostKind, used, unused }: Kinds,
  { timeoutMs = defaultTimeoutMs, progress }: ConformanceOptions,
): Promise<Checked> {
  const kinds = each === "kind" ? used : [hostKind];
  const failures: KindFailure[] = [];
  let firstCause: unknown;
  const open: Open[] = [];
  const exceptFor: string[] = [];
  for (const kind of kinds) {
    progress?.({ name, kind });
    const about = kinds.length > 1 ? `${kind}: ` : "";
    try {
      const exceptions = await Rig.use(subject, { kind, timeoutMs }, async (rig) => {
        await work(rig);
        return rig.exceptions;
      });
      exceptFor.push(...exceptions.map((one) => `${about}${one}`));
    } catch (error) {
      if (error instanceof NoVerdict) open.push({ about, error });
      else {
        firstCause ??= error;
        const origin = originOf(error);
        failures.push(omitUndefined({ kind, message: `${about}${textFor(name, error)}`, origin }));
      }
    }
  }
  if (failures.length > 0) {
    const messages = failures.map(({ message }) => message).join("\n");
    throw new ConformanceFailure(messages, { cause: firstCause }, failures);
  }
  if (open.length === kinds.length) return withoutVerdict(open);
  const missing = each === "kind" ? unused.map((kind) => `${kind}: the sample needs none`) : [];
  return { outcome: "passed", exceptFor: [...exceptFor, ...open.map(textOf), ...missing] };
}

/** A kind that has no verdict. */
interface Open {
  readonly about: string;
  readonly error: NoVerdict;
}

function textOf({ about, error }: Open): string {
  return `${about}${error.message}`;
}

/** The reason is said once where it holds for every kind. */
function withoutVerdict(open: readonly Open[]): Checked {
  const isOffered = open.some(({ error }) => error.outcome === "notChecked");
  const reasons = new Set(open.map(({ error }) => error.message));
  const texts = reasons.size === 1 ? [...reasons] : open.map(textOf);
  return { outcome: isOffered ? "notChecked" : "notOffered", reason: texts.join("; ") };
}

/** What the product itself cannot do with a provider is a failure of the provider too. */
function textFor(name: string, error: unknown): string {
  if (error instanceof ConformanceFailure) return error.message;
  return `a provider must be one that ${name}: ${thrownText(error)}`;
}
