import { findProcessPrograms } from "#kubernetes";
import { CapstanError } from "../../../src/api/error.js";
import { missingPrograms } from "../nodes/programs.js";

/** The programs of Kubernetes in one version, and an etcd. */
export interface KubernetesPrograms {
  readonly version: string;
  /** Where one stands on this machine. */
  path(program: string): string;
}

/** Those that capstan local install sets up. Throws NOT_FOUND where they are not. */
export function kubernetesPrograms(version: string, env = process.env): KubernetesPrograms {
  const path = findProcessPrograms(version, env);
  if (path === undefined) throw new CapstanError({ ...missingPrograms(version), source: "user" });
  return { version, path };
}
