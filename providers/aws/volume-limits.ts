import { isJsonObject, type JsonObject } from "../../src/api/json.js";
import type { PlannedStep, PreflightFinding } from "../../src/provider/port.js";

/** What a type of volume takes. */
interface Limits {
  /** Operations per second that can be asked for, at least, and for each GiB at most. Absent: none can. */
  readonly iops?: { readonly least: number; readonly mostPerGib: number };
  /** MiB/s for each operation per second, at most. Absent: no throughput can be asked for. */
  readonly throughputPerIops?: number;
  /** Whether operations have to be asked for. */
  readonly needsIops?: true;
}

/** Source: EBS user guide, "General Purpose SSD volumes" and "Provisioned IOPS SSD volumes". */
const limits: Readonly<Record<string, Limits>> = {
  gp3: { iops: { least: 3_000, mostPerGib: 500 }, throughputPerIops: 0.25 },
  io1: { iops: { least: 100, mostPerGib: 50 }, needsIops: true },
  io2: { iops: { least: 100, mostPerGib: 1_000 }, needsIops: true },
};

/** Volumes whose size, operations and throughput do not go together: EC2 refuses them when it makes them. Pure. */
export function volumeFindings(steps: readonly PlannedStep[]): PreflightFinding[] {
  return steps.flatMap(({ does, kind, name, wanted = {} }) => {
    const { rootVolume } = wanted;
    if (does !== "delete" && kind === "AwsVolume") return problemsOf(`volume ${name}`, wanted);
    if (does === "create" && kind === "AwsInstance" && isJsonObject(rootVolume)) {
      return problemsOf(`root volume of ${name}`, rootVolume);
    }
    return [];
  });
}

function problemsOf(what: string, volume: JsonObject): PreflightFinding[] {
  const { gib, type, iops, throughput } = volume;
  const { iops: range, throughputPerIops, needsIops }: Limits = limits[String(type)] ?? {};
  const problem = (message: string, hint: string): PreflightFinding => {
    return { code: "INVALID_INPUT", message: `${what}: ${message}`, hint };
  };
  if (range === undefined) {
    const has = iops !== undefined ? "iops" : "throughput";
    if (iops === undefined && throughput === undefined) return [];
    return [problem(`a volume of type ${String(type)} takes no ${has}`, `leave out ${has}`)];
  }
  const found: PreflightFinding[] = [];
  const [size, asked] = [Number(gib), typeof iops === "number" ? iops : undefined];
  if (asked === undefined && needsIops === true) {
    found.push(problem(`a volume of type ${String(type)} needs iops`, "set iops"));
  }
  if (asked !== undefined && asked < range.least) {
    const least = `type ${String(type)} has ${range.least} iops at least`;
    found.push(problem(`${least}, and ${asked} are set`, `set iops to ${range.least} or more`));
  }
  // What the type has without being asked it has in each size.
  if (asked !== undefined && asked > Math.max(range.least, size * range.mostPerGib)) {
    found.push(
      problem(
        `${asked} iops need ${Math.ceil(asked / range.mostPerGib)} GiB, and it has ${size}`,
        `type ${String(type)} has ${range.mostPerGib} iops for each GiB at most`,
      ),
    );
  }
  if (typeof throughput !== "number") return found;
  if (throughputPerIops === undefined) {
    found.push(
      problem(`a volume of type ${String(type)} takes no throughput`, "leave out throughput"),
    );
  } else if (throughput > (asked ?? range.least) * throughputPerIops) {
    found.push(
      problem(
        `${throughput} MiB/s need ${Math.ceil(throughput / throughputPerIops)} iops, and it has ${asked ?? range.least}`,
        "set more iops, or less throughput",
      ),
    );
  }
  return found;
}
