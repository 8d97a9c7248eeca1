import { CapstanError } from "../../api/error.js";
import { clusterNameOf, type Desired, objectsOf } from "../../api/types.js";
import type { StackState } from "../backend/state.js";

/**
 * Throws INVALID_INPUT for objects that still lack what a Pulumi program has given the cluster so far: only that program
 * knows it, and `${vpcId}` would be taken for a text. Pure.
 */
export function refuseProgramValues(
  desired: Desired,
  { transaction, foreign }: Pick<StackState, "transaction" | "foreign">,
): void {
  const text = JSON.stringify(objectsOf(desired));
  const missing = (transaction?.programValues ?? []).filter((name) => text.includes(`\${${name}}`));
  if (missing.length === 0) return;
  const cluster = clusterNameOf(desired.cluster);
  const options = missing.map((name) => `--var ${name}=VALUE`).join(" ");
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    subject: cluster,
    message: `cannot plan ${cluster}: its manifests take ${missing.join(", ")} from a Pulumi program, which alone knows it`,
    hint:
      foreign.length > 0
        ? "run pulumi up in that program's project: its stack holds more than the cluster, and capstan up changes no such stack"
        : `run pulumi up in that program's project, or give the value here: ${options}`,
  });
}
