import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findChromium } from "#chromium";
import { until } from "../scenario/until.js";
import { removeFolder } from "./folders.js";

type Params = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly sessionId?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly message: string };
}

const answerTimeoutMs = 120_000;

/** A real browser without a window, driven by its own protocol. Source: chromedevtools.github.io/devtools-protocol. */
export class Browser {
  private readonly waiting = new Map<number, (message: Message) => void>();
  private readonly listeners = new Map<string, (message: Message) => void>();
  private lastId = 0;

  private constructor(
    private readonly process: ChildProcess,
    private readonly socket: WebSocket,
    private readonly folder: string,
  ) {
    socket.addEventListener("message", ({ data }) =>
      this.receive(JSON.parse(String(data)) as Message),
    );
  }

  static async start(): Promise<Browser> {
    const program = findChromium(process.env);
    assert.ok(program !== undefined, "no browser: install chromium, or set CAPSTAN_CHROMIUM");
    const folder = mkdtempSync(join(tmpdir(), "capstan-browser-"));
    const child = spawn(
      program,
      [
        "--headless",
        "--remote-debugging-port=0",
        `--user-data-dir=${folder}`,
        "--no-first-run",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--mute-audio",
        // Its sandbox refuses root, and containers mostly do not let it be set up.
        "--no-sandbox",
        "--disable-background-networking",
        "--hide-scrollbars",
        "about:blank",
      ],
      { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, TMPDIR: folder } },
    );
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const address = await until("the browser listens", () => {
      assert.equal(child.exitCode, null, `the browser ended: ${said}`);
      return /listening on (ws:\S+)/.exec(said)?.[1];
    });
    const socket = new WebSocket(address);
    await once(socket, "open");
    return new Browser(child, socket, folder);
  }

  /** Opens a page of that size, or fails. Everything it says and asks for is noted from the beginning. */
  async open(url: string, size: { width: number; height: number }): Promise<Page> {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const attached = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, String(attached["sessionId"]));
    this.listeners.set(page.sessionId, (message) => page.note(message));
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await page.send(`${domain}.enable`);
    await page.send("Emulation.setDeviceMetricsOverride", {
      ...size,
      deviceScaleFactor: 1,
      mobile: false,
    });
    await page.go(url);
    return page;
  }

  async send(method: string, params: Params = {}, sessionId?: string): Promise<Params> {
    this.lastId += 1;
    const id = this.lastId;
    const answer = new Promise<Message>((resolve) => this.waiting.set(id, resolve));
    this.socket.send(JSON.stringify({ id, method, params, ...(sessionId && { sessionId }) }));
    const late = AbortSignal.timeout(answerTimeoutMs);
    const { result, error } = await Promise.race([
      answer,
      once(late, "abort").then((): Message => ({ error: { message: "no answer in time" } })),
    ]);
    this.waiting.delete(id);
    assert.equal(error, undefined, `${method}: ${error?.message}`);
    return result ?? {};
  }

  /** Lets it end by itself, so that none of its processes writes where nothing shall be left. */
  async close(): Promise<void> {
    const ended = this.process.exitCode === null ? once(this.process, "exit") : undefined;
    this.socket.send(JSON.stringify({ id: 0, method: "Browser.close" }));
    const late = setTimeout(() => this.process.kill("SIGKILL"), answerTimeoutMs);
    await ended;
    clearTimeout(late);
    removeFolder(this.folder);
  }

  private receive(message: Message): void {
    if (message.id !== undefined) this.waiting.get(message.id)?.(message);
    else this.listeners.get(message.sessionId ?? "")?.(message);
  }
}

/** One page of the browser. */
export class Page {
  /** Errors, warnings and everything else that it has said: scripts, policies, failed requests. */
  readonly said: string[] = [];
  /** Addresses that it has asked for, its own first. */
  readonly requested: string[] = [];
  private loaded = false;

  constructor(
    private readonly browser: Browser,
    readonly sessionId: string,
  ) {}

  send(method: string, params: Params = {}): Promise<Params> {
    return this.browser.send(method, params, this.sessionId);
  }

  async go(url: string): Promise<void> {
    this.loaded = false;
    await this.send("Page.navigate", { url });
    await until(`${url} is loaded`, () => this.loaded);
  }

  note({ method, params = {} }: Message): void {
    switch (method) {
      case "Page.loadEventFired":
        this.loaded = true;
        break;
      case "Network.requestWillBeSent":
        this.requested.push((params["request"] as { url: string }).url);
        break;
      case "Log.entryAdded":
        this.said.push((params["entry"] as { text: string }).text);
        break;
      case "Runtime.consoleAPICalled":
        this.said.push(JSON.stringify(params["args"]));
        break;
      case "Runtime.exceptionThrown":
        this.said.push(JSON.stringify(params["exceptionDetails"]));
        break;
      default:
    }
  }

  /** What a JavaScript expression comes to in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    return (result as { value: T }).value;
  }

  /** Presses and lets go of a key, as a person would. */
  async press(key: string): Promise<void> {
    const text = key === "Space" ? " " : key.length === 1 ? key : undefined;
    const name = key === "Space" ? " " : key;
    const common = { key: name, code: key, windowsVirtualKeyCode: keyCodes[key] ?? 0 };
    await this.send("Input.dispatchKeyEvent", {
      type: "keyDown",
      ...common,
      ...(text && { text }),
    });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", ...common });
  }

  async type(text: string): Promise<void> {
    await this.send("Input.insertText", { text });
  }

  /** The picture of what is in the window, as PNG. */
  async screenshot(): Promise<Buffer> {
    const { data } = await this.send("Page.captureScreenshot", { format: "png" });
    return Buffer.from(String(data), "base64");
  }
}

const keyCodes: Readonly<Record<string, number>> = { Tab: 9, Enter: 13, Space: 32, "/": 191 };
