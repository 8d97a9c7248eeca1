import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { writeServerCertificate } from "../../support/certificates.js";

/** What hosts that join are shown by kubeadm. */
const clusterInfo = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "cluster-info", namespace: "kube-public" },
  data: { kubeconfig: "" },
};

/**
 * Stands for the API server of a cluster whose hosts are records: it takes tokens and shows no Node. Whoever joins has to
 * find one.
 */
export class StandInApi {
  private constructor(
    private readonly server: Server,
    readonly port: number,
    /** A folder for `--certificates`, with the authority that it is trusted by. */
    readonly certificates: string,
  ) {}

  static async start(folder: string): Promise<StandInApi> {
    const { authority, certificate, key } = writeServerCertificate(folder);
    const certificates = join(folder, "pki");
    mkdirSync(certificates);
    copyFileSync(authority, join(certificates, "ca.crt"));
    copyFileSync(join(folder, "authority.key"), join(certificates, "ca.key"));
    const pair = { cert: readFileSync(certificate), key: readFileSync(key) };
    const server = createServer(pair, ({ method = "GET", url = "" }, response) => {
      const isList = method === "GET" && !url.includes("cluster-info");
      const list = { apiVersion: "v1", kind: "List", metadata: {}, items: [] };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(isList ? list : clusterInfo));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new StandInApi(server, (server.address() as AddressInfo).port, certificates);
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await closed;
  }
}
