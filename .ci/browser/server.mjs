// The real binary on a free port, with a data folder of its own and hashing models; and what the tests publish.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, createServer } from "node:net";
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
  /**
   * `settings` are names with their values; `script` is what a scripted language model says in the given roles; `profiles` are source
   * profiles as TOML.
   */
  static async start(binary, { settings = {}, script, roles = ["answer"], profiles } = {}) {
    const folder = await mkdtemp(path.join(tmpdir(), "tributary-page-"));
    const environment = { ...process.env, TRIBUTARY__MODELS__KIND: "hashing", TRIBUTARY__TELEMETRY__FILTER: "warn" };
    if (script) Object.assign(settings, await scripted(folder, script, roles));
    if (profiles) settings["taxonomy.source_profiles_file"] = await kept(folder, "profiles.toml", profiles);
    for (const [name, value] of Object.entries(settings)) environment[`TRIBUTARY__${name.replaceAll(".", "__").toUpperCase()}`] = String(value);
    const server = new Server(binary, folder, environment);
    await server.run("127.0.0.1:0");
    return server;
  }

  constructor(binary, folder, environment) {
    Object.assign(this, { binary, folder, environment });
  }

  async run(listen) {
    const options = { cwd: this.folder, env: this.environment, stdio: ["ignore", "pipe", "inherit"] };
    this.child = spawn(this.binary, ["run", "--listen", listen, "--data-dir", path.join(this.folder, "data")], options);
    this.url = await this.firstAddress();
    await until("the server is ready", async () => (await fetch(`${this.url}/health/readyz`).catch(() => null))?.ok);
  }

  /** Starts it on the same folder and address, once it has ended. */
  again() {
    return this.run(new URL(this.url).host);
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
    await this.end("SIGTERM");
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Ends it, if it has not ended; what it kept stays. */
  async end(signal) {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.removeAllListeners("exit");
    const ended = new Promise((done) => this.child.on("exit", done));
    this.child.kill(signal);
    const tooLong = setTimeout(() => this.child.kill("SIGKILL"), DEADLINE_MS);
    await ended;
    clearTimeout(tooLong);
  }
}

async function kept(folder, name, text) {
  const file = path.join(folder, name);
  await writeFile(file, text);
  return file;
}

/** Settings of a language model that says in these roles what a script says. */
async function scripted(folder, script, roles) {
  const file = await kept(folder, "script.json", JSON.stringify(script));
  const talker = "models.chat.endpoints.talker";
  const ofRoles = roles.map((role) => [`models.chat.roles.${role}.endpoint`, "talker"]);
  return { [`${talker}.kind`]: "scripted", [`${talker}.model`]: "parrot", [`${talker}.script_file`]: file, ...Object.fromEntries(ofRoles) };
}

/** A way to a server that can be cut: those who are connected lose their connection and may come again. */
export class Wire {
  static async to(server) {
    const wire = new Wire();
    const { hostname, port } = new URL(server.url);
    wire.sockets = new Set();
    wire.listener = createServer((near) => wire.join(near, connect(Number(port), hostname)));
    await new Promise((done) => wire.listener.listen(0, "127.0.0.1", done));
    wire.url = `http://127.0.0.1:${wire.listener.address().port}`;
    return wire;
  }

  join(near, far) {
    for (const [one, other] of [[near, far], [far, near]]) {
      this.sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => { this.sockets.delete(one); other.destroy(); });
      one.pipe(other);
    }
  }

  cut() {
    for (const socket of this.sockets) socket.destroy();
  }

  close() {
    this.cut();
    this.listener.close();
  }
}
