import { setTimeout as wait } from "node:timers/promises";
import { type CoreV1Api, PatchStrategy, type V1Pod } from "@kubernetes/client-node";
import { within } from "../../../src/kube/requests.js";
import type { AuditEvent } from "../../support/api-server.js";

const namespace = "default";
const pauseMs = 50;

/** Pods that a budget keeps available. */
interface BudgetedApp {
  readonly name: string;
  readonly replicas: number;
  readonly minAvailable: number;
}

export const budgetedApps: readonly BudgetedApp[] = [
  { name: "front", replicas: 5, minAvailable: 4 },
  { name: "store", replicas: 3, minAvailable: 2 },
  { name: "batch", replicas: 4, minAvailable: 1 },
];

/** The budgets as manifests. */
export function budgets(): object[] {
  return budgetedApps.map(({ name, minAvailable }) => ({
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { minAvailable, selector: { matchLabels: { app: name } } },
  }));
}

/**
 * What kubelets, a scheduler and the controllers of the apps do: what is to end ends, and what is missing comes on a Node that takes
 * pods and is ready at once.
 */
export class AppsKeeper {
  private made = 0;
  private isOver = false;
  private running: Promise<void> = Promise.resolve();

  constructor(private readonly core: CoreV1Api) {}

  start(): void {
    this.running = this.keep();
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await this.running;
  }

  async keepOnce(): Promise<void> {
    const { items } = await this.core.listNamespacedPod({ namespace });
    const [ending, standing] = [
      items.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined),
      items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined),
    ];
    for (const { metadata } of ending) {
      await this.core
        .deleteNamespacedPod({ name: metadata?.name ?? "", namespace, gracePeriodSeconds: 0 })
        .catch(() => {});
    }
    for (const { name, replicas } of budgetedApps) {
      const there = standing.filter(({ metadata }) => metadata?.labels?.["app"] === name).length;
      for (let more = there; more < replicas; more += 1) await this.make(name);
    }
  }

  private async keep(): Promise<void> {
    while (!this.isOver) {
      await this.keepOnce();
      await wait(pauseMs);
    }
  }

  private async make(app: string): Promise<void> {
    const { items } = await this.core.listNode();
    const open = items.filter(({ spec }) => spec?.unschedulable !== true);
    const nodeName = open[this.made % open.length]?.metadata?.name;
    if (nodeName === undefined) return;
    this.made += 1;
    const name = `${app}-${this.made}`;
    const body = {
      metadata: { name, labels: { app } },
      spec: { nodeName, containers: [{ name: "main", image: "none" }] },
    } as V1Pod;
    await this.core.createNamespacedPod({ namespace, body });
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    await this.core.patchNamespacedPodStatus(
      { name, namespace, body: { status } },
      within(PatchStrategy.MergePatch),
    );
  }
}

/** What an API server has written down about drains, held against the budgets. */
export interface DrainJudgement {
  /** Pods that were evicted. */
  readonly evicted: number;
  /** Evictions that a budget refused. */
  readonly refused: number;
  /** How few pods of an app were available at any time, after it had all of them once, and what the drains did beside evicting. */
  readonly broken: readonly string[];
}

/** `drainer`: the user of the drains. In the order in which requests were answered. Pure. */
export function judged(events: readonly AuditEvent[], drainer: string): DrainJudgement {
  const available = new Map(budgetedApps.map(({ name }) => [name, new Set<string>()]));
  const complete = new Set<string>();
  const evicted = new Set<string>();
  const broken: string[] = [];
  let refused = 0;
  for (const { objectRef, responseStatus, stage, verb, user } of events) {
    if (stage !== "ResponseComplete" || objectRef?.resource !== "pods") continue;
    const { name = "", subresource } = objectRef;
    const code = responseStatus?.code ?? 0;
    const isTheirs = user.username === drainer;
    if (isTheirs && verb.startsWith("delete")) broken.push(`${name} was deleted by ${drainer}`);
    if (subresource === "eviction" && code === 429) refused += 1;
    if (code >= 300) continue;
    const app = budgetedApps.find((one) => name.startsWith(`${one.name}-`));
    const pods = available.get(app?.name ?? "");
    if (app === undefined || pods === undefined) continue;
    if (subresource === "status") pods.add(name);
    if (pods.size === app.replicas) complete.add(app.name);
    if (subresource !== "eviction") continue;
    evicted.add(name);
    pods.delete(name);
    if (complete.has(app.name) && pods.size < app.minAvailable) {
      broken.push(`${name}: ${pods.size} of ${app.minAvailable} available`);
    }
  }
  return { evicted: evicted.size, refused, broken };
}
