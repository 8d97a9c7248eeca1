// Requests of AWS's protocols as calls of the simulator.

import { serviceNameOf } from "./services.js";
import { signatureOf } from "./signature.js";
import { type ParamTree, treeOf, treeOfJson } from "./protocol/params.js";
import type { SimCall } from "./simulated-aws.js";

/** An HTTP request, its body read. */
export interface HttpRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** The call in a request of the Query protocol or of JSON 1.1; undefined: it is none. Pure. */
export function callOf({ path, headers, body }: HttpRequest, home: string): SimCall | undefined {
  const query = new URL(path, "http://localhost").searchParams;
  const signature = signatureOf(textOf(headers["authorization"]), query);
  const target = textOf(headers["x-amz-target"]);
  const { accessKey = "", region = home, service } = signature ?? {};
  if (target !== undefined) {
    const action = target.slice(target.lastIndexOf(".") + 1);
    const parameters = jsonParameters(body);
    if (service === undefined || parameters === undefined) return undefined;
    return { service, action, parameters, accessKey, region };
  }
  const form = new URLSearchParams(body);
  const { Action: action, Version: version, ...flat } = Object.fromEntries([...query, ...form]);
  if (action === undefined) return undefined;
  const sent = Object.entries(flat).filter(([name]) => !name.startsWith("X-Amz-"));
  const parameters = treeOf(Object.fromEntries(sent));
  // What a workload proves its identity with is not signed.
  const unsigned = action === "AssumeRoleWithWebIdentity" ? "sts" : undefined;
  const known = service ?? unsigned;
  return known === undefined
    ? undefined
    : { service: serviceNameOf(known, version), action, parameters, accessKey, region };
}

function jsonParameters(body: string): ParamTree | undefined {
  try {
    return treeOfJson(JSON.parse(body === "" ? "{}" : body));
  } catch {
    return undefined;
  }
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.[0];
}
