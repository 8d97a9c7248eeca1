import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments, stringify } from "yaml";
import type { WantedMachines } from "../scenario/wanted-judge.js";
import type { SetBounds } from "./host-counts.js";

/** One object of a manifest, as it is written. */
export interface ManifestObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Everything that a cluster is wanted to be; undefined where it is wanted to be gone. */
export type ChaosTarget = readonly ManifestObject[] | undefined;

/** What a scenario goes through, each derived from its folder. */
export interface Targets {
  readonly first: readonly ManifestObject[];
  /** Every machine changed in place. */
  readonly updated: readonly ManifestObject[];
  /** One machine more, and one less. */
  readonly scaled: readonly ManifestObject[];
  readonly shrunk: readonly ManifestObject[];
  /** Workers that need new hosts, those of MachineDeployments alone, and control-plane members. */
  readonly replaced: readonly ManifestObject[];
  readonly rolled: readonly ManifestObject[];
  readonly reseated: readonly ManifestObject[];
  /** The next minor version everywhere; the same and one machine more. */
  readonly upgraded: readonly ManifestObject[];
  readonly upgradedFurther: readonly ManifestObject[];
  /** What nobody had in mind before the crash: all changed in place, one machine more. */
  readonly third: readonly ManifestObject[];
  /** One machine more, and the control plane changed before it comes. */
  readonly grown: readonly ManifestObject[];
  /** One machine more, and the control plane's disks grow before it comes; the same and one more. */
  readonly extended: readonly ManifestObject[];
  readonly extendedFurther: readonly ManifestObject[];
  /** The control plane and a single worker. */
  readonly seedling: readonly ManifestObject[];
}

type Fields = Record<string, unknown>;

/** Reads a folder of manifests and derives the targets. Hosts boot at once, so that runs repeat. */
export function targetsOf(folder: string): Targets {
  const first = readObjects(folder).map(bootingAtOnce);
  const extended = scaled(
    first.map((one) => withMachines(one, withLargerDisk)),
    1,
  );
  const upgraded = first.map((one) => withMachines(one, ofNextMinor));
  return {
    first,
    updated: first.map((one) => withMachines(one, (spec) => tagged(newer(spec), "updated"))),
    scaled: scaled(first, 1),
    shrunk: scaled(first, -1),
    replaced: first.map((one) => withMachines(one, resizedWorker)),
    rolled: first.map((one) =>
      one.kind === "MachineDeployment" ? withMachines(one, resizedWorker) : one,
    ),
    reseated: first.map((one) => withMachines(one, resizedMember)),
    upgraded,
    upgradedFurther: scaled(upgraded, 1),
    third: scaled(
      first.map((one) => withMachines(one, (spec) => tagged(spec, "third"))),
      1,
    ),
    grown: scaled(
      first.map((one) =>
        withMachines(one, (spec) => (isControlPlane(spec) ? tagged(spec, "grown") : spec)),
      ),
      1,
    ),
    extended,
    extendedFurther: scaled(extended, 1),
    seedling: seedlingOf(first),
  };
}

/** What one cluster goes through in the watch loop, one after the other, until it is deleted. */
export interface LifeTargets {
  readonly create: readonly ManifestObject[];
  readonly scale: readonly ManifestObject[];
  readonly roll: readonly ManifestObject[];
  /** The control plane is changed in place, then a worker comes that cannot be made. */
  readonly failing: readonly ManifestObject[];
}

/** Reads a folder of manifests and derives a life from it. */
export function lifeTargetsOf(folder: string): LifeTargets {
  const create = readObjects(folder).map(bootingAtOnce);
  const scale = scaled(create, 1);
  const roll = scale.map((one) =>
    one.kind === "MachineDeployment" ? withMachines(one, resizedWorker) : one,
  );
  const changed = roll.map((one) =>
    withMachines(one, (spec) => (isControlPlane(spec) ? tagged(spec, "failing") : spec)),
  );
  return { create, scale, roll, failing: scaled(changed, 1) };
}

/** The stack of the folder's one cluster. */
export function stackOf(objects: readonly ManifestObject[]): string {
  const clusters = objects.filter(({ kind }) => kind === "Cluster");
  const [cluster, ...others] = clusters;
  if (cluster === undefined || others.length > 0) {
    throw new Error(`a scenario has one Cluster, this one has ${clusters.length}`);
  }
  return `${cluster.metadata.namespace ?? "default"}.${cluster.metadata.name}`;
}

/** Replaces what a folder of manifests holds. */
export function writeTarget(folder: string, objects: readonly ManifestObject[]): void {
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "cluster.yaml"), objects.map((one) => stringify(one)).join("---\n"));
}

/** The machine's part of an object that has one: a Machine's own, or a set's template. */
export function machineSpecOf({ kind, spec }: ManifestObject): Fields | undefined {
  if (kind === "Machine") return spec;
  const template = spec["template"] as { readonly spec?: Fields } | undefined;
  return template?.spec;
}

export function providerValue(spec: Fields): Fields {
  return (spec["providerSpec"] as { readonly value?: Fields } | undefined)?.value ?? {};
}

/** The objects in a folder of manifests, by file name. */
export function readObjects(folder: string): ManifestObject[] {
  return readdirSync(folder)
    .filter((name) => /\.ya?ml$/.test(name))
    .sort()
    .flatMap((name) => parseAllDocuments(readFileSync(join(folder, name), "utf8")))
    .map((document) => document.toJS() as ManifestObject | null)
    .filter((object) => object !== null);
}

function bootingAtOnce(object: ManifestObject): ManifestObject {
  return object.kind === "Cluster"
    ? { ...object, spec: withProviderFields(object.spec, { bootMs: 0 }) }
    : object;
}

/** The template of a MachineSet is for machines to come, so it is left as it is. */
function withMachines(object: ManifestObject, change: (spec: Fields) => Fields): ManifestObject {
  const spec = machineSpecOf(object);
  if (spec === undefined || object.kind === "MachineSet") return object;
  if (object.kind === "Machine") return { ...object, spec: change(spec) };
  const template = { ...(object.spec["template"] as Fields), spec: change(spec) };
  return { ...object, spec: { ...object.spec, template } };
}

function withProviderFields(spec: Fields, fields: Fields): Fields {
  return { ...spec, providerSpec: { value: { ...providerValue(spec), ...fields } } };
}

function tagged(spec: Fields, chaos: string): Fields {
  const tags = providerValue(spec)["tags"] as Fields | undefined;
  return withProviderFields(spec, { tags: { ...tags, chaos } });
}

/** The next patch release of all that a machine runs. */
function newer(spec: Fields): Fields {
  return withVersions(spec, nextPatch);
}

/** The first release of the next minor version of all that a machine runs. */
function ofNextMinor(spec: Fields): Fields {
  return withVersions(spec, (version) =>
    version.replace(/\.(\d+)\.\d+$/, (_, minor) => `.${Number(minor) + 1}.0`),
  );
}

function withVersions(spec: Fields, change: (version: string) => string): Fields {
  const versions = Object.entries((spec["versions"] ?? {}) as Record<string, string>);
  const next = versions.map(([part, version]) => [part, change(version)]);
  return { ...spec, versions: Object.fromEntries(next) as Fields };
}

function nextPatch(version: string): string {
  return version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
}

function resizedWorker(spec: Fields): Fields {
  return isControlPlane(spec) ? spec : resized(spec);
}

function resizedMember(spec: Fields): Fields {
  return isControlPlane(spec) ? resized(spec) : spec;
}

function resized(spec: Fields): Fields {
  return withProviderFields(spec, {
    size: providerValue(spec)["size"] === "large" ? "medium" : "large",
  });
}

function isControlPlane(spec: Fields): boolean {
  return "controlPlane" in ((spec["versions"] ?? {}) as Fields);
}

/** A disk of the control plane grows in place, and never shrinks there. */
function withLargerDisk(spec: Fields): Fields {
  return isControlPlane(spec) ? withProviderFields(spec, { diskGib: 60 }) : spec;
}

/** The first set's one machine, or the last Machine, beside the control plane. */
function seedlingOf(objects: readonly ManifestObject[]): ManifestObject[] {
  const worker = workerOf(objects);
  return objects.flatMap((one) => {
    const spec = machineSpecOf(one);
    if (spec === undefined || isControlPlane(spec)) return [one];
    if (one !== worker) return [];
    return [one.kind === "Machine" ? one : { ...one, spec: { ...one.spec, replicas: 1 } }];
  });
}

/** What gets one machine more or less: the first set, or else the last Machine. */
export function workerOf(objects: readonly ManifestObject[]): ManifestObject {
  const set = objects.find(({ spec }) => typeof spec["replicas"] === "number");
  const worker = set ?? objects.findLast(({ kind }) => kind === "Machine");
  if (worker === undefined) throw new Error("a scenario has a set or a Machine");
  return worker;
}

/** By the first set's replicas; without a set, by a twin of the last Machine or without it. */
function scaled(objects: readonly ManifestObject[], by: 1 | -1): ManifestObject[] {
  const last = workerOf(objects);
  if (last.kind !== "Machine") {
    const replicas = Number(last.spec["replicas"]) + by;
    return objects.map((one) => (one === last ? { ...one, spec: { ...one.spec, replicas } } : one));
  }
  if (by < 0) return objects.filter((one) => one !== last);
  const twin = { ...last, metadata: { ...last.metadata, name: `${last.metadata.name}-twin` } };
  return [...objects, twin];
}

/** What the manifests say about machines, for the judge. */
export function wantedMachines(objects: readonly ManifestObject[]): WantedMachines[] {
  return objects.flatMap((object) => {
    const spec = machineSpecOf(object);
    if (spec === undefined) return [];
    const { apiVersion: _api, kind: _kind, ...own } = providerValue(spec);
    const fields = { ...own, ...((spec["versions"] ?? {}) as Fields) };
    const { replicas } = object.spec;
    return [
      {
        name: object.metadata.name,
        replicas: object.kind === "Machine" ? undefined : Number(replicas ?? 1),
        fields,
      },
    ];
  });
}

/** What the manifests say about how the machines of sets come and go, for the judge. */
export function setBoundsOf(objects: readonly ManifestObject[]): SetBounds[] {
  return objects.flatMap(({ kind, metadata: { name }, spec }): SetBounds[] => {
    if (kind === "MachineSet") return [{ kind, name }];
    if (kind !== "MachineDeployment") return [];
    const { type = "RollingUpdate", rollingUpdate = {} } = (spec["strategy"] ?? {}) as {
      readonly type?: string;
      readonly rollingUpdate?: Partial<NonNullable<SetBounds["rolling"]>>;
    };
    if (type !== "RollingUpdate" || spec["paused"] === true) return [{ kind, name }];
    const { maxSurge = 1, maxUnavailable = 0 } = rollingUpdate;
    return [{ kind, name, rolling: { maxSurge, maxUnavailable } }];
  });
}
