import { CapstanError } from "../../api/error.js";
import { lostKeysHint } from "../../records/recorded-keys.js";
import type { Identity } from "../../provider/port.js";

// Why nothing is made of a host that would be a node.

/** UNKNOWN_PRESENCE, retryable: a host has to be told where to join. */
export function noEndpoint({ cluster, name }: Identity): CapstanError {
  return new CapstanError({
    code: "UNKNOWN_PRESENCE",
    source: "cloud",
    subject: name,
    message: `cannot tell host ${name} where the API server of ${cluster} answers: the cloud does not show it yet`,
    retryable: true,
  });
}

/** NOT_FOUND: nobody can sign for a host. */
export function noKeys({ cluster, name }: Identity): CapstanError {
  return new CapstanError({
    code: "NOT_FOUND",
    source: "user",
    subject: name,
    message: `cannot make host ${name} a node: the state of ${cluster} holds no keys`,
    hint: lostKeysHint,
  });
}

/** CONTROL_PLANE_LOST: a member would begin a second cluster. */
export function controlPlaneLost({ cluster, name }: Identity): CapstanError {
  return new CapstanError({
    code: "CONTROL_PLANE_LOST",
    source: "cloud",
    subject: cluster,
    message: `cannot make host ${name}: the control plane of ${cluster} has run, and no member of it is left to join`,
    hint: "a new one would begin another cluster under its name; capstan destroy removes what is left, and capstan up makes it anew",
  });
}
