import { isCapstanError } from "../../../src/api/error.js";
import { sameJson } from "../../../src/api/json.js";
import type { Phase } from "../../../src/provider/port.js";
import { cases } from "../defects.js";
import { ComputeError, type Instance } from "./compute.js";
import { shown } from "./defects.js";
import { asked, handleOf, notYet, placeOf } from "./hosts.js";
import type { GceDefect } from "./world.js";

/** Further defects for the cases that the trial has led to. */
export const ownGceDefects: Readonly<Record<string, readonly [string, GceDefect]>> = {
  "loses what only a control plane has": [
    cases.member,
    shown(({ spec: { controlPlane: _lost, ...spec } }) => ({ spec })),
  ],
  "takes every member for a worker": [
    cases.member,
    shown(({ spec }) => ({ spec: { ...spec, role: "worker" } })),
  ],
  "a look takes a zone that gives no answer for one without": [
    cases.partial,
    (_good, compute) => ({
      look: ({ signal }, zone, key) =>
        compute.get(zone, key, signal).catch((error: unknown) => {
          if (error instanceof ComputeError && error.status >= 404) return undefined;
          return asked(Promise.reject(error as Error));
        }),
    }),
  ],
  "a listing that is refused is empty": [
    cases.denied,
    (good) => ({
      list: (ctx) =>
        good.list(ctx).catch((error: unknown) => {
          if (isCapstanError(error) && error.code === "PERMISSION") return [];
          throw error;
        }),
    }),
  ],
  "a create puts its marks on what has its name": [
    cases.namesakes,
    (good, compute) => ({
      taken: async (ctx, who, zone) => {
        compute.instances = compute.instances.map((one) =>
          one.name === good.nameOf(who) && one.zone === zone
            ? { ...one, description: good.descriptionOf(who) }
            : one,
        );
        return good.taken(ctx, who, zone).then(() => {
          throw notYet("it is taken");
        });
      },
    }),
  ],
  "a start does nothing": [cases.stopped, () => ({ start: async (_ctx, current) => current })],
  "shows hosts as stopped and has no start": [
    cases.stopped,
    () => ({ isStartable: false, phaseOf: ({ status }) => stoppedOr(status) }),
  ],
  "a start of what runs fails": [
    cases.stopped,
    (good) => ({
      start: async (ctx, current) => {
        if (current.phase === "ready") throw new Error("it runs");
        return good.start(ctx, current);
      },
    }),
  ],
  "a start is refused, and says that it is done": [
    cases.refusal,
    (good) => ({ start: (ctx, current) => good.start(ctx, current).catch(() => current) }),
  ],
  "a removal keeps its operation to itself": [
    cases.removal,
    (good) => ({
      remove: async (ctx, current) => {
        await good.remove(ctx, current);
      },
    }),
  ],
  "takes a removal that is refused for done": [
    cases.removal,
    (good) => ({
      outcomeOf: (operation) =>
        operation.operationType === "delete" && operation.status === "DONE"
          ? { state: "done" }
          : good.outcomeOf(operation),
    }),
  ],
  "changes labels by name": [
    cases.namesakes,
    (good, compute) => ({
      update: async (ctx, current, spec) => {
        const { zone, name } = placeOf(current.id);
        const instance = await good.look(ctx, zone, name);
        if (instance === undefined) return current;
        const labels = spec["labels"] as Instance["labels"];
        const { labelFingerprint } = instance;
        await asked(compute.setLabels(zone, name, { labels, labelFingerprint }, ctx.signal));
        return current;
      },
    }),
  ],
  "a look by an id says of whatever is there that it is whose it was asked for": [
    cases.namesakes,
    (good) => ({
      locate: async (ctx, who, id) => {
        if (id === undefined) return good.locate(ctx, who);
        const found = await good.find(ctx, id);
        return found === undefined
          ? { found: "none" }
          : { found: "one", resource: { ...found, who } };
      },
    }),
  ],
  "says of a fingerprint that is out of date that all is done": [
    cases.conflict,
    (good) => ({
      update: (ctx, current, spec) =>
        good.update(ctx, current, spec).catch((error: unknown) => {
          const isOld = error instanceof Error && error.message.includes("fingerprint");
          if (isOld) return { ...current, spec, phase: "pending" };
          throw error;
        }),
    }),
  ],
  "an update waits until the instance is stopped": [
    cases.changesWait,
    (good, compute) => ({
      towardType: async (ctx, instance, machineType) => {
        const { zone, number } = instance;
        if (instance.status === "RUNNING") {
          const stop = await asked(compute.stop(zone, number, ctx.signal));
          while ((await good.poll(ctx, handleOf(stop))).state === "running") {
            await ctx.clock.sleep(500, ctx.signal);
          }
        }
        return good.towardType(ctx, instance, machineType);
      },
    }),
  ],
  "asks for an operation that is forgotten, and fails": [
    cases.forgotten,
    () => ({
      forgotten: () => {
        throw new Error("no such operation");
      },
    }),
  ],
  "a removal keeps the boot disk": [
    cases.nothingLeft,
    (good, compute) => ({
      remove: async (ctx, current) => {
        const { number } = placeOf(current.id);
        compute.disks = compute.disks.map((disk) =>
          disk.user === number ? { ...disk, autoDelete: false } : disk,
        );
        await good.remove(ctx, current);
      },
    }),
  ],
  "another type alone is forgotten": [
    cases.updates,
    (good) => ({
      update: (ctx, current, spec) =>
        sameJson(current.spec["labels"] ?? null, spec["labels"] ?? null)
          ? Promise.resolve(current)
          : good.update(ctx, current, spec),
    }),
  ],
  "lists by the beginning of a cluster's name": [
    cases.longest,
    (good) => ({
      whoOf: (instance) => {
        const who = good.whoOf(instance);
        return who && { ...who, cluster: who.cluster.slice(0, 120) };
      },
    }),
  ],
};

function stoppedOr(status: Instance["status"]): Phase {
  if (status === "RUNNING") return "ready";
  return status === "TERMINATED" || status === "STOPPING" ? "stopped" : "pending";
}
