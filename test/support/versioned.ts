import type { VersionedMachine } from "../../src/plan/goal/version-rules.js";

/** A machine with versions: "cp-0 1.34.2" is a worker's kubelet, "cp-0 1.34.2/1.35.0" adds a control plane. */
export function versioned(text: string): VersionedMachine {
  const [name = "", versions = ""] = text.split(" ");
  const [kubelet = "", controlPlane] = versions.split("/");
  const [deployment, ordinal] = name.split("#");
  return {
    name: name.replace("#", "-"),
    ...(ordinal !== undefined &&
      deployment !== undefined && {
        owner: {
          machineDeployment: deployment,
          machineSet: `${deployment}-1`,
          ordinal: Number(ordinal),
        },
      }),
    spec: { versions: { kubelet, ...(controlPlane !== undefined && { controlPlane }) } },
  };
}

/** Several of them, in order. */
export function allVersioned(texts: readonly string[]): VersionedMachine[] {
  return texts.map(versioned);
}
