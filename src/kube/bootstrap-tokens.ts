import { CoreV1Api, KubeConfig, PatchStrategy, V1Secret } from "@kubernetes/client-node";
import { CapstanError } from "../api/error.js";
import { issueUserCertificate } from "../bootstrap/certificates/user-certificate.js";
import { kubeconfigOf } from "../bootstrap/kubeconfig/kubeconfig.js";
import {
  bootstrapTokenSecret,
  expirationText,
  newBootstrapToken,
  tokenHostLabel,
  tokenNamespace,
} from "../bootstrap/tokens/bootstrap-token.js";
import type { TokenStore, WorkloadAccess } from "../engine/run/token-store.js";
import type { Identity } from "../provider/port.js";
import { keepConnections } from "./kept-connections.js";
import { mayPass, saidBy, statusOf, within } from "./requests.js";

/** How long the certificate is good that these calls are made with. */
const accessTtlMs = 60 * 60_000;
/** Tokens are random: one id that is taken is a rare chance, several in a row are not. */
const attempts = 5;

/** The tokens of a cluster as Secrets of its own API server, which nothing is asked before a token is wanted. */
export class BootstrapTokens implements TokenStore {
  private opened: { readonly api: Promise<CoreV1Api>; readonly renewAtMs: number } | undefined;

  constructor(private readonly access: WorkloadAccess) {}

  async issue(host: Identity, expiresAtMs: number): Promise<string> {
    for (let attempt = 1; ; attempt += 1) {
      const token = newBootstrapToken();
      const secret = bootstrapTokenSecret(token, host, expiresAtMs);
      const body = Object.assign(new V1Secret(), secret);
      const isMade = await this.call(`create a token for ${host.name}`, async (api) => {
        try {
          await api.createNamespacedSecret({ namespace: tokenNamespace, body }, within());
          return true;
        } catch (error) {
          if (statusOf(error) !== 409 || attempt >= attempts) throw error;
          return false;
        }
      });
      if (isMade) return token;
    }
  }

  async extend(host: Identity, expiresAtMs: number): Promise<void> {
    const expiration = Buffer.from(expirationText(expiresAtMs)).toString("base64");
    await this.call(`extend the token for ${host.name}`, async (api) => {
      const { items } = await api.listNamespacedSecret(secretsOf(host), within());
      for (const { metadata } of items) {
        const named = { name: metadata?.name ?? "", namespace: tokenNamespace };
        const body = { data: { expiration } };
        await api.patchNamespacedSecret({ ...named, body }, within(PatchStrategy.MergePatch));
      }
    });
  }

  async revoke(host: Identity): Promise<void> {
    await this.call(`delete the token for ${host.name}`, (api) =>
      api.deleteCollectionNamespacedSecret(secretsOf(host), within()),
    );
  }

  private async call<T>(what: string, work: (api: CoreV1Api) => Promise<T>): Promise<T> {
    const { server, cluster } = this.access;
    try {
      return await work(await this.api());
    } catch (error) {
      throw new CapstanError({
        code: "API_SERVER",
        source: "cloud",
        subject: cluster,
        message: `cannot ${what}: API server ${server} of ${cluster}: ${saidBy(error)}`,
        hint: "its control plane has to run, and to be reached from here",
        retryable: mayPass(error),
      });
    }
  }

  private api(): Promise<CoreV1Api> {
    const { clock } = this.access;
    if (this.opened === undefined || clock.now() >= this.opened.renewAtMs) {
      this.opened = { api: this.connected(), renewAtMs: clock.now() + accessTtlMs / 2 };
    }
    return this.opened.api;
  }

  /** As an administrator, whom the cluster's authority signs for. */
  private async connected(): Promise<CoreV1Api> {
    const { server, cluster: name, keys, clock } = this.access;
    const request = { user: "capstan", groups: ["system:masters"], ttlMs: accessTtlMs };
    const certificate = await issueUserCertificate(keys, request, clock.now());
    const config = new KubeConfig();
    const authorityPem = keys.ca.certificatePem;
    const credential = { kind: "certificate", certificate } as const;
    const entry = { name, user: request.user, server, authorityPem, credential };
    config.loadFromString(JSON.stringify(kubeconfigOf(entry)));
    return keepConnections(config).makeApiClient(CoreV1Api);
  }
}

function secretsOf({ token }: Identity) {
  return { namespace: tokenNamespace, labelSelector: `${tokenHostLabel}=${token}` };
}
