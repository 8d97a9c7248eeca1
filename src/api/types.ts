export type ClusterObject = any;
export type MachineObject = any;
