import type { Output } from "@pulumi/pulumi";

export interface ClusterOutputs {
  /** "<namespace>/<name>". */
  readonly cluster: Output<string>;
  /** Number of the committed revision. */
  readonly revision: Output<number>;
  /** How many machines the cluster has. */
  readonly machines: Output<number>;
}
