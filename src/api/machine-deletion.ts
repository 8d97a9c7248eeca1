import { type Static, Type } from "typebox";
import { closed, seconds } from "./schema-parts.js";

/** How long each part of a Machine's deletion may take. Source: docs/cluster-api.md#deletion. */
export const machineDeletion = closed(
  {
    nodeDrainTimeoutSeconds: Type.Optional(
      seconds(
        "Seconds that pods may take to move away, from when the Node takes no more of them; then the host goes all the same. 0 or left out: what --timeout gives a deletion, which is also the most.",
      ),
    ),
    nodeVolumeDetachTimeoutSeconds: Type.Optional(
      seconds(
        "Seconds that volumes may take to be detached once no pod is left that has to go; then the host goes all the same. 0 or left out: what --timeout gives a deletion, which is also the most.",
      ),
    ),
    nodeDeletionTimeoutSeconds: Type.Optional(
      seconds(
        "Seconds that the deletion of the Node is tried for once its host is gone; default 10, 0: what --timeout gives a deletion, which is also the most.",
      ),
    ),
  },
  "What the deletion of the Machine waits for, and how long. A change of it makes no new host.",
);

export type MachineDeletion = Static<typeof machineDeletion>;

/** How today's Cluster API calls them, and its version before did: then a duration such as 10m. */
export const formerTimeouts = {
  nodeDrainTimeout: "nodeDrainTimeoutSeconds",
  nodeVolumeDetachTimeout: "nodeVolumeDetachTimeoutSeconds",
  nodeDeletionTimeout: "nodeDeletionTimeoutSeconds",
} as const satisfies Readonly<Record<string, keyof MachineDeletion>>;

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration as Go writes it, "1h30m" or "90s", in whole seconds, rounded up; undefined for any other text. Pure. */
export function secondsOfDuration(text: string): number | undefined {
  if (text === "0") return 0;
  if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(?<!\d)(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)];
  const ms = parts.reduce(
    (sum, [, count = "", unit = ""]) => sum + Number(count) * (unitMs[unit] ?? 0),
    0,
  );
  return Math.ceil(ms / 1_000);
}
