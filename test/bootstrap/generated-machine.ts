import fc from "fast-check";
import { asJson } from "../../src/api/json.js";
import type { KubeadmPatch } from "../../src/api/kubeadm-patch.js";
import type { MachineToCompile, UserDataTerms } from "../../src/provider/port.js";

const word = fc.stringMatching(/^[a-z]([a-z0-9-]{0,12}[a-z0-9])?$/);
const words = fc.dictionary(word, fc.string({ maxLength: 30 }), { maxKeys: 4 });
const texts = fc.array(word, { maxLength: 3 });
/** What kubeadm of every minor knows. */
const featureGate = fc.constantFrom("RootlessControlPlane", "PublicKeysECDSA");
const kubeletNumber = fc.constantFrom("maxPods", "podsPerCore", "registryBurst", "oomScoreAdj");
const folder = word.map((name) => `/var/lib/${name}`);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const component = fc.record({ extraArgs: words }, { requiredKeys: [] });
const patch: fc.Arbitrary<KubeadmPatch> = fc.record(
  {
    clusterConfiguration: fc.record(
      {
        imageRepository: word,
        featureGates: fc.dictionary(featureGate, fc.boolean()),
        apiServer: fc.record({ extraArgs: words, certSANs: texts }, { requiredKeys: [] }),
        controllerManager: component,
        scheduler: component,
        dns: fc.record({ imageTag: word }, { requiredKeys: [] }),
        etcd: fc.record(
          { local: fc.record({ extraArgs: words, dataDir: folder }, { requiredKeys: [] }) },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
    nodeRegistration: fc.record(
      { kubeletExtraArgs: words, ignorePreflightErrors: texts },
      { requiredKeys: [] },
    ),
    kubeletConfiguration: fc.dictionary(kubeletNumber, fc.nat(), { maxKeys: 3 }),
  },
  { requiredKeys: [] },
);

/** Now and then more than any cloud takes, and not to be packed: hexadecimal noise. */
const annotations = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(word, fc.string({ maxLength: 40 }), { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ minLength: 4_000, maxLength: 12_000 })
      .map((bytes) => ({ noise: Buffer.from(bytes).toString("base64") })),
  },
);

/** A Machine of one of some versions of Kubernetes, with everything that users say of it. */
export const machineOf = (versions: readonly string[]): fc.Arbitrary<MachineToCompile> =>
  fc
    .record({
      name: word,
      controlPlane: fc.boolean(),
      version: fc.constantFrom(...versions),
      runtime: optional(
        fc.constantFrom(
          { name: "containerd", version: "1.7.27" },
          { name: "containerd", version: "2.1.5" },
          { name: "cri-o", version: "1.34.2" },
        ),
      ),
      labels: words,
      annotations,
      taints: fc.array(
        fc.record({
          key: word,
          effect: fc.constantFrom("NoSchedule" as const, "NoExecute" as const),
        }),
        { maxLength: 3 },
      ),
      isSchedulable: fc.boolean(),
      kubeadm: patch,
    })
    .map(({ name, controlPlane, version, runtime, isSchedulable, kubeadm, ...about }) => ({
      name,
      controlPlane,
      providerSpec: { kubeadm: asJson(kubeadm) },
      lookedUp: {},
      spec: {
        versions: {
          kubelet: version,
          ...(controlPlane && { controlPlane: version }),
          ...(runtime !== undefined && { containerRuntime: runtime }),
        },
        metadata: { labels: about.labels, annotations: about.annotations },
        taints: about.taints,
        ...(controlPlane && { roles: isSchedulable ? ["Master", "Node"] : ["Master"] }),
        providerSpec: {},
      },
    }));

/** What hosts of a provider take. */
export const terms: fc.Arbitrary<UserDataTerms> = fc
  .record({
    format: fc.constantFrom("cloud-config" as const, "ignition" as const),
    source: fc.constantFrom("apt" as const, "image" as const),
    hasCloudController: fc.boolean(),
    counts: fc.constantFrom("plain" as const, "packed" as const),
    bytes: fc.constantFrom(16_384, 20_000),
  })
  .map(({ source, counts, bytes, ...rest }) => ({
    ...rest,
    limit: { counts, bytes },
    software: () => source,
    containerRuntime: { name: "containerd", version: "2.1.5" },
    commands: { name: "hostname", address: "hostname -i" },
  }));
