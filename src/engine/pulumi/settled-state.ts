import { dirname } from "node:path";
import type { ResourceLookup } from "../../dynamic/attached-server.js";
import type { DynamicResource } from "../../dynamic/protocol.js";
import { isRecordKind } from "../../records/prior-state.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { keepState } from "../backend/checkpoint-repair.js";
import { settleFile } from "../backend/durable-files.js";
import { fileBackendRoot } from "../backend/project.js";
import type { Workspace } from "../backend/workspace.js";

// Pulumi's file backend renames states into their place and syncs neither them nor their folder: a power failure takes
// back what it has written in the last half minute, or leaves a file without data (docs/state.md).

/**
 * Makes last what Pulumi has written of a stack; of a new one the folders above it, too. Nothing for backends that are no
 * folder: those answer for what they have taken. Throws NO_SPACE or NOT_WRITABLE.
 */
export async function settleState(
  workspace: Pick<Workspace, "backendUrl" | "checkpointFile">,
  stack: string,
  age: "new" | "known" = "known",
): Promise<void> {
  const root = fileBackendRoot(workspace.backendUrl);
  const file = workspace.checkpointFile(stack);
  if (root === undefined || file === undefined) return;
  try {
    await settleFile(file, age === "new" ? root : dirname(file));
  } catch (error) {
    throw toldAsStorage(error, file);
  }
}

/**
 * The same resources, of which the first that is to change something in the cloud waits until what is recorded lasts. Once in
 * a run is enough: what its deletions stand on, a commit, is written before the first of them, and all else is found
 * again in the cloud by what an earlier run has recorded (ADR 11).
 */
export function settledFirst(
  lookup: ResourceLookup,
  workspace: Workspace,
  stack: string,
): ResourceLookup {
  let settled: Promise<void> | undefined;
  const settle = async () => {
    // The engine goes on writing: a state that it renames into its place by now has no data yet, and this copy has.
    keepState(workspace, stack);
    await settleState(workspace, stack);
  };
  return (kind) => {
    const resource = lookup(kind);
    return isRecordKind(kind) ? resource : settledBefore(resource, () => (settled ??= settle()));
  };
}

function settledBefore(resource: DynamicResource, settled: () => Promise<void>): DynamicResource {
  return {
    check: (olds, news) => resource.check(olds, news),
    diff: (id, olds, news) => resource.diff(id, olds, news),
    read: (id, props) => resource.read(id, props),
    create: async (inputs) => {
      await settled();
      return resource.create(inputs);
    },
    update: async (id, olds, news) => {
      await settled();
      return resource.update(id, olds, news);
    },
    delete: async (id, props) => {
      await settled();
      return resource.delete(id, props);
    },
  };
}
