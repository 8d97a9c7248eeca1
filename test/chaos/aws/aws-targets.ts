import type { ManifestObject, Targets } from "../targets.js";
import { machineSpecOf, providerValue, readObjects } from "../targets.js";

type Fields = Record<string, unknown>;

/** What a scenario goes through: that of one host, whose resources change, or one with a MachineDeployment, whose hosts are replaced. */
export function awsTargetsOf(folder: string): Targets {
  const first = readObjects(folder);
  return first.some(({ kind }) => kind === "MachineDeployment")
    ? rolloutTargets(first)
    : singleTargets(first);
}

/**
 * updated: in place, and rules that take the place of others. scaled: a zone and a volume more. shrunk:
 * without volume and rules. replaced: the volume of the host, by one of another name and make. upgraded: a volume grows, which it never takes back.
 */
function singleTargets(first: readonly ManifestObject[]): Targets {
  const updated = changed(first, {
    cluster: {
      tags: { project: "chaos", stage: "updated" },
      ingressRules: [{ protocol: "udp", fromPort: 8472, toPort: 8472 }],
      apiServer: { allowedCidrs: ["192.0.2.0/24", "198.51.100.0/24"] },
    },
    member: { tags: { role: "first" }, metadata: { hopLimit: 2 } },
  });
  const scaled = changed(first, {
    cluster: { zones: ["eu-north-1a", "eu-north-1b"] },
    member: { dataVolumes: [backup, { ...backup, name: "more", device: "/dev/sdg" }] },
  });
  const upgraded = changed(first, { member: { dataVolumes: [{ ...backup, gib: 20 }] } });
  const third = changed(scaled, {
    cluster: { tags: { project: "third" }, apiServer: { allowedCidrs: ["203.0.113.0/24"] } },
  });
  return {
    ...unchanged(first),
    updated,
    scaled,
    shrunk: changed(first, {
      cluster: { ingressRules: [], tags: {} },
      member: { dataVolumes: [] },
    }),
    replaced: changed(first, {
      member: {
        // Its device is free only once it is gone: another one is never wanted there before.
        dataVolumes: [{ ...backup, name: "other", device: "/dev/sdh", encrypted: false }],
      },
    }),
    third,
    upgraded,
    upgradedFurther: changed(upgraded, { cluster: { tags: { project: "third" } } }),
  };
}

/**
 * reseated: other hosts for all members of the control plane. rolled: others for the workers. updated: other workers, and members changed in place, so that going
 * back makes hosts, too. grown: members changed in place and a worker more, which cannot be made where somebody sees to it.
 */
function rolloutTargets(first: readonly ManifestObject[]): Targets {
  const rolled = changed(first, { worker: { instanceType: "t3.xlarge" } });
  const tagged = { tags: { role: "tagged" } };
  const more = (objects: readonly ManifestObject[]) => withReplicas(objects, 2);
  return {
    ...unchanged(first),
    updated: changed(rolled, { member: tagged }),
    scaled: more(first),
    reseated: changed(first, { member: { instanceType: "t3.xlarge" } }),
    rolled,
    third: changed(more(first), { member: { tags: { role: "third" } } }),
    shrunk: changed(first, { member: { tags: { role: "shrunk" } } }),
    grown: changed(more(first), { member: tagged }),
    seedling: first,
  };
}

/** Nothing changes but what a scenario says. */
function unchanged(first: readonly ManifestObject[]): Targets {
  return {
    first,
    updated: first,
    scaled: first,
    shrunk: first,
    replaced: first,
    third: first,
    upgraded: first,
    upgradedFurther: first,
    rolled: first,
    reseated: first,
    grown: first,
    extended: first,
    extendedFurther: first,
    seedling: first,
  };
}

function withReplicas(objects: readonly ManifestObject[], replicas: number): ManifestObject[] {
  return objects.map((one) =>
    one.kind === "MachineDeployment" ? { ...one, spec: { ...one.spec, replicas } } : one,
  );
}

const backup = { name: "backup", device: "/dev/sdf", gib: 10, whenHostGoes: "delete" } as const;

interface ChangedFields {
  readonly cluster?: Fields;
  readonly member?: Fields;
  readonly worker?: Fields;
}

/** Other fields of the provider's object of the Cluster, of each member of its control plane, and of each worker. */
function changed(
  objects: readonly ManifestObject[],
  { cluster = {}, member = {}, worker = {} }: ChangedFields,
): ManifestObject[] {
  const withFields = (spec: Fields, fields: Fields): Fields => ({
    ...spec,
    providerSpec: { value: { ...providerValue(spec), ...fields } },
  });
  return objects.map((object) => {
    const { kind, spec } = object;
    if (kind === "Cluster") return { ...object, spec: withFields(spec, cluster) };
    if (kind === "Machine") return { ...object, spec: withFields(spec, member) };
    const machine = machineSpecOf(object) ?? {};
    const template = { ...(spec["template"] as Fields), spec: withFields(machine, worker) };
    return { ...object, spec: { ...spec, template } };
  });
}
