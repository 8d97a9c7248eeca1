import assert from "node:assert/strict";
import { commandLine } from "../../scenario/sandbox.js";
import { until } from "../../scenario/until.js";
import { freePorts } from "../../support/free-ports.js";
import { AccountHosts } from "../../providers/aws/hosts/account-hosts.js";
import { RunningHosts } from "../../providers/aws/hosts/running-hosts.js";
import type { HostClusterState } from "../../providers/aws/hosts/host-cluster.js";
import { Servers } from "../../support/servers.js";
import type { AccountTables, AccountCall } from "./account.js";

/** A call that stands still. */
export interface HeldCall {
  readonly seq: number;
  readonly when: string;
}

/** All that there was at one moment: the account, and what ran on its instances. */
export interface SimulatorSnapshot {
  readonly account: object;
  readonly hosts: HostClusterState;
}

const region = "eu-north-1";

/**
 * A simulated AWS in a process of its own, driven as docs/sim-aws.md says. Its address is a part of what states record, so that a state counts
 * for one simulator alone.
 */
export class Simulator {
  private constructor(
    private readonly servers: Servers,
    private readonly endpoint: string,
    /** What runs on its instances. */
    readonly hosts: RunningHosts,
  ) {}

  static async start(): Promise<Simulator> {
    const servers = new Servers("chaos-aws");
    const [port = 0] = await freePorts(1);
    const endpoint = `http://127.0.0.1:${port}`;
    const options = ["--port", String(port), "--speed", "60", "--lag", "10000"];
    servers.start("sim", process.execPath, [
      commandLine,
      "sim",
      "aws",
      "--region",
      region,
      ...options,
    ]);
    const listens = () => {
      servers.pidOf("sim");
      return fetch(`${endpoint}/_sim/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    // Several may start at a time, each beside commands that run.
    await until("the simulator listens", listens, 120_000);
    return new Simulator(servers, endpoint, await RunningHosts.start(new AccountHosts(endpoint)));
  }

  async close(): Promise<void> {
    await this.hosts.stop();
    await this.servers.endAll();
  }

  /** The same for commands of ours, whose long waits go as fast as its time does. */
  get hurriedEnv(): Readonly<Record<string, string>> {
    const timers = new URL("./hurried-timers.js", import.meta.url).href;
    const { NODE_OPTIONS: relay = "", ...hosts } = this.hosts.env;
    return { ...this.env, ...hosts, NODE_OPTIONS: `--import=${timers} ${relay}` };
  }

  /** What leads the tools of AWS to it. */
  get env(): Readonly<Record<string, string>> {
    return {
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: "simulated",
      AWS_SECRET_ACCESS_KEY: "simulated",
    };
  }

  /** The tables of the one region that is used. */
  async account(): Promise<AccountTables> {
    const state = await this.asked<Readonly<Record<string, AccountTables>>>("state");
    const [account = {}] = Object.entries(state).flatMap(([place, one]) =>
      place.endsWith(`/${region}`) ? [one] : [],
    );
    return account;
  }

  ledger(after: number): Promise<readonly AccountCall[]> {
    return this.asked(`ledger?after=${after}`);
  }

  /** The number of the last call. */
  async ledgerEnd(): Promise<number> {
    return (await this.ledger(0)).at(-1)?.seq ?? 0;
  }

  held(): Promise<readonly HeldCall[]> {
    return this.asked("held");
  }

  async order(fault: object): Promise<void> {
    await this.asked("faults", "POST", fault);
  }

  /** Nothing more is to go wrong. */
  async clearFaults(): Promise<void> {
    await this.asked("faults", "DELETE");
  }

  /** Lets one held call go on, or all of them. */
  async release(how: "go" | "cut", seq?: number): Promise<void> {
    await this.asked("release", "POST", { how, ...(seq !== undefined && { seq }) });
  }

  async advance(ms: number): Promise<void> {
    await this.asked("advance", "POST", { ms });
  }

  async snapshot(): Promise<SimulatorSnapshot> {
    const hosts = await this.hosts.now();
    return { account: await this.asked("snapshot"), hosts };
  }

  async restore({ account, hosts }: SimulatorSnapshot): Promise<void> {
    await this.asked("snapshot", "POST", account);
    await this.hosts.restore(hosts);
  }

  private async asked<T>(route: string, method = "GET", body?: object): Promise<T> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${this.endpoint}/_sim/${route}`, { method, ...sent });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${route}: ${text}`);
    return JSON.parse(text) as T;
  }
}
