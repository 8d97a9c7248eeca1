// The fields of kubeadm's configuration, as kubernetes/cmd/kubeadm/app/apis/kubeadm/{v1beta3,v1beta4}/types.go have them.

/** What a value may be: a scalar, a list of something, a map of texts, or an object with these fields alone. */
type Shape =
  | "text"
  | "number"
  | "boolean"
  | "texts"
  | "map"
  | "booleans"
  | { readonly list: Fields }
  | { readonly object: Fields };
type Fields = Readonly<Record<string, Shape>>;

const volumes: Shape = {
  list: {
    name: "text",
    hostPath: "text",
    mountPath: "text",
    readOnly: "boolean",
    pathType: "text",
  },
};

function typesOf(api: "v1beta3" | "v1beta4"): Readonly<Record<string, Fields>> {
  const isNew = api === "v1beta4";
  const args: Shape = isNew ? { list: { name: "text", value: "text" } } : "map";
  const component = { extraArgs: args, extraVolumes: volumes };
  const endpoint: Shape = { object: { advertiseAddress: "text", bindPort: "number" } };
  const registration: Shape = {
    object: {
      name: "text",
      criSocket: "text",
      taints: { list: { key: "text", value: "text", effect: "text" } },
      kubeletExtraArgs: args,
      ignorePreflightErrors: "texts",
      imagePullPolicy: "text",
      ...(isNew ? { imagePullSerial: "boolean" as const } : {}),
    },
  };
  const patches: Shape = { object: { directory: "text" } };
  const image = { imageRepository: "text", imageTag: "text" } as const;
  return {
    InitConfiguration: {
      bootstrapTokens: {
        list: {
          token: "text",
          description: "text",
          ttl: "text",
          expires: "text",
          usages: "texts",
          groups: "texts",
        },
      },
      nodeRegistration: registration,
      localAPIEndpoint: endpoint,
      certificateKey: "text",
      skipPhases: "texts",
      patches,
    },
    JoinConfiguration: {
      nodeRegistration: registration,
      caCertPath: "text",
      discovery: {
        object: {
          bootstrapToken: {
            object: { token: "text", apiServerEndpoint: "text", caCertHashes: "texts" },
          },
        },
      },
      controlPlane: { object: { localAPIEndpoint: endpoint, certificateKey: "text" } },
      skipPhases: "texts",
      patches,
    },
    ClusterConfiguration: {
      etcd: {
        object: {
          local: {
            object: {
              ...image,
              dataDir: "text",
              extraArgs: args,
              serverCertSANs: "texts",
              peerCertSANs: "texts",
            },
          },
        },
      },
      networking: { object: { serviceSubnet: "text", podSubnet: "text", dnsDomain: "text" } },
      kubernetesVersion: "text",
      controlPlaneEndpoint: "text",
      apiServer: { object: { ...component, certSANs: "texts" } },
      controllerManager: { object: component },
      scheduler: { object: component },
      dns: { object: image },
      certificatesDir: "text",
      imageRepository: "text",
      featureGates: "booleans",
      clusterName: "text",
      ...(isNew ? { encryptionAlgorithm: "text" as const } : {}),
    },
  };
}

/** What of a kubeadm object its own kubeadm would not know, or would read as something else; of others nothing. */
export function misreadIn(object: Readonly<Record<string, unknown>>): string[] {
  const { apiVersion, kind, ...fields } = object;
  const [group, api] = String(apiVersion).split("/");
  if (group !== "kubeadm.k8s.io") return [];
  if (api !== "v1beta3" && api !== "v1beta4") return [`apiVersion ${String(apiVersion)}`];
  const known = typesOf(api)[String(kind)];
  if (known === undefined) return [`kind ${String(kind)}`];
  return misfits(fields, { object: known }, String(kind));
}

function misfits(value: unknown, shape: Shape, path: string): string[] {
  if (typeof shape === "object") return misfitsBelow(value, shape, path);
  return isOf(shape, value) ? [] : [`${path}: ${JSON.stringify(value)}`];
}

function misfitsBelow(value: unknown, shape: Exclude<Shape, string>, path: string): string[] {
  const misread = [`${path}: ${JSON.stringify(value)}`];
  if ("list" in shape) {
    if (!Array.isArray(value)) return misread;
    return value.flatMap((one, at) => misfits(one, { object: shape.list }, `${path}[${at}]`));
  }
  if (!isObject(value)) return misread;
  return Object.entries(value).flatMap(([name, member]) => {
    const known = shape.object[name];
    return known === undefined ? [`${path}.${name}`] : misfits(member, known, `${path}.${name}`);
  });
}

function isOf(shape: Extract<Shape, string>, value: unknown): boolean {
  const isText = (one: unknown) => typeof one === "string";
  switch (shape) {
    case "text":
      return isText(value);
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "texts":
      return Array.isArray(value) && value.every(isText);
    case "map":
      return isObject(value) && Object.values(value).every(isText);
    case "booleans":
      return isObject(value) && Object.values(value).every((one) => typeof one === "boolean");
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
