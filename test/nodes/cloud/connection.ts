import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import { json, text } from "node:stream/consumers";
import { messageOf } from "../../../src/api/error.js";
import type { CloudApi, HostOrder } from "./api.js";

/** Lets other processes reach a cloud, in whatever network they are. */
export async function serveCloud(cloud: CloudApi, socketPath: string): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const answer = async () => {
      const call = (incoming.url ?? "").slice(1);
      return JSON.stringify((await carryOut(cloud, call, await json(incoming))) ?? null);
    };
    answer().then(
      (body) => outgoing.end(body),
      (error: unknown) => outgoing.writeHead(500).end(messageOf(error)),
    );
  });
  await once(server.listen(socketPath), "listening");
  return server;
}

function carryOut(cloud: CloudApi, call: string, argument: unknown): Promise<unknown> {
  switch (call) {
    case "get":
      return cloud.get(argument as string);
    case "list":
      return cloud.list();
    case "create":
      return cloud.create(argument as HostOrder);
    case "remove":
      return cloud.remove(argument as string);
    case "console":
      return cloud.console(argument as string);
    default:
      throw new Error(`the cloud has no call ${call}`);
  }
}

/** The cloud that another process serves. */
export function cloudBehind(socketPath: string): CloudApi {
  const call = async <T>(name: keyof CloudApi, argument: unknown = null): Promise<T> =>
    JSON.parse(await post(socketPath, `/${name}`, JSON.stringify(argument))) as T;
  return {
    get: (id) => call("get", id),
    list: () => call("list"),
    create: (order) => call("create", order),
    remove: (id) => call("remove", id),
    console: (id) => call("console", id),
  };
}

function post(socketPath: string, path: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const posting = request({ socketPath, path, method: "POST" }, (response) => {
      text(response).then((answer) => {
        if (response.statusCode === 200) resolve(answer);
        else reject(new Error(`the cloud fails to ${path.slice(1)}: ${answer}`));
      }, reject);
    });
    posting.on("error", reject).end(body);
  });
}
