/** The labels below that a kubelet may give its own Node. Source: kubelet's --node-labels, NodeRestriction. */
const ownLabels: readonly string[] = [
  "kubernetes.io/hostname",
  "kubernetes.io/arch",
  "kubernetes.io/os",
  "node.kubernetes.io/instance-type",
  "node.kubernetes.io/windows-build",
  "topology.kubernetes.io/region",
  "topology.kubernetes.io/zone",
];
const ownDomains: readonly string[] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const reservedDomains: readonly string[] = ["kubernetes.io", "k8s.io"];

/**
 * Whether a kubelet may give its own Node a label. One that is told another does not start, so that its host would
 * never join: those are for whoever may change any Node. Pure.
 */
export function isKubeletLabel(label: string): boolean {
  const domain = label.includes("/") ? label.slice(0, label.indexOf("/")) : "";
  const isIn = (domains: readonly string[]) =>
    domains.some((one) => domain === one || domain.endsWith(`.${one}`));
  return ownLabels.includes(label) || isIn(ownDomains) || !isIn(reservedDomains);
}
