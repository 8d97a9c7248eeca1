import { cluster as registerCluster } from "../../src/index.js";

// The program behind a plain `pulumi up` in this repository: the cluster in capstan:manifests.
const outputs = await registerCluster();

export const cluster = outputs.cluster;
export const revision = outputs.revision;
export const machines = outputs.machines;
