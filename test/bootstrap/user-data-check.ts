import { parse } from "yaml";
import type { HostBootstrap } from "../../src/bootstrap/host/host-bootstrap.js";

/** What is wrong with a cloud-config that cloud-init's own check does not see: keys that no module of it reads. */
export function cloudConfigFaults(text: string, knownKeys: ReadonlySet<string>): string[] {
  const header = text.split("\n", 1)[0] ?? "";
  if (header !== "#cloud-config") return [`it begins with ${header}`];
  const config = parse(text, { schema: "yaml-1.1" }) as Readonly<Record<string, unknown>>;
  return Object.keys(config)
    .filter((key) => !knownKeys.has(key))
    .map((key) => `no module of cloud-init reads ${key}`);
}

/** Places in a bootstrap's files that its script fills with nothing. */
export function unfilledPlaces({ files, script }: HostBootstrap): string[] {
  const filling = files.find(({ path }) => path === script)?.content ?? "";
  return files
    .filter(({ path }) => path !== script)
    .flatMap(({ path, content }) =>
      [...new Set(content.match(/@capstan:\w+@/g))]
        .filter((place) => !filling.includes(`s|${place}|`))
        .map((place) => `${path}: ${place}`),
    );
}
