import { Config } from "@pulumi/pulumi";
import { foundation } from "./foundation.ts";
import { settingsFrom } from "./settings.ts";

// An ordinary Pulumi program of native resources: `pulumi up` in this folder makes what clusters on AWS share.
const outputs = await foundation(settingsFrom(new Config()));

export const vpcId = outputs.vpcId;
export const subnets = outputs.subnets;
export const zones = outputs.zones;
export const controlPlaneInstanceProfile = outputs.controlPlaneInstanceProfile;
export const workerInstanceProfile = outputs.workerInstanceProfile;
export const controllerPolicies = outputs.controllerPolicies;
export const controllerRole = outputs.controllerRole;
export const stateBackend = outputs.stateBackend;
export const secretsProvider = outputs.secretsProvider;
