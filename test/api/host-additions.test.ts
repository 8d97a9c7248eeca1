import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { filledTemplate, templateFaults } from "../../src/api/user-data-template.js";
import { machine } from "../support/manifests.js";
import { itRefusesEach, saidOfFields } from "../support/refused-fields.js";

/** What is said of a Machine with such a field. */
function saidOf(bootstrap: JsonObject): string[] {
  return saidOfFields(machine("w-0"), { bootstrap });
}

describe("what users add to a host", () => {
  it("is taken where it leaves cluster and node what they are", () => {
    const files = [
      { path: "/etc/kubernetes/audit-policy.yaml", content: "kind: Policy\n" },
      { path: "/etc/kubernetes/pki/oidc-ca.crt", content: "", permissions: "644" },
      { path: "/etc/kubernetes/manifests/kube-vip.yaml", content: "", permissions: "0600" },
      { path: "/etc/containerd/certs.d/docker.io/hosts.toml", content: "", owner: "root" },
      { path: "/etc/ssh/sshd_config.d/10-capstans.conf", content: "", owner: "root:root" },
    ];
    const template = "#cloud-config\nwrite_files: [{ content: '{{ bootstrapScript }}' }]\n";
    const commands = { preKubeadmCommands: ["true"], postKubeadmCommands: ["true"] };
    assert.deepEqual(saidOf({ files, ...commands, packages: ["jq=1.7.*"], template }), []);
  });

  it("is shown by no mistake in it", () => {
    const wrong: JsonObject[] = [
      { files: { path: "/etc/token", content: "s3cret" } },
      { files: [{ path: "/etc/token", content: 53127 }] },
      { postKubeadmCommands: "join --password s3cret" },
      { packages: ["s3cret; true"] },
    ];
    for (const one of wrong) {
      const said = saidOf(one).join("\n");
      assert.match(said, /bootstrap\.\w+.*\[secret\]/);
      assert.doesNotMatch(said, /s3cret|53127/);
    }
  });

  const cases: { name: string; given: JsonObject; want: RegExp }[] = [
    {
      name: "a key of the cluster",
      given: { files: [{ path: "/etc/kubernetes/pki/ca.key", content: "" }] },
      want: /^f\.yaml:\d+:\d+: error: Machine default\/w-0: .*bootstrap\.files\.0\.path: \/etc\/kubernetes\/pki\/ca\.key cannot be set here.*the cluster's keys are put there/s,
    },
    {
      name: "a manifest of the control plane",
      given: { files: [{ path: "/etc/kubernetes/manifests/kube-apiserver.yaml", content: "" }] },
      want: /kube-apiserver\.yaml cannot be set here/,
    },
    {
      name: "a way around what is ours",
      given: { files: [{ path: "/etc/../etc/kubernetes/admin.conf", content: "" }] },
      want: /leads elsewhere/,
    },
    {
      name: "a path that a shell would misread",
      given: { files: [{ path: "/etc/it's", content: "" }] },
      want: /bootstrap\.files\.0\.path/,
    },
    {
      name: "a path that does not begin at the root",
      given: { files: [{ path: "etc/motd", content: "" }] },
      want: /bootstrap\.files\.0\.path/,
    },
    {
      name: "one file twice",
      given: { files: ["a", "b"].map((content) => ({ path: "/etc/motd", content })) },
      want: /bootstrap\.files\.1\.path: there are two files \/etc\/motd/,
    },
    {
      name: "permissions that are none",
      given: { files: [{ path: "/etc/motd", content: "", permissions: "rw-" }] },
      want: /bootstrap\.files\.0\.permissions/,
    },
    {
      name: "another kubelet",
      given: { packages: ["kubelet=1.30.0-*"] },
      want: /kubelet cannot be set here.*versions of the Machine says it/s,
    },
    {
      name: "an option for apt",
      given: { packages: ["--allow-unauthenticated"] },
      want: /bootstrap\.packages\.0/,
    },
    {
      name: "commands of no name that there is",
      given: { preKubeadmCommand: ["true"] },
      want: /unknown field.*preKubeadmCommands/s,
    },
    {
      name: "a template without our script",
      given: { template: "#cloud-config\n" },
      want: /^f\.yaml:\d+:\d+: .*bootstrap\.template: has no \{\{ bootstrapScript \}\}/s,
    },
    {
      name: "a template with a variable that there is not",
      given: { template: "#cloud-config\n# {{ clustername }}\n# {{ bootstrapScript }}\n" },
      want: /line 2 of it has \{\{ clustername \}\}, which is no variable.*did you mean \{\{ clusterName \}\}\?/s,
    },
  ];
  itRefusesEach(cases, saidOf);

  it("is told all at once", () => {
    const template = "{{ a }} {{b}} {{ ds.meta_data }}\n{{";
    assert.deepEqual(
      templateFaults(template).map(({ summary }) => summary),
      [
        "line 1 of it has {{ a }}, which is no variable",
        "line 1 of it has {{b}}, which is no variable",
        "line 1 of it has {{ ds.meta_data }}, which is no variable",
        "line 2 of it has {{, which is no variable",
        "has no {{ bootstrapScript }}",
      ],
    );
  });

  it("is filled as it stands, whatever the values hold", () => {
    const filled = filledTemplate("{{role}} {{ bootstrapScript }} {{ clusterName }}", {
      role: "$& {{ clusterName }}",
      clusterName: "prod",
    });
    assert.equal(filled, "$& {{ clusterName }} {{ bootstrapScript }} prod");
  });
});
