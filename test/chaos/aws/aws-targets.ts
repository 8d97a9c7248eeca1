import type { ManifestObject, Targets } from "../targets.js";
import { providerValue, readObjects } from "../targets.js";

type Fields = Record<string, unknown>;

/**
 * What the scenario goes through. updated: in place, and rules that take the place of others. scaled: a zone and a volume more. shrunk:
 * without volume and rules. replaced: the volume of the host, by one of another name and make. upgraded: a volume grows, which it never takes back.
 */
export function awsTargetsOf(folder: string): Targets {
  const first = readObjects(folder);
  const updated = changed(first, {
    cluster: {
      tags: { project: "chaos", stage: "updated" },
      ingressRules: [{ protocol: "udp", fromPort: 8472, toPort: 8472 }],
      apiServer: { allowedCidrs: ["192.0.2.0/24", "198.51.100.0/24"] },
    },
    machine: { tags: { role: "first" }, metadata: { hopLimit: 2 } },
  });
  const scaled = changed(first, {
    cluster: { zones: ["eu-north-1a", "eu-north-1b"] },
    machine: { dataVolumes: [backup, { ...backup, name: "more", device: "/dev/sdg" }] },
  });
  const upgraded = changed(first, { machine: { dataVolumes: [{ ...backup, gib: 20 }] } });
  const third = changed(scaled, {
    cluster: { tags: { project: "third" }, apiServer: { allowedCidrs: ["203.0.113.0/24"] } },
  });
  return {
    first,
    updated,
    scaled,
    shrunk: changed(first, {
      cluster: { ingressRules: [], tags: {} },
      machine: { dataVolumes: [] },
    }),
    replaced: changed(first, {
      machine: {
        dataVolumes: [{ ...backup, name: "other", device: "/dev/sdg", encrypted: false }],
      },
    }),
    third,
    upgraded,
    upgradedFurther: changed(upgraded, { cluster: { tags: { project: "third" } } }),
    // What only machines that join go through, and the simulator has no API server to join at.
    rolled: first,
    reseated: first,
    grown: first,
    extended: first,
    extendedFurther: first,
    seedling: first,
  };
}

const backup = { name: "backup", device: "/dev/sdf", gib: 10, whenHostGoes: "delete" } as const;

/** Other fields of the Cluster's and of each Machine's provider object. */
function changed(
  objects: readonly ManifestObject[],
  { cluster = {}, machine = {} }: { readonly cluster?: Fields; readonly machine?: Fields },
): ManifestObject[] {
  return objects.map((object) => {
    const fields = object.kind === "Cluster" ? cluster : machine;
    const value = { ...providerValue(object.spec), ...fields };
    return { ...object, spec: { ...object.spec, providerSpec: { value } } };
  });
}
