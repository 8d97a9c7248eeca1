import type { EC2 } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { SecretsManager } from "@aws-sdk/client-secrets-manager";
import type { ServiceQuotas } from "@aws-sdk/client-service-quotas";
import type { STS } from "@aws-sdk/client-sts";
import { type AwsAccess, type CredentialSource, credentialSource } from "./credentials.js";

/** Clients of one account and region, each made when it is first asked for. */
export interface AwsClients {
  ec2(): Promise<EC2>;
  elb(): Promise<ElasticLoadBalancingV2>;
  classicElb(): Promise<ElasticLoadBalancing>;
  sts(): Promise<STS>;
  quotas(): Promise<ServiceQuotas>;
  secrets(): Promise<SecretsManager>;
  /** The credentials have expired: whoever asks next gets clients that look for new ones. */
  renew?(): void;
  /** Ends their connections. */
  close(): void;
}

/** The services that are called. */
interface Made {
  readonly ec2?: Promise<EC2>;
  readonly elb?: Promise<ElasticLoadBalancingV2>;
  readonly classicElb?: Promise<ElasticLoadBalancing>;
  readonly sts?: Promise<STS>;
  readonly quotas?: Promise<ServiceQuotas>;
  readonly secrets?: Promise<SecretsManager>;
}

/** What every client is made with. */
interface ClientSettings {
  readonly maxAttempts: number;
  readonly credentials: CredentialSource;
  readonly region?: string;
}

/**
 * Credentials, region and endpoint come from where all tools of AWS look for them, unless a Cluster names others. The SDK
 * is loaded with the first client: it takes a fifth of a second, and most commands do not need it. It does not call again
 * by itself: it cannot tell which creates may be repeated. What was throttled did nothing, and is asked for again by the
 * asker, at a pace that all requests of the process to one account share.
 */
export function awsClients(access?: AwsAccess): AwsClients {
  let made: Made = {};
  let settings = settingsFor(access);
  const open = {
    ec2: async () => new (await import("@aws-sdk/client-ec2")).EC2(settings),
    elb: async () => {
      const { ElasticLoadBalancingV2 } = await import("@aws-sdk/client-elastic-load-balancing-v2");
      return new ElasticLoadBalancingV2(settings);
    },
    classicElb: async () => {
      const { ElasticLoadBalancing } = await import("@aws-sdk/client-elastic-load-balancing");
      return new ElasticLoadBalancing(settings);
    },
    sts: async () => new (await import("@aws-sdk/client-sts")).STS(settings),
    quotas: async () => {
      const { ServiceQuotas } = await import("@aws-sdk/client-service-quotas");
      return new ServiceQuotas(settings);
    },
    secrets: async () => {
      const { SecretsManager } = await import("@aws-sdk/client-secrets-manager");
      return new SecretsManager(settings);
    },
  };
  const end = () => {
    for (const client of Object.values(made)) {
      void (client as Promise<{ destroy(): void }>).then((one) => one.destroy()).catch(() => {});
    }
  };
  const once = <Service extends keyof Made>(service: Service): NonNullable<Made[Service]> => {
    const client = made[service] ?? open[service]();
    made = { ...made, [service]: client };
    return client as NonNullable<Made[Service]>;
  };
  return {
    ec2: () => once("ec2"),
    elb: () => once("elb"),
    classicElb: () => once("classicElb"),
    sts: () => once("sts"),
    quotas: () => once("quotas"),
    secrets: () => once("secrets"),
    renew: () => {
      made = {};
      settings = settingsFor(access);
    },
    close: end,
  };
}

function settingsFor(access: AwsAccess | undefined): ClientSettings {
  const settings = { maxAttempts: 1, credentials: credentialSource(access) };
  return access === undefined ? settings : { ...settings, region: access.region };
}
