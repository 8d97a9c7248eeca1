/** The machine that a host serves, by its name: <machine>-<8 hex digits>-<incarnation>. */
export function machineOf(host: string): string {
  return host.replace(/-[0-9a-f]{8}-\d+$/, "");
}
