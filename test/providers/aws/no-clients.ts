import type { AwsClients } from "../../../providers/aws/calls/clients.js";

const refused = () => Promise.reject(new Error("nobody asks AWS here"));

/** For what is pure. */
export const noClients: AwsClients = {
  ec2: refused,
  elb: refused,
  classicElb: refused,
  sts: refused,
  quotas: refused,
  secrets: refused,
  close: () => {},
};
