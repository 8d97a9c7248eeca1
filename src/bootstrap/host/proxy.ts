import type { HostAdditions } from "../../api/host-additions.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { ClusterSettings } from "../kubeadm/settings.js";
import type { HostFile } from "./host-file.js";
import { quoted } from "./host-script.js";
import { type HostSoftware, runtimeService } from "./software.js";

/** The proxy of a host, in the variables that programs read. */
export interface HostProxy {
  readonly variables: Readonly<Record<string, string>>;
}

/** What a host reaches without a proxy on every cloud: itself, and the metadata service. */
const always = ["localhost", "127.0.0.1", "169.254.169.254"];

/** What a user says of a proxy, with the cluster's own networks and endpoint, which it is not asked for; undefined without one. Pure. */
export function hostProxy(
  { proxy }: HostAdditions,
  { serviceCidrs, podCidrs, serviceDomain, endpoint }: ClusterSettings,
): HostProxy | undefined {
  if (proxy === undefined) return undefined;
  const { http, https, no = [] } = proxy;
  const without = [
    ...always,
    endpoint.host,
    ...serviceCidrs,
    ...podCidrs,
    ".svc",
    `.${serviceDomain}`,
    ...no,
  ];
  return {
    variables: omitUndefined<Record<string, string>>({
      http_proxy: http,
      https_proxy: https,
      no_proxy: without.join(","),
    }),
  };
}

/**
 * Lines of a script, run with a proxy. It ends with them: kubeadm would write it into the pods of the control plane, which reach
 * hosts that no user has named. Pure.
 */
export function proxiedLines(proxy: HostProxy | undefined, lines: readonly string[]): string[] {
  if (proxy === undefined) return [...lines];
  const variables = Object.entries(proxy.variables);
  return [
    ...variables.map(([name, value]) => `export ${name}=${quoted(value)}`),
    ...lines,
    `unset ${variables.map(([name]) => name).join(" ")}`,
  ];
}

/** What tells apt and the container runtime of a proxy, at the first start and later. It may hold a password. Pure. */
export function proxyFiles(
  proxy: HostProxy | undefined,
  { name }: HostSoftware["containerRuntime"],
): HostFile[] {
  if (proxy === undefined) return [];
  const { http_proxy: http, https_proxy: https } = proxy.variables;
  const apt = Object.entries({ http, https }).flatMap(([scheme, url]) =>
    url === undefined ? [] : [`Acquire::${scheme}::Proxy "${url}";`],
  );
  // A percent sign begins a specifier of systemd.
  const runtime = Object.entries(proxy.variables).map(
    ([variable, value]) => `Environment="${variable.toUpperCase()}=${value.replaceAll("%", "%%")}"`,
  );
  return [
    { path: "/etc/apt/apt.conf.d/capstan-proxy", mode: "0600", content: `${apt.join("\n")}\n` },
    {
      path: `/etc/systemd/system/${runtimeService(name)}.service.d/capstan-proxy.conf`,
      mode: "0600",
      content: ["[Service]", ...runtime, ""].join("\n"),
    },
  ];
}
