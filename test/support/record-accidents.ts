import type { NodeKey } from "../../src/graph/graph.js";
import { isRecordKind } from "../../src/records/prior-state.js";
import type { FakeEngine } from "./fake-engine.js";

// What people do to a state by Pulumi's own commands.

/** What `pulumi refresh` does to records of what the cloud shows otherwise. */
export function recordDrift(engine: FakeEngine): void {
  const shown = new Map(engine.alive().map((one) => [one.id, one]));
  engine.tamper((resources) =>
    resources.map((record) => {
      const seen = record.id === undefined ? undefined : shown.get(record.id);
      if (seen === undefined) return record;
      const { spec, status } = seen;
      return {
        ...record,
        inputs: { ...record.inputs, spec },
        outputs: { ...record.outputs, spec, status },
      };
    }),
  );
}

/** What `pulumi state delete --target-dependents` does. */
export function loseRecords(
  engine: FakeEngine,
  isLost: (key: NodeKey, index: number) => boolean,
): void {
  engine.tamper((resources) => {
    const lost = new Set<NodeKey>();
    return resources.filter(({ key, kind, parent, dependsOn }, index) => {
      const uses = [...dependsOn, ...(parent === undefined ? [] : [parent])];
      const goes = isLost(key, index) || uses.some((one) => lost.has(one));
      if (goes && !isRecordKind(kind)) lost.add(key);
      return !lost.has(key);
    });
  });
}
