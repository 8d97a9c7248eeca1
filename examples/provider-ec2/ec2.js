// What all kinds of EC2 have in common: errors have codes, and marks are tags.

import { CapstanError, markedCalls } from "capstan/provider";

const busy = { code: "CLOUD_THROTTLED", retryable: true, retryAfterMs: 2_000 };
const passing = { code: "CLOUD_FAILED", retryable: true };

/** By these errors nothing has happened. */
const refusals = [
  [/^(RequestLimitExceeded|Throttling)/, busy],
  [/^IncorrectInstanceState$/, passing],
  [/^InsufficientInstanceCapacity$/, { code: "CAPACITY" }],
  [/^(UnauthorizedOperation|AuthFailure)$/, { code: "PERMISSION" }],
  [/LimitExceeded$/, { code: "QUOTA" }],
  [/^Invalid(Group|SubnetID)\.NotFound$/, { code: "NOT_YET_USABLE" }],
  [/^DependencyViolation$/, { code: "IN_USE" }],
  [/^Invalid(AMIID|Parameter)|\.(Conflict|Duplicate)$/, { code: "INVALID_INPUT" }],
];

/** Asks EC2, unless whoever asked for it was interrupted or has died. Other errors may have taken effect. */
export const askerOf = (client) => async (ctx, call, input) => {
  ctx.signal.throwIfAborted();
  ctx.assertEngineAlive();
  return client[call](input, { abortSignal: ctx.signal }).catch((cause) => {
    const [, refusal] = refusals.find(([name]) => name.test(cause.name)) ?? [];
    const message = `${cause.name}: ${cause.message}`;
    throw refusal ? new CapstanError({ ...refusal, source: "cloud", message, cause }) : cause;
  });
};

/** What is not there any more needs no removal. */
export async function ifThere(request) {
  await request.catch((error) => {
    if (!/NotFound$/.test((error.cause ?? error).name)) throw error;
  });
}

const tagsOf = (who) =>
  Object.entries(who).map(([mark, Value]) => ({ Key: `capstan:${mark}`, Value }));

/** Marks in a second call would be missing where the process dies between the two. */
export const tagged = (ResourceType, who) => ({
  TagSpecifications: [{ ResourceType, Tags: [{ Key: "Name", Value: who.name }, ...tagsOf(who)] }],
});

export function whoOf(tags = []) {
  const marks = tags.filter(({ Key }) => Key.startsWith("capstan:"));
  if (marks.length === 0) return undefined;
  return Object.fromEntries(marks.map(({ Key, Value }) => [Key.slice("capstan:".length), Value]));
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
      const all = { "tag-key": "capstan:token", ...Object.fromEntries(byTags) };
      const Filters = filtersOf(id === undefined ? all : { [idFilter]: id });
      const answer = await ask(ctx, describe, { Filters, MaxResults: 1_000, NextToken });
      return { resources: shown(answer), next: answer.NextToken };
    },
    tag: (ctx, id, who) => ask(ctx, "createTags", { Resources: [id], Tags: tagsOf(who) }),
    untag: (ctx, id, who) =>
      ifThere(ask(ctx, "deleteTags", { Resources: [id], Tags: tagsOf(who) })),
  });
