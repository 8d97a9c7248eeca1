// What hosts of this machine and tests run of Kubernetes, in sets that are set up each by itself.

/** The version that tests run control planes and nodes of. */
export const kubernetesVersion = "1.35.3";

/** As locked in the folder etcd beside this file. */
export const etcdVersion = "3.6.5";

export const etcdFile = "etcd";

/** The archive of a release that holds each of its programs for a control plane and for nodes. */
export const serverArchive = "kubernetes-server";

/**
 * What files of these releases are, by "<file> <version> <architecture>"; of etcd its archive. Nothing is believed that is fetched
 * beside them. Source: kubernetes-sigs/kubespray, checksums.yml at 46dbdd399, and at 1093c76f9 for 1.30.4.
 *
 * @type {ReadonlyMap<string, string>}
 */
const programDigests = new Map(
  [
    ["etcd 3.6.5 amd64", "66bad39ed920f6fc15fd74adcb8bfd38ba9a6412f8c7852d09eb11670e88cac3"],
    ["etcd 3.6.5 arm64", "7010161787077b07de29b15b76825ceacbbcedcb77fe2e6832f509be102cab6b"],
    ["kubeadm 1.30.4 amd64", "6c6053fb8b31030ef7fffe146eb29489f7bf53d7a5ca10e0b10c907bf4b7e281"],
    ["kubeadm 1.30.4 arm64", "609afad8590afb39b500cc5175c64b17690f7bf0b0eebcf1d347656d262e5c8c"],
    ["kubeadm 1.34.2 amd64", "6a2346006132f6e1ed0b5248e518098cf5abbce25bf11b8926fb1073091b83f4"],
    ["kubeadm 1.34.2 arm64", "065f7de266c59831676cc48b50f404fd18d1f6464502d53980957158e4cab3a7"],
    ["kubeadm 1.35.3 amd64", "a3fb4b3a214a807e2ef4c3fda3196c7f97dcf8152558de5a3c473c869bda0b07"],
    ["kubeadm 1.35.3 arm64", "647a9821c37a27bcaf6d679a191732b686c01cecd0219d5e579129f0cfd62cef"],
    ["kubectl 1.35.3 amd64", "fd31c7d7129260e608f6faf92d5984c3267ad0b5ead3bced2fe125686e286ad6"],
    ["kubectl 1.35.3 arm64", "6f0cd088a82dde5d5807122056069e2fac4ed447cc518efc055547ae46525f14"],
    ["kubelet 1.34.2 amd64", "9c5e717b774ee9b9285ce47e7d2150c29e84837eb19a7eaa24b60b1543c9d58f"],
    ["kubelet 1.34.2 arm64", "3e31b1bee9ab32264a67af8a19679777cd372b1c3a04b5d7621289cf137b357c"],
    ["kubelet 1.35.3 amd64", "28d570423eaad5f1f5658a646bd8c015c786c95d62ffaf14bf35fa0c4326fa05"],
    ["kubelet 1.35.3 arm64", "58496a5d16d4316b18397735190d2d41e0c368169ecb458d91b09f4cd1e03c80"],
  ].map(([file = "", digest = ""]) => [file, `sha256:${digest}`]),
);

/**
 * The same of archives, for programs whose own digests no source outside of the release tells: kube-apiserver,
 * kube-controller-manager and kube-scheduler. Source: the change logs of Kubernetes 1.35 and 1.34 in kubernetes/kubernetes
 * at 008b36529, "Server Binaries".
 *
 * @type {ReadonlyMap<string, string>}
 */
const archiveDigests = new Map(
  [
    [
      `${serverArchive} 1.34.2 amd64`,
      "016b09cb70b4335201095b96cd564059eece9ece9e945e045b4558afa9dbd99840cd7a48ed6c06a888276c939c8dc30afc8a7435689c9efd295a9f9de1f477c3",
    ],
    [
      `${serverArchive} 1.34.2 arm64`,
      "b5a74b68e3e88f420ff6bae262f0611a80360672a05170b71613babb4fd072f36b2f067347feb16f0a9c1b20bca01fc8c07d83e3a55ecd133615c9fa6e5066ca",
    ],
    [
      `${serverArchive} 1.35.3 amd64`,
      "0cb116bd777a249bdd4e1481028a61abba506071d7b59fdf8bf27d9214a5f123d23acc90b6de9cf15419b67ddd3cb1f5aa5b94389799c4842e6daf4a00db366c",
    ],
    [
      `${serverArchive} 1.35.3 arm64`,
      "90c0f86ecd67f5b0289c6297e3bdcaea1990ef306e4fb312a299c8f675daac63ee100f605b4f5448427c88d1b8dcc52a9a6d7a5c37bb2c60c2b23a57ea14db23",
    ],
  ].map(([file = "", digest = ""]) => [file, `sha512:${digest}`]),
);

/** Digests of everything that is downloaded, as `fetchFile` takes them. A set with a program that none of them covers is built. */
export const kubernetesDigests = new Map([...programDigests, ...archiveDigests]);

/**
 * @typedef {object} ProgramSet
 * @property {string} name of its folder in the cache
 * @property {string} version of Kubernetes
 * @property {readonly string[]} files its programs
 * @property {URL} module the folder that locks what those of Kubernetes are built from
 */

/** @type {ProgramSet} */
export const controlPlaneSet = {
  name: "kubernetes",
  version: kubernetesVersion,
  files: [etcdFile, "kube-apiserver", "kube-controller-manager", "kubectl"],
  module: new URL("kubernetes", import.meta.url),
};

/** @type {ProgramSet} What a host runs beside the control plane, or before there is one. */
export const nodeSet = {
  name: "kubernetes-node",
  version: kubernetesVersion,
  files: ["kubeadm", "kubelet", "kube-scheduler"],
  module: controlPlaneSet.module,
};

/** @type {readonly ProgramSet[]} Older minors: the one before, and the last that reads v1beta3 only. */
export const olderKubeadmSets = ["1.34.2", "1.30.4"].map((version) => ({
  name: "kubeadm",
  version,
  files: ["kubeadm"],
  module: new URL(`kubernetes-${version.replace(/\.\d+$/, "")}`, import.meta.url),
}));

/** @type {ProgramSet} The minor before, with kubeadm of its own above; etcd and kubectl of today suit it. */
export const previousSet = {
  name: "kubernetes-previous",
  version: "1.34.2",
  files: ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"],
  module: new URL("kubernetes-1.34", import.meta.url),
};

/** Every set. */
export const programSets = [controlPlaneSet, nodeSet, ...olderKubeadmSets, previousSet];
