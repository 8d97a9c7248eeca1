import { type Static, Type } from "typebox";
import { closed, stringMap } from "../../../src/api/schema-parts.js";

/** The version of cluster-api-provider-aws 0.3: its objects are accepted as they are. */
export const capaApiVersion = "awsprovider.k8s.io/v1alpha1";

/** What the examples of those releases call it. */
export const formerCapaApiVersion = "awsprovider/v1alpha1";

const text = (description: string) => Type.Optional(Type.String({ description }));
const open = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description }));

const capaReference = closed(
  {
    id: text("Its id."),
    arn: text("Its ARN, which ends with its id."),
    filters: Type.Optional(
      Type.Array(
        closed(
          { name: Type.String(), values: Type.Array(Type.String(), { minItems: 1 }) },
          "A filter of EC2.",
        ),
        { minItems: 1 },
      ),
    ),
  },
  "A resource that is there, by id, ARN or filters.",
);

const capaTags = Type.Optional(stringMap("Tags."));

const capaVpc = closed(
  {
    id: text("Id of a VPC that is there."),
    cidrBlock: text("Range of the VPC that is made; 10.0.0.0/16 without."),
    internetGatewayId: text("Internet gateway of a VPC that is there."),
    tags: capaTags,
  },
  "The VPC.",
);

const capaSubnet = closed(
  {
    id: text("Id of a subnet that is there."),
    cidrBlock: text("Range of a subnet that is made."),
    availabilityZone: text("Zone that it is in."),
    isPublic: Type.Optional(
      Type.Boolean({ description: "Whether it has a way from the Internet." }),
    ),
    routeTableId: text("Of no use: the routes of a subnet that is there stay as they are."),
    natGatewayId: text("Of no use: the routes of a subnet that is there stay as they are."),
    tags: capaTags,
  },
  "A subnet.",
);

const capaKeyPair = (whose: string) =>
  Type.Optional(
    closed(
      { cert: text("Certificate."), key: text("Private key.") },
      `${whose}. Refused: keys do not belong into manifests.`,
    ),
  );

const capaFiles = Type.Optional(
  Type.Array(
    closed(
      {
        path: Type.String(),
        owner: text("user:group"),
        permissions: text("As chmod takes them."),
        content: Type.String(),
      },
      "A file of the host.",
    ),
  ),
);

/** Fields of a Cluster's object as cluster-api-provider-aws 0.3 has them. */
export const capaClusterSpec = Type.Object({
  metadata: open("Of no use: the Cluster has metadata of its own."),
  networkSpec: Type.Optional(
    closed(
      { vpc: Type.Optional(capaVpc), subnets: Type.Optional(Type.Array(capaSubnet)) },
      "VPC and subnets.",
    ),
  ),
  region: Type.String({ minLength: 1, description: "Region: that of the credentials." }),
  sshKeyName: text("Of no use: it was for a bastion, and none is made."),
  caKeyPair: capaKeyPair("The cluster's authority"),
  etcdCAKeyPair: capaKeyPair("The authority of etcd"),
  frontProxyCAKeyPair: capaKeyPair("The authority of the front proxy"),
  saKeyPair: capaKeyPair("The key of service accounts"),
  clusterConfiguration: open("kubeadm's v1beta1. Refused: a Machine's kubeadm says it."),
  additionalUserDataFiles: capaFiles,
});

/** A Cluster's object of that version. */
export type CapaCluster = Static<typeof capaClusterSpec>;

/** Fields of a Machine's object as cluster-api-provider-aws 0.3 has them. */
export const capaMachineSpec = Type.Object({
  metadata: open("Of no use: the Machine has metadata of its own."),
  ami: Type.Optional(capaReference),
  imageLookupOrg: text("Refused: name the image by ami."),
  instanceType: text("What it runs on."),
  additionalTags: capaTags,
  iamInstanceProfile: text("Name of the IAM instance profile."),
  publicIP: Type.Optional(Type.Boolean({ description: "Whether it has a public address." })),
  additionalSecurityGroups: Type.Optional(Type.Array(capaReference)),
  availabilityZone: text("Zone that it runs in."),
  subnet: Type.Optional(capaReference),
  keyName: text("SSH key pair."),
  rootDeviceSize: Type.Optional(
    Type.Integer({ minimum: 0, description: "Size of the root volume in GiB." }),
  ),
  kubeadmConfiguration: Type.Optional(
    closed(
      { join: open("kubeadm's JoinConfiguration."), init: open("kubeadm's InitConfiguration.") },
      "Of kubeadm's v1beta1: nodeRegistration.kubeletExtraArgs alone is taken.",
    ),
  ),
  additionalUserDataFiles: capaFiles,
});

/** A Machine's object of that version. */
export type CapaMachine = Static<typeof capaMachineSpec>;
