import type { EnsureOptions, Install } from "./toolchain.d.mts";

/** The Kubernetes release of the programs that are set up. */
export declare const kubernetesVersion: string;
export declare const etcdVersion: string;

/** The programs of a control plane: etcd, kube-apiserver, kube-controller-manager, kubectl. */
export interface KubernetesToolchain {
  /** Absolute path of the folder that holds them. */
  readonly binDir: string;
  /** What led to it. */
  readonly origin: "CAPSTAN_KUBERNETES" | "cache";
}

export type { EnsureOptions, Install, ToolchainError } from "./toolchain.d.mts";

/**
 * The programs to use, in this order: CAPSTAN_KUBERNETES, the cache; undefined when there are none.
 *
 * @throws ToolchainError when CAPSTAN_KUBERNETES names a folder that lacks one
 */
export declare function findKubernetes(env: NodeJS.ProcessEnv): KubernetesToolchain | undefined;

/**
 * `findKubernetes`, and where that finds nothing, a set-up into the cache by download or build. Safe
 * to be killed, and to be run by several processes at once.
 *
 * @throws ToolchainError when CAPSTAN_KUBERNETES cannot be used, the cache cannot be written, or
 *   neither download nor build succeeds
 */
export declare function ensureKubernetes(options?: EnsureOptions): Promise<KubernetesToolchain>;

/** Fetches the official releases; from other places when they are given. */
export declare function downloadKubernetes(
  request: Parameters<Install>[0] & {
    readonly kubernetesOrigin?: string;
    readonly etcdOrigin?: string;
  },
): Promise<void>;
