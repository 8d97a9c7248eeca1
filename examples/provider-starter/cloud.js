// A stand-in for the client of your cloud: servers with tags, in one file. Put the cloud's own SDK in its place.

import fs from "node:fs";
import { dirname } from "node:path";

const bootMs = 200;
const pageSize = 100;

export class CloudClient {
  constructor(file, clock) {
    this.file = file;
    this.clock = clock;
  }

  /** Whose cloud the credentials lead to. */
  account() {
    return "example";
  }

  /** One token makes one server, for ever. Answers while it still boots. */
  create({ token, tags, size, note }, signal) {
    return this.send({ signal, changes: true }, () => {
      const servers = this.read();
      const known = servers.find((server) => server.token === token);
      if (known !== undefined) return this.shown(known);
      const createdMs = this.clock.now();
      const id = `srv-${token.slice(0, 12)}`;
      const server = { id, token, tags, size, note, createdMs, runsFromMs: createdMs + bootMs };
      this.write([...servers, server]);
      return this.shown(server);
    });
  }

  /** By `id` or by `token`: never lags. Undefined where there is none. */
  get(key, signal) {
    return this.send({ signal }, () => {
      const found = this.read().find(({ id, token }) => id === key.id || token === key.token);
      return found && this.shown(found);
    });
  }

  /** A page of those that bear all these tags; `next` where there are more. */
  list({ tags, from = 0 }, signal) {
    return this.send({ signal }, () => {
      const listed = this.read().filter((server) =>
        Object.entries(tags).every(([key, value]) => server.tags[key] === value),
      );
      const page = listed.slice(from, from + pageSize).map((server) => this.shown(server));
      const next = from + pageSize;
      return { servers: page, next: next < listed.length ? next : undefined };
    });
  }

  update(id, changes, signal) {
    return this.send({ signal, changes: true }, () => this.change(id, changes));
  }

  /** No error where it is gone already. */
  delete(id, signal) {
    return this.send({ signal, changes: true }, () => this.change(id, { ended: "deleted" }));
  }

  /** Every request goes through here. */
  async send({ signal }, work) {
    signal?.throwIfAborted();
    return work();
  }

  shown({ ended, runsFromMs, ...server }) {
    return { ...server, state: ended ?? (this.clock.now() < runsFromMs ? "booting" : "running") };
  }

  change(id, changes) {
    const servers = this.read().map((one) => (one.id === id ? { ...one, ...changes } : one));
    this.write(servers);
    const changed = servers.find((one) => one.id === id);
    return changed && this.shown(changed);
  }

  read() {
    return fs.existsSync(this.file) ? JSON.parse(fs.readFileSync(this.file, "utf8")) : [];
  }

  write(servers) {
    fs.mkdirSync(dirname(this.file), { recursive: true });
    fs.writeFileSync(`${this.file}.new`, JSON.stringify(servers, null, 2));
    fs.renameSync(`${this.file}.new`, this.file);
  }
}
