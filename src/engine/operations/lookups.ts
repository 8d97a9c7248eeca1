import { CapstanError, isCapstanError, messageOf } from "../../api/error.js";
import { isJsonObject, type JsonObject } from "../../api/json.js";
import { clusterNameOf, type Desired } from "../../api/types.js";
import { type AskedQuestion, isAnswerable, questionsOf } from "../../compile/lookups.js";
import { mapBounded } from "../../provider/bounded.js";
import type { CallContext, InfrastructureProvider, Lookups } from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { looksAtATime, reading } from "../run/observe.js";

interface LookupRequest {
  readonly provider: InfrastructureProvider;
  readonly desired: Desired;
  readonly prior: PriorState;
  readonly context: CallContext;
  /** What is recorded is asked again. */
  readonly refresh: boolean;
  /** Answers that count before all others: nobody is asked for them. */
  readonly answers?: Lookups;
}

/**
 * Answers to everything that objects and recorded machines ask, as they are recorded; what has no recorded answer is
 * asked. Only reads. Throws what a question failed with, named by who asks: all that failed, at once.
 */
export async function lookedUp(request: LookupRequest): Promise<Lookups> {
  const { provider, desired, prior, context, refresh, answers: given = {} } = request;
  if (provider.resolve === undefined) return {};
  const recorded: Lookups = {
    ...prior.revision?.target.lookups,
    ...prior.transaction?.target.lookups,
  };
  const machines = (prior.transaction?.target.machines ?? []).map((machine) => ({
    by: `Machine ${machine.name}`,
    machine,
  }));
  const questions = questionsOf(provider, desired, machines);
  const open = questions.filter(
    ({ key, question }) =>
      given[key] === undefined &&
      (refresh || recorded[key] === undefined) &&
      isAnswerable(question),
  );
  const failures: CapstanError[] = [];
  const answers = await mapBounded(open, looksAtATime, async (asked) => {
    try {
      return [asked.key, await answerTo(asked, provider, context)] as const;
    } catch (error) {
      if (!isCapstanError(error) || context.signal.aborted) throw error;
      failures.push(asLookupFailure(error, asked));
      return [asked.key, {}] as const;
    }
  });
  refuseFailed(failures, clusterNameOf(desired.cluster));
  return { ...recorded, ...Object.fromEntries(answers), ...given };
}

async function answerTo(
  { question }: AskedQuestion,
  provider: InfrastructureProvider,
  context: CallContext,
): Promise<JsonObject> {
  const answer: unknown = await reading(context, async () => provider.resolve?.(context, question));
  if (isJsonObject(answer)) return answer;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `provider ${provider.name} answers with something that is no object`,
    hint: "report it to the provider's author",
  });
}

function asLookupFailure(error: CapstanError, { by }: AskedQuestion): CapstanError {
  const { code, source, hint, retryable } = error;
  const what = { code, source, retryable, cause: error };
  const message = `cannot look up what ${by.join(", ")} needs: ${messageOf(error)}`;
  return new CapstanError({ ...what, message, hint: `nothing was changed${suffix(hint)}` });
}

function suffix(hint: string | undefined): string {
  return hint === undefined ? "" : `; ${hint}`;
}

function refuseFailed(failures: readonly CapstanError[], subject: string): void {
  const [first] = failures;
  if (first === undefined) return;
  const { code, source, hint, retryable } = first;
  throw new CapstanError({
    code,
    source,
    subject,
    message: failures.map(({ message }) => message).join("\n"),
    hint: hint ?? "nothing was changed",
    retryable,
    cause: first,
  });
}
