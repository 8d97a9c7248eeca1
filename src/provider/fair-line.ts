/** Whose turn it is: a cluster, by its namespace and its name there. */
export interface Turn {
  readonly namespace: string;
  readonly name: string;
}

/** The turn of a cluster or its stack, named "<namespace>/<name>" or "<namespace>.<name>". Pure. */
export function turnOf(key: string): Turn {
  // A namespace has neither.
  const end = key.search(/[/.]/);
  return { namespace: end < 0 ? "" : key.slice(0, end), name: key.slice(end + 1) };
}

/**
 * A line in which namespaces take turns, in each of them its clusters, and of a cluster whoever came first: however many wait of
 * one, another one waits for one turn of each. Whoever comes, or comes again, stands behind those who wait.
 */
export class FairLine<T> {
  /** Maps keep the order of insertion: whoever had a turn is put in anew. */
  private readonly namespaces = new Map<string, Map<string, T[]>>();

  add({ namespace, name }: Turn, item: T): void {
    const clusters = this.namespaces.get(namespace) ?? new Map<string, T[]>();
    this.namespaces.set(namespace, clusters);
    const items = clusters.get(name);
    if (items === undefined) clusters.set(name, [item]);
    else items.push(item);
  }

  /** Takes the next one out, of a namespace that may have a turn; undefined when there is none. */
  next(mayHaveTurn: (namespace: string) => boolean = () => true): T | undefined {
    for (const [namespace, clusters] of this.namespaces) {
      const [first] = clusters;
      if (first === undefined || !mayHaveTurn(namespace)) continue;
      const [name, items] = first;
      const item = items.shift();
      clusters.delete(name);
      if (items.length > 0) clusters.set(name, items);
      this.namespaces.delete(namespace);
      if (clusters.size > 0) this.namespaces.set(namespace, clusters);
      return item;
    }
    return undefined;
  }

  /** Takes everything of a cluster out. */
  remove({ namespace, name }: Turn): void {
    const clusters = this.namespaces.get(namespace);
    clusters?.delete(name);
    if (clusters?.size === 0) this.namespaces.delete(namespace);
  }
}
