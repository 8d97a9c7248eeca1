import { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import { SecretsManager } from "@aws-sdk/client-secrets-manager";
import { ServiceQuotas } from "@aws-sdk/client-service-quotas";
import type { AwsClients } from "../../../providers/aws/calls/clients.js";
import type { Moto } from "../../provider/ec2/moto.js";

/** Clients of a moto, for what happens behind a provider's back. */
export function elbOf(moto: Moto): ElasticLoadBalancingV2 {
  return new ElasticLoadBalancingV2(settingsOf(moto));
}

export function classicElbOf(moto: Moto): ElasticLoadBalancing {
  return new ElasticLoadBalancing(settingsOf(moto));
}

export function secretsOf(moto: Moto): SecretsManager {
  return new SecretsManager(settingsOf(moto));
}

function settingsOf({ env }: Moto) {
  const { AWS_ENDPOINT_URL: endpoint = "", AWS_REGION: region = "" } = env;
  const { AWS_ACCESS_KEY_ID: accessKeyId = "", AWS_SECRET_ACCESS_KEY: secretAccessKey = "" } = env;
  const credentials = { accessKeyId, secretAccessKey };
  return { region, endpoint, credentials, maxAttempts: 1 };
}

/** Clients of a provider that are there already. */
export function clientsOf(moto: Moto, clients: WatchedPair): AwsClients {
  const { sts } = moto.connect();
  const quotas = new ServiceQuotas(settingsOf(moto));
  const { secrets = secretsOf(moto), classicElb = classicElbOf(moto) } = clients;
  return {
    ec2: async () => clients.ec2,
    elb: async () => clients.elb,
    classicElb: async () => classicElb,
    sts: async () => sts,
    quotas: async () => quotas,
    secrets: async () => secrets,
    close: () => {
      clients.ec2.destroy();
      clients.elb.destroy();
      classicElb.destroy();
      sts.destroy();
      quotas.destroy();
      secrets.destroy();
    },
  };
}

interface WatchedPair {
  readonly ec2: Awaited<ReturnType<AwsClients["ec2"]>>;
  readonly elb: ElasticLoadBalancingV2;
  /** Each one of its own without. */
  readonly classicElb?: ElasticLoadBalancing;
  readonly secrets?: SecretsManager;
}
