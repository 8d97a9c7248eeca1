import type { JsonObject } from "../../../src/api/json.js";
import { sameJson } from "../../../src/api/json.js";
import type { Identity } from "../../../src/provider/port.js";
import {
  type ConformanceSubject,
  steppingClock,
  type World,
} from "../../../src/provider-conformance/index.js";
import {
  Compute,
  type InsertBody,
  type Instance,
  type ComputeOperation,
  zones,
} from "./compute.js";
import { gceApiVersion, GceHosts, idOf, placeOf } from "./hosts.js";

/** What a seeded provider does otherwise; `good` is the one without the defect, on the same cloud. */
export type GceDefect = (good: GceHosts, compute: Compute) => Partial<GceHosts>;

const stockOut = {
  code: "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS",
  message: "The zone does not have enough resources available",
};

const inUse = {
  code: "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
  message: "It is being used by a group",
};

/** The sample of Compute Engine: without a zone, so that Capstan places it. */
export function gceSubject(
  defect: GceDefect = () => ({}),
  changed: (world: World) => World = (world) => world,
): ConformanceSubject {
  return {
    clusterSpec: { apiVersion: gceApiVersion, kind: "GceClusterProviderSpec" },
    machineSpec: { apiVersion: gceApiVersion, kind: "GceMachineProviderSpec" },
    replacing: { image: "debian-13" },
    inPlace: { machineType: "e2-large", labels: { team: "a" } },
    open: () => changed(openGce(defect)),
  };
}

function openGce(defect: GceDefect): World {
  const clock = steppingClock();
  const compute = new Compute(clock);
  const good = new GceHosts(compute);
  const hosts = Object.assign(new GceHosts(compute), defect(good, compute));
  const put = (
    who: Identity,
    spec: JsonObject,
    change: Partial<InsertBody> = {},
    zone = zoneOf(spec),
  ) => idOf(compute.add(zone, { ...bodyOf(good, who, spec), ...change }, "RUNNING"));
  const instanceOf = (id: string): Instance | undefined =>
    compute.instances.find(({ number }) => number === placeOf(id).number);
  const settled = () => {
    compute.settle();
    return compute.instances;
  };
  const disksOf = (number?: string) =>
    compute.disks
      .filter(({ user }) => number === undefined || user === number)
      .map(({ zone, name, user }) => `zones/${zone}/disks/${name}#${user}`);
  const hold = (on: boolean, types: readonly ComputeOperation["operationType"][]) =>
    void (compute.held = on ? types : []);
  return {
    provider: hosts.provider(),
    clock,
    clusterUid: "uid-1",
    loseNextCreate: () => void (compute.losesNext = true),
    lagListings: (ms) => void (compute.lagMs = ms),
    blind: (on, how = "unavailable") => void (compute.blindness = on ? how : undefined),
    blindBy: ["denied", "partial"],
    plant: (who, spec) => put(who, spec),
    countAlive: (who) => settled().filter((one) => sameJson(good.whoOf(one) ?? null, who)).length,
    beforeChange: (hook) => void (compute.hook = hook),
    alive: () => [...settled().map(idOf), ...disksOf()],
    partsOf: (id) => disksOf(placeOf(id).number),
    hang: (on) => void (compute.hangs = on),
    acceptNextCreate: (fate) => {
      const next: NonNullable<Compute["nextFate"]> = fate === "made" ? {} : { error: stockOut };
      compute.nextFate = next;
      return () => next.end?.();
    },
    refuseNextRemoval: () => {
      const next: NonNullable<Compute["nextRemoval"]> = { error: inUse };
      compute.nextRemoval = next;
      return () => next.end?.();
    },
    forgetOperations: () => compute.forgetOperations(),
    holdBoot: (on) => hold(on, ["insert"]),
    holdOperations: (on) => hold(on, ["delete", "stop", "start", "setMachineType", "setLabels"]),
    conflictNextChange: () => void (compute.conflictsNext = true),
    mutate: (id, fields) => {
      const { machineType, labels } = fields;
      if (machineType === undefined && labels === undefined) return false;
      Object.assign(instanceOf(id) ?? {}, fields);
      return true;
    },
    stop: (id) => void Object.assign(instanceOf(id) ?? {}, { status: "TERMINATED" }),
    kill: (id) => compute.erase(placeOf(id).number),
    plantMany: (whos, spec) => whos.forEach((who) => put(who, spec)),
    plantTwin: (who, spec) => {
      const other = zones.find((zone) => zone !== zoneOf(spec));
      return put(who, spec, {}, other);
    },
    plantNamesake: (who, spec, bears) =>
      put(who, spec, { description: bears === undefined ? "by hand" : good.descriptionOf(bears) }),
  };
}

function zoneOf(spec: JsonObject): string {
  return String(spec["zone"]);
}

function bodyOf(good: GceHosts, who: Identity, spec: JsonObject): InsertBody {
  const { machineType, labels, zone: _zone, image, ...unseen } = spec;
  return {
    name: good.nameOf(who),
    description: good.descriptionOf(who),
    machineType: String(machineType),
    image: String(image),
    labels: labels as InsertBody["labels"],
    metadata: { "capstan-spec": JSON.stringify(unseen) },
    autoDelete: true,
  };
}
