/**
 * The published schema of a document. Fields that a later release adds are let through, so that readers
 * can check what they get with the schema that they were written for. Pure.
 */
export function publishedSchema(
  schema: unknown,
  about: { readonly id: string; readonly title: string },
): object {
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    $id: about.id,
    title: about.title,
    ...(opened(schema) as object),
  };
}

/** A copy in which objects may have fields that are not named. */
function opened(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(opened);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).filter(([name]) => name !== "additionalProperties");
  return Object.fromEntries(entries.map(([name, value]) => [name, opened(value)]));
}
