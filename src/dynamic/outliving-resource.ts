import { omitUndefined } from "../api/omit-undefined.js";
import {
  type DynamicResource,
  isKept,
  keepProperty,
  type Properties,
  UnfinishedResource,
} from "./protocol.js";

/**
 * Serves a resource as another one does, and records beside it whether it outlives its host. A plain `pulumi` that deletes
 * it, also by `pulumi destroy`, which runs no program, is told so by that record alone.
 */
export class OutlivingResource implements DynamicResource {
  constructor(private readonly resource: DynamicResource) {}

  check(olds: Properties, news: Properties): ReturnType<DynamicResource["check"]> {
    return this.resource.check(olds, news);
  }

  async diff(id: string, olds: Properties, news: Properties): ReturnType<DynamicResource["diff"]> {
    const diff = await this.resource.diff(id, olds, news);
    return isKept(olds) === isKept(news)
      ? diff
      : { changes: true, paths: [...diff.paths, keepProperty] };
  }

  async create(inputs: Properties) {
    const { id, outs } = await keeping(inputs, () => this.resource.create(inputs));
    return { id, outs: keptLike(inputs, outs) };
  }

  async update(id: string, olds: Properties, news: Properties) {
    const { outs } = await keeping(news, () => this.resource.update(id, olds, news));
    return { outs: keptLike(news, outs) };
  }

  async read(id: string, recorded: Properties) {
    const { props, inputs, ...rest } = await this.resource.read(id, recorded);
    return omitUndefined({
      ...rest,
      props: props && keptLike(recorded, props),
      inputs: inputs && keptLike(recorded, inputs),
    });
  }

  delete(id: string, props: Properties) {
    return this.resource.delete(id, props);
  }
}

function keptLike(like: Properties, properties: Properties): Properties {
  return omitUndefined({ ...properties, [keepProperty]: like[keepProperty] });
}

/** What is recorded of a failure says it, too. */
async function keeping<T>(like: Properties, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof UnfinishedResource)) throw error;
    throw new UnfinishedResource(error.id, keptLike(like, error.properties), error.reason);
  }
}
