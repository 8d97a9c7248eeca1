import { KubeConfig } from "@kubernetes/client-node";
import type { WriteResult } from "../../src/kube/api.js";
import { type LiveSecret, secretNameOf, type SecretWrite } from "../../src/kube/cluster-secrets.js";
import { SecretCache } from "../../src/kube/secret-cache.js";
import { merge } from "./merge.js";

/** Secrets of an API server in memory. Its watch tells a cache at once, of those with a label or without. */
export class FakeSecrets {
  readonly cache: SecretCache;
  /** Every write that had an effect, oldest first. */
  readonly effects: SecretWrite[] = [];
  private readonly secrets = new Map<string, LiveSecret>();
  private version = 1_000;

  constructor(onChange: (key: string) => void = () => {}) {
    this.cache = new SecretCache({
      config: new KubeConfig(),
      random: () => 0,
      onChange,
      api: { listSecrets: () => Promise.reject(new Error("nobody watches by the network here")) },
    });
  }

  /** A Secret of the namespace default. */
  find(name: string): LiveSecret | undefined {
    return this.secrets.get(`default/${name}`);
  }

  names(): string[] {
    return [...this.secrets.values()].map(({ metadata }) => metadata.name).sort();
  }

  /** What `kubectl apply` does of a Secret whose texts are not in base64 yet. */
  apply(name: string, texts: Readonly<Record<string, string>>): void {
    const known = this.find(name);
    const data = Object.entries(texts).map(([key, text]): [string, string] => [
      key,
      Buffer.from(text).toString("base64"),
    ]);
    const metadata = known?.metadata ?? { name, namespace: "default", uid: `secret-${name}` };
    this.put({ ...known, metadata, data: Object.fromEntries(data) });
  }

  edit(name: string, change: (secret: LiveSecret) => LiveSecret): void {
    const known = this.find(name);
    if (known !== undefined) this.put(change(known));
  }

  delete(name: string): void {
    const known = this.find(name);
    if (known === undefined) return;
    this.secrets.delete(secretNameOf(known));
    this.cache.drop(known);
  }

  readSecret = ({ namespace, name }: { namespace: string; name: string }) =>
    Promise.resolve(this.secrets.get(`${namespace}/${name}`));

  writeSecret = (write: SecretWrite): Promise<WriteResult<LiveSecret>> => {
    const target = write.kind === "create" ? write.secret : write.on;
    const known = this.secrets.get(secretNameOf(target));
    if (write.kind === "create") {
      if (known !== undefined) return Promise.resolve({ kind: "conflict" });
      const metadata = { ...write.secret.metadata, uid: `secret-${this.version}` };
      this.effects.push(write);
      return Promise.resolve({ kind: "written", object: this.put({ ...write.secret, metadata }) });
    }
    if (known === undefined) return Promise.resolve({ kind: "gone" });
    const { metadata } = write.patch as unknown as LiveSecret;
    if (metadata.resourceVersion !== known.metadata.resourceVersion) {
      return Promise.resolve({ kind: "conflict" });
    }
    this.effects.push(write);
    const object = this.put(merge({ ...known }, write.patch) as unknown as LiveSecret);
    return Promise.resolve({ kind: "written", object });
  };

  private put(secret: Omit<LiveSecret, "metadata"> & { readonly metadata: object }): LiveSecret {
    this.version += 1;
    const metadata = { ...secret.metadata, resourceVersion: String(this.version) };
    const stored = { ...secret, metadata } as LiveSecret;
    this.secrets.set(secretNameOf(stored), stored);
    this.cache.accept(stored);
    return stored;
  }
}
