import { stringify } from "yaml";
import { counted } from "../api/counted.js";
import { driftText } from "../drift/fields.js";
import { versionsText } from "../plan/changes/tree.js";
import { splitHostName } from "../records/host-name.js";
import type { NodeReport } from "../provider/port.js";
import { expiryText } from "../source/certificate-report.js";
import {
  type ClusterReport,
  type MachineReport,
  type ResourceReport,
  type ShownPhase,
} from "./describe-report.js";
import type { CommandContext } from "./context.js";
import { etcdText, isEtcdWell } from "../workload/etcd/etcd-health.js";
import { rowLines, wrap } from "./fit.js";
import { conditionLines, cordonText } from "./node-text.js";
import { openTransactionText } from "./open-transaction.js";
import { pendingOperationLines } from "./pending-operations.js";
import { type Cells, facts, firstThatFits, openTable } from "./table.js";
import type { Colors, Terminal } from "./terminal.js";
import { durationText, momentText } from "./time-text.js";

/** `suggest` names commands as they have to be typed; as they are without. */
type TextOptions = Pick<Terminal, "colors" | "columns"> & Partial<Pick<CommandContext, "suggest">>;

interface Row {
  readonly branch: string;
  readonly label: string;
  readonly phase: ShownPhase | "";
  readonly id: string;
  readonly address: string;
  readonly version: string;
  readonly since: string;
  readonly reason: string;
}

interface Branch {
  readonly row: Omit<Row, "branch">;
  readonly children: readonly Branch[];
}

/** A cluster as a header, a tree with reasons, and what else somebody should know. */
export function clusterText(report: ClusterReport, options: TextOptions, nowMs: number): string {
  const { suggest = (text: string) => text } = options;
  const warnings = warningsOf(report, nowMs).map(suggest);
  return [
    ...headerLines(report),
    "",
    ...treeText(flatten(clusterBranch(report, nowMs), "", ""), options),
    ...(warnings.length === 0
      ? []
      : [
          "",
          ...warnings
            .flatMap((text) => wrap(text, options.columns))
            .map((line) => options.colors.yellow(line)),
        ]),
    "",
  ].join("\n");
}

/** One machine in full, in the form of `kubectl describe`. */
export function machineText(
  { cluster = "" }: ClusterReport,
  machine: MachineReport,
  nowMs: number,
): string {
  const { name, controlPlane, machineSet, machineDeployment, versions } = machine;
  const owners = [
    ...(machineDeployment === undefined ? [] : [`MachineDeployment ${machineDeployment}`]),
    ...(machineSet === undefined ? [] : [`MachineSet ${machineSet}`]),
  ];
  const { containerRuntime: runtime } = versions;
  return [
    ...facts("", [
      ["Name", name],
      ["Cluster", cluster],
      ["Role", controlPlane ? "control plane" : "worker"],
      ["Made by", owners.length === 0 ? "a manifest of its own" : owners.join(", ")],
      ["Failure domain", machine.failureDomain ?? ""],
      ["Phase", machine.phase],
      ["Reason", machine.reason],
    ]),
    "Versions:",
    ...facts("  ", [
      ["Kubelet", versions.kubelet],
      ["Control plane", versions.controlPlane ?? ""],
      ["Container runtime", runtime === undefined ? "" : `${runtime.name} ${runtime.version}`],
    ]),
    "Provider spec:",
    ...stringify(machine.providerSpec)
      .trimEnd()
      .split("\n")
      .map((line) => `  ${line}`),
    "Hosts:",
    ...(machine.hosts.length === 0 ? ["  <none>"] : []),
    ...machine.hosts.flatMap((host) => hostLines(host, nowMs)),
    "",
  ].join("\n");
}

function headerLines(report: ClusterReport): string[] {
  const { cluster, stack, provider, clusterUid, revision, etcd } = report;
  return facts("", [
    ["Cluster", cluster ?? stack],
    ["Stack", stack],
    ["Provider", provider ?? ""],
    ["UID", clusterUid ?? ""],
    ["Revision", revision === 0 ? "none yet" : String(revision)],
    ["Etcd", etcd !== undefined && isEtcdWell(etcd) ? etcdText(etcd) : ""],
  ]);
}

function warningsOf(report: ClusterReport, nowMs: number): string[] {
  const { openTransaction: open, worker, strangers, cloudError } = report;
  const { certificates, etcd } = report;
  return [
    ...(open === null
      ? []
      : [
          openTransactionText({
            ...open,
            stack: report.stack,
            worker,
            revision: report.revision,
            begun: `${durationText(nowMs - open.startedAtMs)} ago`,
          }),
        ]),
    ...pendingOperationLines(report, worker),
    ...strangers.map((what) => `In the cloud but in no record: ${what}`),
    ...certificates.filter(({ withinDays }) => withinDays !== undefined).map(expiryText),
    ...(etcd === undefined || isEtcdWell(etcd) ? [] : [`Etcd: ${etcdText(etcd)}`]),
    ...(cloudError === undefined ? [] : [`The cloud could not be looked at: ${cloudError}`]),
  ];
}

function hostLines(host: ResourceReport, nowMs: number): string[] {
  const { sinceMs, changedMs, drift } = host;
  const when = (ms: number | undefined) => (ms === undefined ? "" : momentText(ms, nowMs));
  return [
    `  ${host.kind} ${host.name}:`,
    ...facts("    ", [
      ["Id", host.id ?? ""],
      ["Phase", host.phase],
      ["Ready since", when(host.readySinceMs)],
      ["Address", host.address ?? ""],
      ["Node", host.node === undefined ? "" : nodeText(host.node)],
      ["Recorded", when(sinceMs)],
      ["Last changed", changedMs === sinceMs ? "" : when(changedMs)],
      ["Reason", host.reason],
    ]),
    ...conditionLines(host.node?.conditions ?? [], nowMs).map((line) => `    ${line}`),
    ...(drift.length === 0 ? [] : ["    Drift (recorded -> seen):"]),
    ...drift.map((field) => `      ${driftText([field])}`),
  ];
}

/** "kubelet 1.34.2, control plane 1.34.2, containerd 2.1.5, Ubuntu 24.04": what a node says that it runs, and who keeps pods from it. */
function nodeText(node: NodeReport): string {
  const { osImage, cordonedBy: by } = node;
  const cordon = by && cordonText(by);
  return [versionsText(node), osImage, cordon].filter((text) => text !== undefined).join(", ");
}

function clusterBranch(report: ClusterReport, nowMs: number): Branch {
  const { machines, infrastructure } = report;
  const name = report.cluster?.split("/")[1] ?? report.stack;
  const single = machines.filter(({ machineSet }) => machineSet === undefined);
  const resources = infrastructure.map((one) => resourceBranch(one, one.name, nowMs));
  return {
    row: { ...noCells, label: `Cluster ${name}`, reason: readiness(machines) },
    children: [
      ...(resources.length === 0
        ? []
        : [{ row: { ...noCells, label: "Infrastructure" }, children: resources }]),
      ...single.map((machine) => machineBranch(machine, nowMs)),
      ...setBranches(machines, nowMs),
    ],
  };
}

/** MachineDeployments with their MachineSets, then MachineSets of their own. */
function setBranches(machines: readonly MachineReport[], nowMs: number): Branch[] {
  const deployments = grouped(machines, ({ machineDeployment }) => machineDeployment);
  const alone = machines.filter(({ machineDeployment }) => machineDeployment === undefined);
  const setsOf = (some: readonly MachineReport[]) =>
    grouped(some, ({ machineSet }) => machineSet).map(([name, members]) =>
      groupBranch(
        `MachineSet ${name}`,
        members,
        members.map((machine) => machineBranch(machine, nowMs)),
      ),
    );
  return [
    ...deployments.map(([name, members]) =>
      groupBranch(`MachineDeployment ${name}`, members, setsOf(members)),
    ),
    ...setsOf(alone),
  ];
}

function groupBranch(
  label: string,
  members: readonly MachineReport[],
  children: readonly Branch[],
): Branch {
  return { row: { ...noCells, label, reason: readiness(members) }, children };
}

function machineBranch(machine: MachineReport, nowMs: number): Branch {
  const { name, phase, versions, hosts } = machine;
  // The host below has the reason, unless there is none to have it.
  const reason = machine.reason === hosts[0]?.reason ? "" : machine.reason;
  return {
    row: { ...noCells, label: `Machine ${name}`, phase, version: versions.kubelet, reason },
    children: hosts.map((host) => resourceBranch(host, hostLabel(host, name), nowMs)),
  };
}

/** A host's name begins with its machine's; the rest of it tells it from the machine's others. */
function hostLabel({ name }: ResourceReport, machine: string): string {
  const { generation, incarnation } = splitHostName(name);
  return generation.startsWith(`${machine}-`)
    ? `${generation.slice(machine.length + 1)}-${incarnation}`
    : name;
}

function resourceBranch(resource: ResourceReport, name: string, nowMs: number): Branch {
  const { kind, phase, id = "", address = "", sinceMs, reason } = resource;
  const version = resource.node?.kubelet ?? "";
  const since = sinceMs === undefined ? "" : durationText(nowMs - sinceMs);
  const label = `${kind} ${name}`;
  return { row: { ...noCells, label, phase, id, address, version, since, reason }, children: [] };
}

/** "2 of 3 machines ready, 1 gone, 1 drifted". */
function readiness(machines: readonly MachineReport[]): string {
  const count = (fits: (machine: MachineReport) => boolean) => machines.filter(fits).length;
  const phase = (wanted: ShownPhase) => count((machine) => machine.phase === wanted);
  const others = [
    [phase("gone"), "gone"],
    [phase("stopped"), "stopped"],
    [phase("failed"), "failed"],
    [phase("deleting"), "being deleted"],
    [phase("unknown"), "unknown"],
    [count(({ hosts }) => hosts.some(({ drift }) => drift.length > 0)), "drifted"],
  ] as const;
  return [
    `${phase("ready")} of ${counted(machines.length, "machine")} ready`,
    ...others.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`),
  ].join(", ");
}

function grouped<T>(items: readonly T[], nameOf: (item: T) => string | undefined): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = nameOf(item);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return [...groups];
}

const noCells = {
  phase: "",
  id: "",
  address: "",
  version: "",
  since: "",
  reason: "",
} as const;

const columnNames = ["phase", "id", "address", "version", "since"] as const;
type ColumnName = (typeof columnNames)[number];

/** What a narrow terminal goes without, first to go first. A reason goes below its row instead. */
const expendable: readonly ColumnName[] = ["since", "address", "version", "id"];

function treeText(rows: readonly Row[], { colors, columns }: TextOptions): string[] {
  const cells = firstThatFits(
    columnChoices(rows).map((names) => cellsOf(rows, names)),
    columns,
  );
  const hasReasons = rows.some(({ phase, reason }) => phase !== "" && reason !== "");
  const tree = openTable(cells, hasReasons ? "REASON" : "", columns);
  return [
    colors.bold(tree.head),
    ...rows.flatMap(({ branch, label, phase, reason: detail }, index) => {
      // A group has nothing in the columns, so what is said about it stands right behind its name.
      const head = phase === "" ? branch + label : (tree.rows[index] ?? "");
      return rowLines({ branch, head, detail }, columns).map((text) =>
        paintedBy(phase, text, colors),
      );
    }),
  ];
}

/** The columns that hold anything, then fewer and fewer of them. */
function columnChoices(rows: readonly Row[]): ColumnName[][] {
  const used = columnNames.filter((name) => rows.some((row) => row[name] !== ""));
  const without = (left: readonly ColumnName[]) => used.filter((name) => !left.includes(name));
  return [used, ...expendable.map((_, index) => without(expendable.slice(0, index + 1)))];
}

function cellsOf(rows: readonly Row[], names: readonly ColumnName[]): Cells {
  return [
    ["NAME", ...names.map((name) => name.toUpperCase())],
    ...rows.map((row) => [row.branch + row.label, ...names.map((name) => row[name])]),
  ];
}

function paintedBy(phase: Row["phase"], text: string, colors: Colors): string {
  switch (phase) {
    case "ready":
      return colors.green(text);
    case "pending":
    case "stopped":
    case "planned":
    case "unknown":
      return colors.yellow(text);
    case "failed":
    case "deleting":
    case "gone":
      return colors.red(text);
    case "external":
      return colors.dim(text);
    case "":
      return text;
  }
}

function flatten({ row, children }: Branch, branch: string, indent: string): Row[] {
  return [
    { ...row, branch },
    ...children.flatMap((child, index) => {
      const isLast = index === children.length - 1;
      return flatten(
        child,
        `${indent}${isLast ? "└─ " : "├─ "}`,
        `${indent}${isLast ? "   " : "│  "}`,
      );
    }),
  ];
}
