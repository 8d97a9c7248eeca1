import { parse } from "yaml";
import { isJsonObject } from "../api/json.js";
import type { MemberPath } from "../api/diagnostic-codes.js";
import { apiVersion } from "../api/schema.js";
import { formerHealthCheck } from "./former-health-check.js";
import type { Respelling } from "./respelling.js";
import { formerTimeouts, secondsOfDuration } from "../api/machine-deletion.js";

type Members = Record<string, unknown>;

/**
 * Rewrites, in place, what the KEP and the first tags spelled otherwise: dnsDomain for
 * serviceDomain, providerConfig (an object with value, or a text that holds the provider's object)
 * for providerSpec; and what v1beta1 of today's Cluster API did: nodeDrainTimeout: 10m for
 * deletion.nodeDrainTimeoutSeconds: 600, and health checks. Returns what was rewritten. Source: docs/cluster-api.md#older-spellings.
 */
export function respell(object: Members): Respelling[] {
  const spec = memberOf(object, "spec");
  if (spec === undefined) return [];
  const template = memberOf(memberOf(spec, "template"), "spec");
  return [
    ...rename(memberOf(spec, "clusterNetwork"), ["spec", "clusterNetwork"], {
      from: "dnsDomain",
      to: "serviceDomain",
    }),
    ...providerConfig(spec, ["spec"]),
    ...providerConfig(template, ["spec", "template", "spec"]),
    ...timeouts(spec, ["spec"]),
    ...timeouts(template, ["spec", "template", "spec"]),
    ...(object["kind"] === "MachineHealthCheck" ? formerHealthCheck(spec) : []),
  ];
}

/** They are the same in the group of today's Cluster API. */
const sameThere: readonly unknown[] = ["MachineDrainRule", "MachineHealthCheck"];

/** What is the same in the group of today's Cluster API is rewritten, in place, as one of ours. */
export function inOurGroup(object: Members): void {
  const isTheirs = /^cluster\.x-k8s\.io\/v1beta[12]$/.test(String(object["apiVersion"]));
  if (sameThere.includes(object["kind"]) && isTheirs) object["apiVersion"] = apiVersion;
}

/** The path at which the user wrote what is now at `path`. */
export function writtenPath(path: MemberPath, respellings: readonly Respelling[]): MemberPath {
  const respelled = respellings.find(({ now }) => now.every((part, at) => path[at] === part));
  if (respelled === undefined) return path;
  return [...respelled.written, ...path.slice(respelled.now.length)];
}

function providerConfig(parent: Members | undefined, path: MemberPath): Respelling[] {
  const respelled = rename(parent, path, { from: "providerConfig", to: "providerSpec" });
  const text = parent?.["providerSpec"];
  if (parent !== undefined && respelled.length > 0 && typeof text === "string") {
    parent["providerSpec"] = { value: parsed(text) };
  }
  return respelled;
}

/** A duration that cannot be read stays the text that it is, and is refused. */
function timeouts(parent: Members | undefined, path: MemberPath): Respelling[] {
  if (parent === undefined) return [];
  return Object.entries(formerTimeouts).flatMap(([from, to]): Respelling[] => {
    const deletion = parent["deletion"] ?? {};
    if (!(from in parent) || !isJsonObject(deletion) || to in deletion) return [];
    const { [from]: written } = parent;
    const seconds = typeof written === "string" ? secondsOfDuration(written) : undefined;
    parent["deletion"] = { ...deletion, [to]: seconds ?? written };
    delete parent[from];
    return [{ written: [...path, from], now: [...path, "deletion", to] }];
  });
}

/** The KEP keeps a serialised object in a string. What cannot be parsed stays text, and is refused. */
function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return text;
  }
}

function rename(
  parent: Members | undefined,
  path: MemberPath,
  { from, to }: { readonly from: string; readonly to: string },
): Respelling[] {
  if (parent === undefined || !(from in parent) || to in parent) return [];
  parent[to] = parent[from];
  delete parent[from];
  return [{ written: [...path, from], now: [...path, to] }];
}

function memberOf(parent: Members | undefined, key: string): Members | undefined {
  const member = parent?.[key];
  return isJsonObject(member) ? member : undefined;
}
