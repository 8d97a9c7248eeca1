import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { get } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { KubeConfig } from "@kubernetes/client-node";

/** What kubectl said and how it ended. */
export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const kubectlTimeoutMs = 200_000;
/** How long a server is asked again that has no time, or has only just learnt of a kind. */
const readPatienceMs = 60_000;

/** Someone who may ask the API server. */
export class ApiUser {
  /** A file for kubectl and for the product. */
  readonly kubeconfig: string;
  readonly config = new KubeConfig();

  constructor(
    private readonly binDir: string,
    private readonly folder: string,
    readonly name: string,
    private readonly access: {
      readonly url: string;
      readonly authority: string;
      readonly token: string;
    },
  ) {
    const { url, authority, token } = access;
    this.config.loadFromOptions({
      clusters: [{ name: "test", server: url, caData: readFileSync(authority, "base64") }],
      users: [{ name, token }],
      contexts: [{ name, cluster: "test", user: name }],
      currentContext: name,
    });
    this.kubeconfig = join(folder, `${name}.kubeconfig`);
    writeFileSync(this.kubeconfig, this.config.exportConfig(), { mode: 0o600 });
  }

  /** Runs kubectl to its end, whatever that is. */
  kubectl(...args: string[]): Promise<KubectlResult> {
    return this.runKubectl(args, "");
  }

  /** `kubectl apply` of manifests as text; fails unless it succeeds. */
  async apply(manifests: string): Promise<void> {
    const { code, stderr } = await this.runKubectl(["apply", "-f", "-"], manifests);
    assert.equal(code, 0, stderr);
  }

  /**
   * What the API server answers to a GET of a path, as JSON. For whoever waits: asking again and again
   * by kubectl takes a processor for itself.
   */
  async read(path: string): Promise<unknown> {
    const giveUpAtMs = Date.now() + readPatienceMs;
    for (;;) {
      const isLast = Date.now() > giveUpAtMs;
      const answer = await this.get(path).catch((error: unknown) => {
        if (isLast) throw error;
        return undefined;
      });
      const isBusy = answer === undefined || answer.status === 429 || answer.status >= 500;
      if (answer !== undefined && (isLast || !isBusy)) {
        assert.equal(answer.status, 200, `GET ${path}: ${answer.body}`);
        return JSON.parse(answer.body);
      }
      await wait(200);
    }
  }

  private async get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const { url, authority, token } = this.access;
    const headers = { authorization: `Bearer ${token}` };
    const request = get(`${url}${path}`, { ca: readFileSync(authority), headers, timeout: 20_000 });
    request.on("timeout", () => request.destroy(new Error(`no answer to GET ${path}`)));
    const [response] = (await once(request, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: await text(response) };
  }

  private runKubectl(args: readonly string[], input: string): Promise<KubectlResult> {
    const env = {
      ...process.env,
      KUBECONFIG: this.kubeconfig,
      KUBECACHEDIR: join(this.folder, "kubectl"),
    };
    return new Promise((resolve) => {
      const child = execFile(
        join(this.binDir, "kubectl"),
        args,
        { env, timeout: kubectlTimeoutMs, maxBuffer: 64 * 1024 * 1024 },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1;
          resolve({ code, stdout, stderr: stderr === "" && error ? error.message : stderr });
        },
      );
      child.stdin?.on("error", () => undefined).end(input);
    });
  }
}
