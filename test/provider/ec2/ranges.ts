/** Of the nodes: inside moto's VPC, 172.31.0.0/16, and beside the ranges of its own subnets. */
export const nodeRange = "172.31.64.0/20";

/** One of 2,048 ranges of sixteen addresses beside it. */
export function freeRange(index: number): string {
  return `172.31.${128 + Math.floor(index / 16)}.${(index % 16) * 16}/28`;
}
