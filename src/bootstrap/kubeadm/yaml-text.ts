import { stringify } from "yaml";

/**
 * A value as YAML for programs that read version 1.1, as kubeadm and cloud-init do: there a plain y, no or on is
 * a boolean and 1:30 a number. Pure.
 */
export function yamlText(value: unknown): string {
  return stringify(value, { schema: "yaml-1.1", lineWidth: 0 });
}
