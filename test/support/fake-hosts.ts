import { gunzipSync } from "node:zlib";
import { CapstanError } from "../../src/api/error.js";
import type { BootstrapKind } from "../../src/bootstrap/host/member-role.js";
import { configurationPath } from "../../src/bootstrap/host/host-bootstrap.js";
import type { OpenTokens } from "../../src/engine/run/token-store.js";
import type { Observed, SecretStore, UserData, UserDataTerms } from "../../src/provider/port.js";
import type { LawWatch } from "./law-watch.js";

/** What a cloud's hosts do with what they are given at their first start: begin a cluster, or join it. */
export class FakeHosts {
  /** What is kept for hosts, by name. */
  readonly kept = new Map<string, Uint8Array>();
  /** Tokens that are good, by the identity token of the host that they are for. */
  readonly tokens = new Map<string, string>();
  private readonly did = new Map<string, BootstrapKind>();
  /** Whether a revision with a control plane is recorded. */
  isCommitted: () => boolean = () => false;

  constructor(private readonly watch: LawWatch) {}

  /** Terms of a provider whose cloud keeps secrets, and whose hosts run. */
  terms(
    { simulated: _simulated, ...terms }: UserDataTerms,
    change: <T>(what: string, effect: () => T) => Promise<T>,
  ): UserDataTerms {
    const secrets: SecretStore = {
      put: (_ctx, name, content) => change(`keep ${name}`, () => void this.kept.set(name, content)),
      delete: (_ctx, name) => change(`forget ${name}`, () => void this.kept.delete(name)),
      fetchCommand: (name) => `fetch ${name}`,
    };
    return { ...terms, secrets };
  }

  /** Of a cluster of which some member serves. */
  openTokens(members: () => readonly Observed[]): OpenTokens {
    const answering = <T>(effect: () => T): Promise<T> => {
      const serves = members().some(
        ({ id, phase }) => phase === "ready" && isMember(this.did.get(id)),
      );
      return serves ? Promise.resolve(effect()) : Promise.reject(noAnswer());
    };
    return async () => ({
      issue: ({ token }) =>
        answering(() => {
          this.tokens.set(token, "abcdef.0123456789abcdef");
          return "abcdef.0123456789abcdef";
        }),
      extend: () => answering(() => undefined),
      revoke: ({ token }) => answering(() => void this.tokens.delete(token)),
    });
  }

  /** A host has been made that does this first. `others`: everything that is alive. */
  made(host: Observed, kind: BootstrapKind, others: readonly Observed[]): void {
    this.did.set(host.id, kind);
    if (kind !== "init") return;
    const { name, clusterUid } = host.who;
    const hosts = others.filter(
      ({ id, who }) => id !== host.id && who.clusterUid === clusterUid && this.did.has(id),
    );
    const [other] = hosts;
    if (other !== undefined) {
      this.watch.blame(
        "law 16: one cluster",
        `${name} begins a second one beside ${other.who.name}`,
      );
    }
    if (this.isCommitted()) {
      this.watch.blame("law 16: one cluster", `${name} begins one where one was committed`);
    }
  }

  /** What a host does with what it is given. Throws an Error for user data that leads to nothing. */
  kindIn({ text }: UserData): BootstrapKind {
    const [, name = ""] = /fetch (capstan-[0-9a-f]+)/.exec(text) ?? [];
    const content = this.kept.get(name);
    if (content === undefined) throw new Error(`nothing is kept as ${name}`);
    const script = gunzipSync(content).toString();
    const [, encoded = ""] = script.split(`put '${configurationPath}' 0600 <<'END'\n`);
    const [lines = ""] = encoded.split("\nEND\n", 1);
    const configuration = Buffer.from(lines, "base64").toString();
    if (configuration.includes("kind: InitConfiguration")) return "init";
    return configuration.includes("controlPlane:") ? "joinControlPlane" : "joinWorker";
  }

  /** What is still kept, or still good, for hosts that are nodes or that nobody has. */
  leftOver(alive: readonly Observed[]): string[] {
    const pending = new Set(
      alive.filter(({ phase }) => phase !== "ready").map(({ who }) => who.token),
    );
    const kept = [...this.kept.keys()].map((name) => name.replace("capstan-", ""));
    return kept.filter((token) => !pending.has(token));
  }
}

function isMember(kind: BootstrapKind | undefined): boolean {
  return kind === "init" || kind === "joinControlPlane";
}

function noAnswer(): CapstanError {
  return new CapstanError({
    code: "API_SERVER",
    source: "cloud",
    message: "no API server answers",
    retryable: true,
  });
}
