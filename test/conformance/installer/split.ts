import { FakeEngine } from "../../support/fake-engine.js";
import { clusterOf, type GivenMember } from "./given-objects.js";

export interface SplitGiven {
  readonly machines: readonly GivenMember[];
}

/** Which Machines a plan takes for members of the control plane. */
export async function splitControlPlane({ machines }: SplitGiven): Promise<object> {
  const desired = clusterOf({ namespace: "default", name: "prod", machines });
  const { target } = await new FakeEngine().plan(desired);
  const named = (isMember: boolean) =>
    target.machines.filter(({ controlPlane }) => controlPlane === isMember).map(({ name }) => name);
  return { error: false, controlPlane: named(true), nodes: named(false) };
}
