import * as aws from "@pulumi/aws";
import * as pulumi from "@pulumi/pulumi";
import { cluster } from "capstan";

const config = new pulumi.Config();

const vpc = new aws.ec2.Vpc("demo", { cidrBlock: "10.0.0.0/16", tags: { Name: "demo" } });
const subnet = new aws.ec2.Subnet("demo", { vpcId: vpc.id, cidrBlock: "10.0.0.0/20" });

// Made after network and subnet, and taken away before them. Manifests have the values as ${vpcId} and ${subnetId}.
const demo = await cluster({
  manifests: "clusters/demo",
  values: { vpcId: vpc.id, subnetId: subnet.id },
});

new aws.route53.Record("api", {
  zoneId: config.require("zoneId"),
  name: config.require("domain"),
  type: "A",
  ttl: 60,
  records: [demo.endpoint.host],
});

// The kubeconfig is a secret: `pulumi stack output kubeconfig --show-secrets`.
export const { revision, kubeconfig, hosts } = demo;
