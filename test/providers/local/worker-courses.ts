import type { V1Node, V1Pod } from "@kubernetes/client-node";
import type { ObjectChange } from "../../support/object-changes.js";

/** "free 1.34.2", as a Node says. */
export function stateOf({ spec, status }: V1Node): string {
  const version = status?.nodeInfo?.kubeletVersion.replace(/^v/, "") ?? "";
  return `${spec?.unschedulable === true ? "cordoned" : "free"} ${version}`;
}

export function serves({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined && status?.phase === "Running";
}

interface Asked {
  /** By which pods are listed and watched. */
  readonly podsPath: string;
  /** The state in which a worker is to have no pod. */
  readonly disturbing: string;
}

/** What happened to the workers: the states of each, how many pods there were as one came to a state, and the fewest that served. */
export function toldBy(changes: readonly ObjectChange[], { podsPath, disturbing }: Asked) {
  const courses = new Map<string, string[]>();
  const disturbed: number[] = [];
  const there = new Map<string, V1Pod>();
  const served: number[] = [];
  for (const { path, isGone, object } of changes) {
    const name = object.metadata?.name ?? "";
    if (path === podsPath) {
      if (isGone) there.delete(name);
      else there.set(name, object);
      served.push([...there.values()].filter(serves).length);
    } else if (isWorker(object)) {
      const course = courses.get(name) ?? [];
      courses.set(name, course);
      const state = stateOf(object);
      if (course.at(-1) === state) continue;
      course.push(state);
      const left = [...there.values()].filter(({ spec }) => spec?.nodeName === name);
      if (state === disturbing) disturbed.push(left.length);
    }
  }
  // First it is told of the pods that there were, one after the other.
  const fewest = Math.min(...served.slice(served.indexOf(2)));
  return { courses, disturbed, fewest };
}

export function isWorker({ metadata }: V1Node): boolean {
  return metadata?.name?.startsWith("workers-") === true;
}
