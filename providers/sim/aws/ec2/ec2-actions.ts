// The actions of EC2, and what happens in it by itself.

import { actionsOf, type Scope } from "../model/scope.js";
import { addressChanges, addressLooks } from "./addresses.js";
import { groupChanges, groupLooks } from "./groups.js";
import { imageChanges, imageLooks } from "./images.js";
import { attributeChanges, attributeLooks } from "./instance-attributes.js";
import { instanceStateChanges, instanceTimers } from "./instance-states.js";
import { instanceLooks } from "./instance-views.js";
import { interfaceChanges, interfaceLooks } from "./interfaces.js";
import { internetGatewayChanges, internetGatewayLooks } from "./internet-gateways.js";
import { launchChanges } from "./launch.js";
import { natChanges, natLooks, natTimers } from "./nat-gateways.js";
import { offerLooks } from "./offers.js";
import { routeTableChanges, routeTableLooks } from "./route-tables.js";
import { routeChanges } from "./routes.js";
import { ruleChanges, ruleLooks } from "./rules.js";
import { subnetChanges, subnetLooks } from "./subnets.js";
import { tagChanges, tagLooks } from "./tagging.js";
import { volumeChanges, volumeLooks, volumeTimers } from "./volumes.js";
import { vpcChanges, vpcLooks } from "./vpcs.js";

export const ec2Actions = actionsOf(
  {
    ...vpcLooks,
    ...subnetLooks,
    ...internetGatewayLooks,
    ...addressLooks,
    ...natLooks,
    ...routeTableLooks,
    ...groupLooks,
    ...ruleLooks,
    ...interfaceLooks,
    ...instanceLooks,
    ...attributeLooks,
    ...volumeLooks,
    ...imageLooks,
    ...offerLooks,
    ...tagLooks,
  },
  {
    ...vpcChanges,
    ...subnetChanges,
    ...internetGatewayChanges,
    ...addressChanges,
    ...natChanges,
    ...routeTableChanges,
    ...routeChanges,
    ...groupChanges,
    ...ruleChanges,
    ...interfaceChanges,
    ...launchChanges,
    ...instanceStateChanges,
    ...attributeChanges,
    ...volumeChanges,
    ...imageChanges,
    ...tagChanges,
  },
);

export const ec2Timers = {
  vpcIsAvailable: (scope: Scope, id: string) => {
    const row = scope.db.get("vpcs", id);
    if (row !== undefined) scope.db.put("vpcs", { ...row, state: "available" });
  },
  ...instanceTimers,
  ...natTimers,
  ...volumeTimers,
};
