// What all kinds of EC2 have in common: errors have codes, and marks are tags.

import { CapstanError, markedCalls } from "capstan/provider";

const later = { retryable: true, retryAfterMs: 2_000 };

/** By these errors nothing has happened. */
const refusals = [
  [/^(RequestLimitExceeded|Throttling)/, { code: "CLOUD_THROTTLED", ...later }],
  [/^IncorrectInstanceState$/, { code: "CLOUD_FAILED", ...later }],
  [/^InsufficientInstanceCapacity$/, { code: "CAPACITY" }],
  [/^(UnauthorizedOperation|AuthFailure)$/, { code: "PERMISSION" }],
  [/LimitExceeded$/, { code: "QUOTA" }],
  [/^Invalid(Group|SubnetID)\.NotFound$/, { code: "NOT_YET_USABLE" }],
  [/^DependencyViolation$/, { code: "IN_USE" }],
  [/^Invalid(AMIID|Parameter)|\.(Conflict|Duplicate)$/, { code: "INVALID_INPUT" }],
];

/** Asks EC2, unless the user interrupts or the engine has died. Errors that are no refusals may have taken effect. */
export const askerOf = (client) => async (ctx, call, input) => {
  ctx.signal.throwIfAborted();
  await ctx.assertEngineAlive();
  return client[call](input, { abortSignal: ctx.signal }).catch((cause) => {
    const [, refusal] = refusals.find(([name]) => name.test(cause.name)) ?? [];
    const message = `${cause.name}: ${cause.message}`;
    throw refusal ? new CapstanError({ ...refusal, source: "cloud", message, cause }) : cause;
  });
};

/** A resource that is gone needs no removal. */
export const ifThere = (request) =>
  request.catch((error) => {
    if (!/NotFound$/.test((error.cause ?? error).name)) throw error;
  });

const tagsOf = (who) =>
  Object.entries(who).map(([mark, Value]) => ({ Key: `capstan:${mark}`, Value }));

/** Marks in a second call would be missing where the process dies between the two. */
export const tagged = (ResourceType, who) => ({
  TagSpecifications: [{ ResourceType, Tags: [{ Key: "Name", Value: who.name }, ...tagsOf(who)] }],
});

export function whoOf(tags = []) {
  const marks = tags.filter(({ Key }) => Key.startsWith("capstan:"));
  const who = marks.map(({ Key, Value }) => [Key.slice("capstan:".length), Value]);
  return who.length === 0 ? undefined : Object.fromEntries(who);
}

export const filtersOf = (values) =>
  Object.entries(values).map(([Name, value]) => ({ Name, Values: [value].flat() }));

/** The calls that look for one kind and mark it, from its call that describes and its filter by id. */
export const callsOf = (ask, { describe, idFilter, shown }) =>
  markedCalls({
    mostValues: 200,
    shownWithinMs: 2_000,
    async page(ctx, { id, ...marks }, NextToken) {
      const byTags = Object.entries(marks).map(([mark, values]) => [`tag:capstan:${mark}`, values]);
      const query = id ? [[idFilter, id]] : [["tag-key", "capstan:token"], ...byTags];
      const Filters = filtersOf(Object.fromEntries(query));
      const answer = await ask(ctx, describe, { Filters, MaxResults: 1_000, NextToken });
      return { resources: shown(answer), next: answer.NextToken };
    },
    tag: (ctx, id, who) => ask(ctx, "createTags", { Resources: [id], Tags: tagsOf(who) }),
    untag: (ctx, id, who) =>
      ifThere(ask(ctx, "deleteTags", { Resources: [id], Tags: tagsOf(who) })),
  });
