/** The programs of a control plane: etcd, kube-apiserver, kube-controller-manager, kubectl. */
export interface KubernetesToolchain {
  /** Absolute path of the folder that holds them. */
  readonly binDir: string;
  /** What led to it. */
  readonly origin: "CAPSTAN_KUBERNETES" | "cache";
}

/**
 * The programs to use, in this order: CAPSTAN_KUBERNETES, the cache; undefined when there are none.
 *
 * @throws ToolchainError when CAPSTAN_KUBERNETES names a folder that lacks one
 */
export declare function findKubernetes(env: NodeJS.ProcessEnv): KubernetesToolchain | undefined;
