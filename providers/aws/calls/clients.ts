import type { EC2 } from "@aws-sdk/client-ec2";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import type { STS } from "@aws-sdk/client-sts";

/** Clients of one account and region, each made when it is first asked for. */
export interface AwsClients {
  ec2(): Promise<EC2>;
  elb(): Promise<ElasticLoadBalancingV2>;
  sts(): Promise<STS>;
  /** Ends their connections. */
  close(): void;
}

/**
 * Credentials, region and endpoint come from where all tools of AWS look for them. The SDK is loaded with the first
 * client: it takes a fifth of a second, and most commands do not need it. It does not call again by itself: it cannot tell
 * which creates may be repeated, and Capstan's own pace holds all calls back when one was throttled.
 */
export function awsClients(): AwsClients {
  const settings = { maxAttempts: 1 };
  const made: { destroy(): void }[] = [];
  const once = <Client extends { destroy(): void }>(make: () => Promise<Client>) => {
    let client: Promise<Client> | undefined;
    return () =>
      (client ??= make().then((one) => {
        made.push(one);
        return one;
      }));
  };
  return {
    ec2: once(async () => new (await import("@aws-sdk/client-ec2")).EC2(settings)),
    elb: once(async () => {
      const { ElasticLoadBalancingV2 } = await import("@aws-sdk/client-elastic-load-balancing-v2");
      return new ElasticLoadBalancingV2(settings);
    }),
    sts: once(async () => new (await import("@aws-sdk/client-sts")).STS(settings)),
    close: () => {
      for (const client of made) client.destroy();
    },
  };
}
