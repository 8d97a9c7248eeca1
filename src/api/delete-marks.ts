import type { Profile } from "./set-profile.js";
import type { Annotations } from "./update-policy.js";

/** Marks a Machine that a user wants gone first, by profile. */
export const deleteMachineAnnotation: Readonly<Record<Profile, string>> = {
  v1alpha1: "cluster.k8s.io/delete-machine",
  modern: "cluster.x-k8s.io/delete-machine",
};

/** The annotations among some that mark a Machine in either profile; undefined for none. Pure. */
export function deleteMarksAmong(annotations: Annotations): Annotations {
  const marks = Object.values(deleteMachineAnnotation).flatMap((name) => {
    const value = annotations?.[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return marks.length === 0 ? undefined : Object.fromEntries(marks);
}
