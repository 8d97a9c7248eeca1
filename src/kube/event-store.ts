import { CustomObjectsApi, type KubeConfig, PatchStrategy } from "@kubernetes/client-node";
import { omitUndefined } from "../api/omit-undefined.js";
import { microTime, statusOf, until } from "./requests.js";
import { fitNote, type EventRequest, type Regarding } from "./event-names.js";
import { EventRefused, type EventStore } from "./events.js";

const group = "events.k8s.io";
const version = "v1";
const plural = "events";
/** Who reports, in every Event of ours. */
const reportingController = "capstan.dev/controller";
const refusals = [400, 403, 404, 413, 422];
const callTimeoutMs = 10_000;
/** Also of reportingInstance. */
const longestField = 128;

interface EventObject {
  readonly eventTime?: string;
  readonly series?: { readonly count?: number };
}

/** Events in an API server, of an object in the object's own namespace. */
export function eventsInApiServer(config: KubeConfig, instance: string): EventStore {
  const api = config.makeApiClient(CustomObjectsApi);
  const place = (regarding: Regarding) => ({
    group,
    version,
    plural,
    namespace: namespaceOf(regarding),
  });
  const limit = () => AbortSignal.timeout(callTimeoutMs);
  return {
    create: async (name, event, atMs) => {
      const body = eventOf(name, event, { atMs, instance });
      const at = place(event.regarding);
      const made = await orNone(409, () =>
        api.createNamespacedCustomObject({ ...at, body }, until(limit())),
      );
      return made !== undefined;
    },
    find: async (name, regarding) => {
      const found = await orNone(404, () =>
        api.getNamespacedCustomObject({ ...place(regarding), name }, until(limit())),
      );
      if (found === undefined) return undefined;
      const { eventTime, series } = found as EventObject;
      return { count: series?.count ?? 1, atMs: Date.parse(eventTime ?? "") };
    },
    patchSeries: async (name, regarding, { count, lastObservedMs }) => {
      const body = { series: { count, lastObservedTime: microTime(lastObservedMs) } };
      const patched = await orNone(404, () =>
        api.patchNamespacedCustomObject(
          { ...place(regarding), name, body },
          until(limit(), PatchStrategy.MergePatch),
        ),
      );
      return patched !== undefined;
    },
  };
}

/** Events of objects outside namespaces live in the default one. */
function namespaceOf({ namespace }: Regarding): string {
  return namespace === "" ? "default" : namespace;
}

function eventOf(
  name: string,
  { regarding, type, reason, action, note }: EventRequest,
  by: { readonly atMs: number; readonly instance: string },
): object {
  const { namespace, ...rest } = regarding;
  return {
    apiVersion: `${group}/${version}`,
    kind: "Event",
    metadata: { name },
    eventTime: microTime(by.atMs),
    reportingController,
    reportingInstance: by.instance.slice(0, longestField),
    type,
    reason: reason.slice(0, longestField),
    action: action.slice(0, longestField),
    note: fitNote(note),
    regarding: omitUndefined({ ...rest, namespace: namespace === "" ? undefined : namespace }),
  };
}

/** Undefined on `status`; refusals for what was sent, or for who sent it, are EventRefused. */
async function orNone(status: number, call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    const found = statusOf(error);
    if (found === status) return undefined;
    // Also where the namespace is gone (404) or going (403).
    if (!refusals.includes(found)) throw error;
    throw new EventRefused(`refused with ${found}`, { cause: error });
  }
}
