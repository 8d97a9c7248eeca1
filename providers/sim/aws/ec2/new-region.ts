// What a region of an account holds before anybody makes anything in it.

import { newId, type Scope } from "../model/scope.js";
import { publicImages } from "./images.js";
import { addVpc } from "./vpcs.js";
import { zonesOf } from "./zones.js";

/** Images that everybody sees, and a default VPC with a subnet in each zone, unless the settings want none. */
export function furnishRegion(scope: Scope): void {
  const { db } = scope;
  for (const image of publicImages(scope.region)) db.put("images", image);
  if (!scope.settings.defaultVpc) return;
  const { id: vpcId } = addVpc(scope, { cidr: "172.31.0.0/16", tags: {}, isDefault: true });
  zonesOf(scope.region).forEach((zone, index) => {
    db.put("subnets", {
      id: newId(scope, "subnet"),
      tags: {},
      vpcId,
      cidr: `172.31.${index * 16}.0/20`,
      zone,
      isDefault: true,
      mapPublicIp: true,
    });
  });
  const gatewayId = newId(scope, "igw");
  db.put("internetGateways", { id: gatewayId, tags: {}, vpcId });
  const [table] = db.all("routeTables").filter((one) => one.vpcId === vpcId);
  if (table === undefined) return;
  const outward = { destination: "0.0.0.0/0", target: { kind: "gateway", id: gatewayId } } as const;
  db.put("routeTables", { ...table, routes: [...table.routes, outward] });
}
