import type { DatabaseSync } from "node:sqlite";

/** An image that hosts boot from. */
export interface LocalImage {
  readonly family: string;
  readonly name: string;
}

/** Images that every such cloud has, oldest first. */
export const firstImages: readonly LocalImage[] = [
  { family: "ubuntu", name: "local/ubuntu-22.04" },
  { family: "ubuntu", name: "local/ubuntu-24.04" },
];

const key = "images";

/** Those that people have added, oldest first. */
export function listImages(database: DatabaseSync): LocalImage[] {
  const row = database.prepare("SELECT value FROM meta WHERE key = ?").get(key);
  return row === undefined ? [] : (JSON.parse(String(row["value"])) as LocalImage[]);
}

/** Makes it the newest of its family. */
export function storeImage(database: DatabaseSync, image: LocalImage): void {
  const { family, name } = image;
  const others = listImages(database).filter((one) => one.family !== family || one.name !== name);
  database
    .prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)")
    .run(key, JSON.stringify([...others, image]));
}
