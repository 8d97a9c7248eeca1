/** RFC 3339 in UTC to the second, as Kubernetes writes times. `ms`: milliseconds since the epoch. Pure. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
