import {
  type AppsV1Api,
  type CoreV1Api,
  PatchStrategy,
  V1ObjectMeta,
} from "@kubernetes/client-node";
import { type Addon, addonImage, addons } from "../bootstrap/kubeadm/addon-images.js";
import type { KubeadmObject } from "../bootstrap/kubeadm/configuration.js";
import {
  changeOfKubeadmConfig,
  clusterConfigurationKey,
  kubeadmConfig,
} from "../bootstrap/kubeadm/kubeadm-config.js";
import { statusOf, within } from "./requests.js";

/** Another client may change the ConfigMap between a read and a write; each try reads it anew. */
const attempts = 5;

/**
 * The ConfigMap kubeadm-config says what hosts are to join with. What was changed, in words; undefined where it said so
 * already. Throws what the API server answers, and an Error where the cluster has no such ConfigMap.
 */
export async function writeKubeadmConfig(
  wanted: KubeadmObject,
  api: CoreV1Api,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt += 1) {
    const { metadata, data } = await kubeadmConfigIn(api);
    const change = changeOfKubeadmConfig(data?.[clusterConfigurationKey] ?? "", wanted);
    if (change === undefined) return undefined;
    // With the version that was read, so that another client's change is never overwritten unread.
    const version = Object.assign(new V1ObjectMeta(), {
      resourceVersion: metadata?.resourceVersion,
    });
    const body = { metadata: version, data: { [clusterConfigurationKey]: change.text } };
    try {
      await api.patchNamespacedConfigMap(
        { ...kubeadmConfig, body },
        within(PatchStrategy.MergePatch),
      );
      return `ConfigMap ${kubeadmConfig.namespace}/${kubeadmConfig.name}: ${change.what}`;
    } catch (error) {
      if (statusOf(error) !== 409 || attempt >= attempts) throw error;
    }
  }
}

async function kubeadmConfigIn(api: CoreV1Api) {
  try {
    return await api.readNamespacedConfigMap(kubeadmConfig, within());
  } catch (error) {
    const { namespace, name } = kubeadmConfig;
    throw statusOf(error) === 404 ? new Error(`it has no ConfigMap ${namespace}/${name}`) : error;
  }
}

/**
 * kube-proxy and CoreDNS have the images that belong to a control plane of this configuration. What was changed, in words.
 * A cluster without one of them gets none. Throws what the API server answers.
 */
export async function writeAddons(
  configuration: KubeadmObject,
  api: AppsV1Api,
): Promise<readonly string[]> {
  const changes: string[] = [];
  for (const addon of addons) {
    const present = await imageOf(addon, api);
    const image = present && addonImage(addon, present, configuration);
    if (present === undefined || image === undefined) continue;
    await setImage(addon, image, api);
    changes.push(`${addon.kind} ${kubeadmConfig.namespace}/${addon.name}: ${present} -> ${image}`);
  }
  return changes;
}

/** Undefined where the cluster has no such addon, or one without the container of that name. */
async function imageOf(
  { kind, name, container }: Addon,
  api: AppsV1Api,
): Promise<string | undefined> {
  const place = { namespace: kubeadmConfig.namespace, name };
  try {
    const { spec } =
      kind === "DaemonSet"
        ? await api.readNamespacedDaemonSet(place, within())
        : await api.readNamespacedDeployment(place, within());
    return spec?.template.spec?.containers.find((one) => one.name === container)?.image;
  } catch (error) {
    if (statusOf(error) === 404) return undefined;
    throw error;
  }
}

async function setImage(
  { kind, name, container }: Addon,
  image: string,
  api: AppsV1Api,
): Promise<void> {
  const body = { spec: { template: { spec: { containers: [{ name: container, image }] } } } };
  const patch = { namespace: kubeadmConfig.namespace, name, body };
  const how = within(PatchStrategy.StrategicMergePatch);
  if (kind === "DaemonSet") await api.patchNamespacedDaemonSet(patch, how);
  else await api.patchNamespacedDeployment(patch, how);
}
