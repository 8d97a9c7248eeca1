import assert from "node:assert/strict";
import { secretNamedIn } from "./first-start.js";
import type { InstanceFacts } from "./host-cluster.js";

/** How long kubeadm takes after an instance runs, and cloud-init before it, in the account's time. */
export const joinMs = 120_000;
export const bootMs = 10_000;

interface InstanceRow {
  readonly id: string;
  readonly state: string;
  readonly launchedAtMs: number;
  readonly zone: string;
  readonly userData?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

interface InterfaceRow {
  readonly privateIp: string;
  readonly attachment?: { readonly instanceId?: string };
}

interface SecretRow {
  readonly name: string;
  readonly content: { readonly value: string };
}

interface Tables {
  readonly instances?: readonly InstanceRow[];
  readonly interfaces?: readonly InterfaceRow[];
  readonly secrets?: readonly SecretRow[];
}

/** Whoever can tell what instances there are. */
export interface HostSource {
  /** From now on load balancers find instances as they are told to. */
  begin(): Promise<void>;
  /** All instances with our marks, and the time there. */
  look(): Promise<{ readonly instances: readonly InstanceFacts[]; readonly accountMs: number }>;
  /** How load balancers find an instance from now on. */
  tellHealth(id: string, health: "healthy" | "unhealthy"): Promise<void>;
}

/** The hosts of a simulated account, as its own routes tell of them (docs/sim-aws.md). */
export class AccountHosts implements HostSource {
  /** `startMs`: how long cloud-init and kubeadm take, in the account's time. */
  constructor(
    private readonly endpoint: string,
    private readonly startMs = bootMs + joinMs,
  ) {}

  async begin(): Promise<void> {
    await this.asked("settings", { answersWhenTold: true });
  }

  async look(): Promise<{
    readonly instances: readonly InstanceFacts[];
    readonly accountMs: number;
  }> {
    const [state, { nowMs: accountMs }] = await Promise.all([
      this.asked<Readonly<Record<string, Tables>>>("state"),
      this.asked<{ readonly nowMs: number }>("time"),
    ]);
    const tables = Object.entries(state);
    const instances = tables.flatMap(([place, one]) =>
      factsIn(one, place.split("/").at(-1) ?? "", this.startMs),
    );
    return { instances, accountMs };
  }

  async tellHealth(id: string, health: "healthy" | "unhealthy"): Promise<void> {
    await this.asked("instance", { id, health });
  }

  private async asked<T>(route: string, body?: object): Promise<T> {
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${this.endpoint}/_sim/${route}`, sent);
    const text = await answer.text();
    assert.ok(answer.ok, `${route}: ${text}`);
    return JSON.parse(text) as T;
  }
}

function factsIn(
  { instances = [], interfaces = [], secrets = [] }: Tables,
  region: string,
  startMs: number,
): InstanceFacts[] {
  const toldBy = (userData: string) => {
    const name = secretNamedIn(userData);
    if (name === undefined) return userData;
    return secrets.find((one) => one.name === name)?.content.value;
  };
  return instances
    .filter(({ tags = {}, userData }) => tags["capstan:token"] !== undefined && userData)
    .map(({ id, state, launchedAtMs, zone, userData = "" }) => {
      const own = interfaces.find(({ attachment }) => attachment?.instanceId === id);
      const address = own?.privateIp ?? "";
      return {
        id,
        isRunning: state === "running",
        dueAtMs: launchedAtMs + startMs,
        told: toldBy(userData),
        providerId: `aws:///${zone}/${id}`,
        hostname: `ip-${address.replaceAll(".", "-")}.${region}.compute.internal`,
        address,
      };
    });
}
