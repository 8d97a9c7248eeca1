import * as aws from "@pulumi/aws";
import { all, ComponentResource, type Output } from "@pulumi/pulumi";
import { sharedNetwork, type SharedSubnet } from "./network.ts";
import type { AccountPlace } from "./policy.ts";
import { controllerRights, instanceRoles } from "./roles.ts";
import type { FoundationScope, Settings } from "./settings.ts";
import { stateStore } from "./state-store.ts";

/** What manifests and commands take from the foundation. */
interface FoundationOutputs {
  readonly vpcId: Output<string>;
  /** For `subnets` of a Cluster's provider object: as they are, or as a value of cluster(). */
  readonly subnets: readonly SharedSubnet[];
  readonly zones: readonly string[];
  /** For `instanceProfile` of Machines. */
  readonly controlPlaneInstanceProfile: Output<string>;
  readonly workerInstanceProfile: Output<string>;
  /** To be given to whoever runs capstan. */
  readonly controllerPolicies: readonly Output<string>[];
  readonly controllerRole: Output<string> | undefined;
  readonly stateBackend: Output<string>;
  readonly secretsProvider: Output<string>;
}

/** Registers everything, in the zones that the region offers first. */
export async function foundation(settings: Settings): Promise<FoundationOutputs> {
  const offered = await aws.getAvailabilityZones({
    state: "available",
    // Local zones are no place for a control plane.
    filters: [{ name: "opt-in-status", values: ["opt-in-not-required"] }],
  });
  const zones = offered.names.slice(0, settings.zones);
  if (zones.length < settings.zones) {
    throw new Error(
      `aws-foundation: ${settings.zones} zones are wanted, the region has ${zones.length}`,
    );
  }
  // Protected as a whole: a destroy that takes what is around the network and the bucket harms them too.
  const { name, protect } = settings;
  const parent = new ComponentResource("capstan:aws:Foundation", name, {}, { protect });
  const scope: FoundationScope = { ...settings, parent };
  const place = currentPlace();
  const { vpc, subnets } = sharedNetwork(scope, zones);
  const { controlPlane, worker } = instanceRoles(scope, place);
  const store = stateStore(scope, place);
  const { policies, role } = controllerRights(scope, {
    place,
    instanceRoles: [controlPlane.role.arn, worker.role.arn],
    bucketArn: store.bucket.arn,
    keyArn: store.key.arn,
  });
  return {
    vpcId: vpc.id,
    subnets,
    zones,
    controlPlaneInstanceProfile: controlPlane.profile.name,
    workerInstanceProfile: worker.profile.name,
    controllerPolicies: policies.map(({ arn }) => arn),
    controllerRole: role?.arn,
    stateBackend: store.backend,
    secretsProvider: store.secretsProvider,
  };
}

function currentPlace(): Output<AccountPlace> {
  return all([
    aws.getPartitionOutput(),
    aws.getRegionOutput(),
    aws.getCallerIdentityOutput(),
  ]).apply(([{ partition }, { region }, { accountId }]) => ({
    partition,
    region,
    account: accountId,
  }));
}
