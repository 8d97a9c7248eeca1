/**
 * The group that kubeadm gives all rights by a binding, which can be taken away again, unlike those of system:masters.
 * Source: kubeadm's release notes, 1.29.
 */
export const adminGroup = "kubeadm:cluster-admins";
