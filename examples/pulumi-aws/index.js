import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { cluster } from "capstan";

const config = new pulumi.Config();
const zone = config.get("zone") ?? "eu-north-1a";

const vpc = new aws.ec2.Vpc("demo", { cidrBlock: "10.0.0.0/16", enableDnsHostnames: true });
const gateway = new aws.ec2.InternetGateway("demo", { vpcId: vpc.id });
const subnet = new aws.ec2.Subnet("demo", {
  vpcId: vpc.id,
  cidrBlock: "10.0.0.0/20",
  availabilityZone: zone,
});
const routes = new aws.ec2.RouteTable("demo", {
  vpcId: vpc.id,
  routes: [{ cidrBlock: "0.0.0.0/0", gatewayId: gateway.id }],
});
const way = new aws.ec2.RouteTableAssociation("demo", {
  subnetId: subnet.id,
  routeTableId: routes.id,
});

// Hosts fetch their packages, so the cluster is made once its subnet has a way out: by the id that the association tells.
const demo = await cluster({
  manifests: "clusters/demo",
  values: { vpcId: vpc.id, subnetId: way.subnetId, zone },
});

new aws.route53.Record("api", {
  zoneId: config.require("zoneId"),
  name: config.require("domain"),
  type: "CNAME",
  ttl: 60,
  records: [demo.endpoint.host],
});

// The kubeconfig is a secret: `pulumi stack output kubeconfig --show-secrets`.
export const { revision, kubeconfig, hosts } = demo;
