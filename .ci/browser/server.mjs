// The real binary on a free port, with a data folder of its own and hashing models; and what the tests publish.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const DEADLINE_MS = 120_000;
const FINAL = ["indexed", "skipped", "deleted", "dead"];

export async function until(what, holds) {
  const end = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await holds();
    if (value) return value;
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

export class Server {
  static async start(binary) {
    const folder = await mkdtemp(path.join(tmpdir(), "tributary-page-"));
    const environment = { ...process.env, TRIBUTARY__MODELS__KIND: "hashing", TRIBUTARY__TELEMETRY__FILTER: "warn" };
    const child = spawn(binary, ["run", "--listen", "127.0.0.1:0", "--data-dir", path.join(folder, "data")], { cwd: folder, env: environment, stdio: ["ignore", "pipe", "inherit"] });
    const server = new Server(child, folder);
    server.url = await server.firstAddress();
    await until("the server is ready", async () => (await fetch(`${server.url}/health/readyz`).catch(() => null))?.ok);
    return server;
  }

  constructor(child, folder) {
    Object.assign(this, { child, folder });
  }

  /** What it prints first has its address. */
  firstAddress() {
    const lines = createInterface({ input: this.child.stdout });
    return new Promise((resolve, reject) => {
      lines.on("line", (line) => {
        const found = /http:\/\/[\w.:]+\d/.exec(line);
        if (found) resolve(found[0]);
      });
      this.child.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
  }

  async call(method, route, body, type = "application/json") {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(`${this.url}/v1/${route}`, { method, body: text, headers: text === undefined ? {} : { "content-type": type } });
    if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${await answer.text()}`);
    const read = await answer.text();
    return read ? JSON.parse(read) : null;
  }

  /** Publishes documents and waits until all of them have come to an end. */
  async publish(events) {
    const ids = [];
    for (let at = 0; at < events.length; at += 20) {
      const accepted = await Promise.all(events.slice(at, at + 20).map((event) => this.call("POST", "documents", event)));
      ids.push(...accepted.map((one) => one.document_id));
    }
    await until("all documents have ended", async () => {
      const { documents } = await this.call("POST", "documents/states", { document_ids: ids });
      return documents.every((report) => report && FINAL.includes(report.state));
    });
    return ids;
  }

  async stop() {
    this.child.removeAllListeners("exit");
    const ended = new Promise((done) => this.child.on("exit", done));
    this.child.kill("SIGTERM");
    const tooLong = setTimeout(() => this.child.kill("SIGKILL"), DEADLINE_MS);
    await ended;
    clearTimeout(tooLong);
    await rm(this.folder, { recursive: true, force: true });
  }
}
