import type { Observed } from "../../provider/port.js";
import type { NodeHost } from "./workload-cluster.js";

/** A host as its own cluster knows it: all texts of its status may be addresses. Pure. */
export function nodeHostOf({ who, status }: Pick<Observed, "who" | "status">): NodeHost {
  const { providerId } = status;
  const texts = Object.values(status)
    .flat()
    .filter((value) => typeof value === "string");
  const host = { name: who.name, addresses: texts };
  return typeof providerId === "string" ? { ...host, providerId } : host;
}
