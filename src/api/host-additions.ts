import { type Static, Type } from "typebox";
import type { MemberPath, Violation } from "./diagnostic-codes.js";
import { isJsonObject, type JsonObject } from "./json.js";
import { closed } from "./schema-parts.js";
import { templateFaults } from "./user-data-template.js";
import { validate } from "./validate.js";

const files = Type.Array(
  closed(
    {
      path: Type.String({
        pattern: "^(/[A-Za-z0-9@%_+.,:=-]+)+$",
        description: "Where it stands on the host, from the root on.",
      }),
      content: Type.String({ description: "What is in it. A secret: no plan shows it." }),
      permissions: Type.Optional(
        Type.String({ pattern: "^0?[0-7]{3}$", description: "As chmod takes them; else 0644." }),
      ),
      owner: Type.Optional(
        Type.String({
          pattern: "^[a-z_][a-z0-9_-]*(:[a-z_][a-z0-9_-]*)?$",
          description: "User and group that the image has, as chown takes them; else root:root.",
        }),
      ),
    },
    "A file of the host.",
  ),
  { description: "Files that are there before anything is run." },
);

const commands = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));

/** Without characters that shells, apt and systemd read as their own. */
const url = (description: string) =>
  Type.Optional(Type.String({ pattern: "^https?://[A-Za-z0-9@%_+.,:=/~\\[\\]-]+$", description }));

const aptMirrors = closed(
  {
    distribution: url(
      "Stands for http://archive.ubuntu.com/ubuntu or http://deb.debian.org/debian; with the same endings, as debian-security has one.",
    ),
    kubernetes: url("Stands for https://pkgs.k8s.io."),
    docker: url("Stands for https://download.docker.com/linux."),
  },
  "Mirrors of the repositories that apt installs from.",
);

const proxy = closed(
  {
    http: url("Proxy for http, with user and password where it wants them."),
    https: url("Proxy for https."),
    no: Type.Optional(
      Type.Array(Type.String({ pattern: "^[A-Za-z0-9.:/_*-]+$" }), {
        description:
          "Names, domains and ranges that are reached without it, beside the cluster's networks and endpoint.",
      }),
    ),
  },
  "The proxy that apt, preKubeadmCommands and the container runtime use.",
);

/** The field's schema, for the schemas of providers whose hosts take user data. Source: docs/bootstrap.md#what-else-a-host-gets. */
export const bootstrapField = closed(
  {
    files: Type.Optional(files),
    packages: Type.Optional(
      Type.Array(Type.String({ pattern: "^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~*-]+)?$" }), {
        description: "Packages that apt installs beside our own: nfs-common, jq=1.7.*.",
      }),
    ),
    aptMirrors: Type.Optional(aptMirrors),
    proxy: Type.Optional(proxy),
    preKubeadmCommands: commands("Commands for sh that root runs before kubeadm, in their order."),
    postKubeadmCommands: commands("Commands for sh that root runs once the host is a node."),
    template: Type.Optional(
      Type.String({
        description:
          "User data of one's own, in the format that the provider's hosts read, with {{ bootstrapScript }} where our script goes.",
      }),
    ),
  },
  "What a host gets beyond what makes a node of it. Changing it needs a new host.",
  // Files, commands and templates hold passwords as often as not.
  { writeOnly: true },
);

/** What a user adds to what makes a node of a host, or puts around it. */
export type HostAdditions = Static<typeof bootstrapField>;

/** The field of a provider's object of a Machine that holds it. */
export const bootstrapFieldName = "bootstrap";

interface Owned {
  readonly pattern: RegExp;
  /** What says it instead. */
  readonly reason: string;
}

const byKubeadm = "kubeadm and the kubelet keep this for themselves";
const byUs = "what makes a node of the host is there";

/** What makes a cluster, a node or a bootstrap this one, by paths of the host. */
const ownedPaths: readonly Owned[] = [
  {
    pattern: /^\/etc\/kubernetes\/pki\/(etcd\/|(ca|sa|apiserver|front-proxy)[^/]*$)/,
    reason: "the cluster's keys are put there",
  },
  {
    pattern:
      /^\/etc\/kubernetes\/(kubeadm\.yaml|[^/]*\.conf|manifests\/(etcd|kube-(apiserver|controller-manager|scheduler))\.yaml)$/,
    reason: byKubeadm,
  },
  { pattern: /^\/etc\/kubernetes\/patches\//, reason: "kubeadm.kubeletConfiguration says it" },
  { pattern: /^\/var\/lib\/(kubelet|etcd)\//, reason: byKubeadm },
  {
    pattern: /^\/etc\/containerd\/config\.toml$/,
    reason: "it is made for the kubelet; a command in preKubeadmCommands can change it",
  },
  { pattern: /^\/(etc|run|usr|var)\/(.*\/)?capstan([-/]|$)/, reason: byUs },
  { pattern: /^\/etc\/(modules-load|sysctl)\.d\/(90-)?capstan\.conf$/, reason: byUs },
  { pattern: /^\/run\/cluster-api\//, reason: byUs },
];

/** Packages whose versions a Machine says. */
const ownedPackages: readonly string[] = ["kubelet", "kubeadm", "kubectl"].concat([
  "containerd",
  "containerd.io",
  "cri-o",
]);

/** What is wrong with a value of the field, beyond its schema. Paths begin below the field. Pure. */
export function checkHostAdditions(value: JsonObject): Violation[] {
  // What does not fit the schema was told, and cannot be looked at.
  if (validate(bootstrapField, structuredClone(value)).length > 0) return [];
  const { files = [], packages = [], template } = value as HostAdditions;
  const paths = files.map(({ path }) => path);
  return [
    ...paths.flatMap((path, at) =>
      pathFaults(path, ["files", at, "path"], paths.indexOf(path) < at),
    ),
    ...packages.flatMap((text, at) => {
      const [name = ""] = text.split("=");
      if (!ownedPackages.includes(name)) return [];
      return [refused(["packages", at], name, "versions of the Machine says it")];
    }),
    ...(template === undefined ? [] : templateFaults(template)).map((fault): Violation => ({
      code: "BAD_FORMAT",
      path: ["template"],
      ...fault,
    })),
  ];
}

function pathFaults(path: string, place: MemberPath, isSecond: boolean): Violation[] {
  const owned = ownedPaths.find(({ pattern }) => pattern.test(path));
  if (owned !== undefined) return [refused(place, path, owned.reason)];
  if (path.split("/").some((part) => part === "." || part === "..")) {
    const hint = "write where the file stands, without . and ..";
    return [{ code: "BAD_FORMAT", path: place, summary: `${path} leads elsewhere`, hint }];
  }
  if (!isSecond) return [];
  const hint = "write each file once";
  return [{ code: "DUPLICATE", path: place, summary: `there are two files ${path}`, hint }];
}

function refused(path: MemberPath, what: string, reason: string): Violation {
  return { code: "NOT_ALLOWED", path, summary: `${what} cannot be set here`, hint: reason };
}

/** As a provider's object has it: it was checked when it was read. Pure. */
export function hostAdditionsOf(providerSpec: JsonObject): HostAdditions {
  const value = providerSpec[bootstrapFieldName];
  return isJsonObject(value) ? value : {};
}
