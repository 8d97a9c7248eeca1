import { findProcessPrograms, processVersions } from "#kubernetes";
import { CapstanError } from "../../../src/api/error.js";
import type { PlannedStep, PreflightFinding } from "../../../src/provider/port.js";
import { hasPower, nodesOf } from "../file/resource.js";
import { memberPrograms, type ProgramCommand } from "./member-programs.js";

/** Where the programs of a control plane are. */
type ProgramPaths = Readonly<Record<ProgramCommand["program"], string>>;

/** Those of a version. Throws NOT_FOUND where they are not set up. */
export function findPrograms(version: string, env = process.env): ProgramPaths {
  const found = findProcessPrograms(version, env);
  if (found === undefined) {
    throw new CapstanError({ ...missingPrograms(version), source: "user" });
  }
  return Object.fromEntries(
    memberPrograms.map((program) => [program, found(program)]),
  ) as ProgramPaths;
}

/** What keeps the hosts of a plan from running what their Machines ask for: of processes, members alone run programs of a version. */
export function programFindings(steps: readonly PlannedStep[]): PreflightFinding[] {
  const versions = steps.flatMap(({ does, wanted }) => {
    const isWhole = wanted !== undefined && nodesOf(wanted) === "kubeadm";
    const version = wanted?.["controlPlane"] ?? (isWhole ? wanted["kubelet"] : undefined);
    const isAsked = does !== "delete" && wanted !== undefined && hasPower(wanted);
    return isAsked && typeof version === "string" ? [version] : [];
  });
  return [...new Set(versions)].flatMap((version) => {
    if (!processVersions.includes(version)) return [unknownVersion(version)];
    return findProcessPrograms(version, process.env) === undefined
      ? [missingPrograms(version)]
      : [];
  });
}

function unknownVersion(version: string): PreflightFinding {
  return {
    code: "UNSUPPORTED_CHANGE",
    message: `hosts of this machine run no Kubernetes ${version}`,
    hint: `they run ${processVersions.join(" or ")}: name one of them in versions`,
  };
}

/** What is told where the programs of a version are not set up. Pure. */
export function missingPrograms(version: string) {
  return {
    code: "NOT_FOUND",
    message: `the programs of Kubernetes ${version} are not there`,
    hint: `capstan local install ${version} sets them up, once, in about ten minutes where they have to be built`,
  } as const;
}
