/**
 * Members of the kubelet's KubeletConfiguration, of all minor versions from 1.30 to 1.35.
 * Source: k8s.io/kubelet, config/v1beta1/types.go at v0.30.4, v0.34.2 and v0.35.3.
 */
const names = `
  address allowedUnsafeSysctls authentication authorization cgroupDriver cgroupRoot
  cgroupsPerQOS clusterDNS clusterDomain configMapAndSecretChangeDetectionStrategy
  containerLogMaxFiles containerLogMaxSize containerLogMaxWorkers
  containerLogMonitorInterval containerRuntimeEndpoint contentType cpuCFSQuota
  cpuCFSQuotaPeriod cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod
  crashLoopBackOff enableContentionProfiling enableControllerAttachDetach
  enableDebugFlagsHandler enableDebuggingHandlers enableProfilingHandler enableServer
  enableSystemLogHandler enableSystemLogQuery enforceNodeAllocatable eventBurst
  eventRecordQPS evictionHard evictionMaxPodGracePeriod evictionMinimumReclaim
  evictionPressureTransitionPeriod evictionSoft evictionSoftGracePeriod failCgroupV1
  failSwapOn featureGates fileCheckFrequency hairpinMode healthzBindAddress healthzPort
  httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent
  imageMaximumGCAge imageMinimumGCAge imagePullCredentialsVerificationPolicy
  imageServiceEndpoint iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification
  kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups
  localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles
  maxParallelImagePulls maxPods memoryManagerPolicy memorySwap memoryThrottlingFactor
  mergeDefaultEvictionSettings nodeLeaseDurationSeconds nodeStatusMaxImages
  nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj podCIDR podLogsDir
  podPidsLimit podsPerCore port preloadedImagesVerificationAllowlist protectKernelDefaults
  providerID qosReserved readOnlyPort registerNode registerWithTaints registryBurst
  registryPullQPS reservedMemory reservedSystemCPUs resolvConf rotateCertificates runOnce
  runtimeRequestTimeout seccompDefault serializeImagePulls serverTLSBootstrap
  showHiddenMetricsForVersion shutdownGracePeriod shutdownGracePeriodByPodPriority
  shutdownGracePeriodCriticalPods singleProcessOOMKill staticPodPath staticPodURL
  staticPodURLHeader streamingConnectionIdleTimeout syncFrequency systemCgroups
  systemReserved systemReservedCgroup tlsCertFile tlsCipherSuites tlsMinVersion
  tlsPrivateKeyFile topologyManagerPolicy topologyManagerPolicyOptions topologyManagerScope
  tracing userNamespaces volumePluginDir volumeStatsAggPeriod
`;

/** The names of all members of a KubeletConfiguration that a kubelet reads. */
export const kubeletFields: ReadonlySet<string> = new Set(names.trim().split(/\s+/));
