import type { HostShell } from "../../providers/local/kubeadm/host-shell.js";

/** Throws an Error unless the API server of this very member of the control plane is ready. */
export async function assertServes(member: HostShell): Promise<void> {
  const asking = 'kubectl --server "https://$(hostname):6443" get --raw /readyz';
  await member.run("sh", "-c", `KUBECONFIG=/etc/kubernetes/admin.conf ${asking}`);
}
