import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** A request to an API server as it was answered; a watch when it was opened. */
interface ApiCall {
  /** In the plural, with group and subresource: "machines.cluster.k8s.io/status", "namespaces". */
  readonly resource: string;
  /** As RBAC calls it. */
  readonly verb: string;
  readonly outcome: ApiOutcome;
}

type ApiOutcome =
  | "ok"
  | "conflict"
  | "absent"
  | "denied"
  | "expired"
  | "throttled"
  | "refused"
  | "failed"
  | "unreachable";

interface Sent {
  readonly origin: string;
  readonly method: string;
  readonly path: string;
}

/**
 * Tells of every request that this process sends to the API server with that address, whichever
 * client sends it: generated ones, watches, our own. Answers how to end it. Source: undici's
 * diagnostics channels, through which all of @kubernetes/client-node's requests go.
 */
export function observeApiCalls(server: string, tell: (call: ApiCall) => void): () => void {
  const { origin } = new URL(server);
  const answered = new WeakSet<object>();
  const report = (request: Sent, outcome: ApiOutcome) => {
    if (new URL(request.origin).origin !== origin || answered.has(request)) return;
    answered.add(request);
    tell({ ...callOf(request.method, request.path), outcome });
  };
  const onHeaders = (message: unknown) => {
    const { request, response } = message as { request: Sent; response: { statusCode: number } };
    report(request, outcomeOf(response.statusCode));
  };
  const onError = (message: unknown) => {
    report((message as { request: Sent }).request, "unreachable");
  };
  subscribe("undici:request:headers", onHeaders);
  subscribe("undici:request:error", onError);
  return () => {
    unsubscribe("undici:request:headers", onHeaders);
    unsubscribe("undici:request:error", onError);
  };
}

/** Which resource a request is about, and what it does to it. Pure. */
export function callOf(method: string, path: string): Omit<ApiCall, "outcome"> {
  const { pathname, searchParams } = new URL(path, "https://server");
  const parts = pathname.split("/").filter((part) => part !== "");
  const isGroup = parts[0] === "apis" && parts.length >= 4;
  const isCore = parts[0] === "api" && parts.length >= 3;
  if (!isGroup && !isCore) return { resource: "other", verb: method.toLowerCase() };
  const rest = parts.slice(isGroup ? 3 : 2);
  const isNamespaced = rest[0] === "namespaces" && rest.length >= 3;
  const [resource = "", name, subresource] = isNamespaced ? rest.slice(2) : rest;
  const group = isGroup ? `.${parts[1] ?? ""}` : "";
  const isWatch = ["1", "true"].includes(searchParams.get("watch") ?? "");
  return {
    resource: `${resource}${group}${subresource === undefined ? "" : `/${subresource}`}`,
    verb: verbOf(method, name !== undefined, isWatch),
  };
}

function verbOf(method: string, isNamed: boolean, isWatch: boolean): string {
  switch (method) {
    case "GET":
      return isWatch ? "watch" : isNamed ? "get" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "DELETE":
      return isNamed ? "delete" : "deletecollection";
    default:
      return method.toLowerCase();
  }
}

function outcomeOf(status: number): ApiOutcome {
  if (status < 400) return "ok";
  if (status >= 500) return "failed";
  const named: Readonly<Record<number, ApiOutcome>> = {
    401: "denied",
    403: "denied",
    404: "absent",
    409: "conflict",
    410: "expired",
    429: "throttled",
  };
  return named[status] ?? "refused";
}
