import assert from "node:assert/strict";
import { ApiException } from "@kubernetes/client-node";
import { mayPass, saidBy, statusOf } from "../../src/kube/requests.js";

describe("what is said of a request to an API server", () => {
  const refused = (code: number, body: unknown) => new ApiException(code, "", body, {});
  const timeout = Object.assign(new Error("aborted"), { name: "TimeoutError" });
  const cases: {
    name: string;
    error: unknown;
    want: [status: number, said: string, mayPass: boolean];
  }[] = [
    {
      name: "a refusal, in the words of its Status",
      error: refused(403, '{"kind":"Status","message":"you may not"}'),
      want: [403, "you may not", false],
    },
    {
      name: "a Status that was parsed before",
      error: refused(409, { kind: "Status", message: "too late" }),
      want: [409, "too late", false],
    },
    { name: "no Status", error: refused(502, "<html>"), want: [502, "HTTP 502", true] },
    { name: "a Status without words", error: refused(404, "{}"), want: [404, "HTTP 404", false] },
    { name: "no body", error: refused(500, undefined), want: [500, "HTTP 500", true] },
    { name: "too many requests", error: refused(429, "{}"), want: [429, "HTTP 429", true] },
    {
      name: "a stranger",
      error: refused(401, undefined),
      want: [401, "it does not know who asks", false],
    },
    {
      name: "no connection, by its cause",
      error: new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED ::1:1") }),
      want: [0, "connect ECONNREFUSED ::1:1", true],
    },
    { name: "no answer", error: timeout, want: [0, "no answer within 15 s", true] },
    { name: "anything else", error: new Error("odd"), want: [0, "odd", true] },
  ];
  for (const { name, error, want } of cases) {
    it(name, () => assert.deepEqual([statusOf(error), saidBy(error), mayPass(error)], want));
  }
});
