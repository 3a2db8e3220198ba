// An identity provider that lets everybody in who presses its button: discovery, keys, and the code flow with PKCE.
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";

const KEY_ID = "page";
const encoded = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

export class Provider {
  /** On a free port of `localhost`, which is another site than 127.0.0.1. `claims` are what its tokens say beside what they must. */
  static async start(claims) {
    const provider = new Provider();
    Object.assign(provider, { claims, codes: new Map(), ...generateKeyPairSync("ec", { namedCurve: "P-256" }) });
    provider.listener = createServer((request, response) => provider.answer(request, response));
    await new Promise((done) => provider.listener.listen(0, "localhost", done));
    provider.url = `http://localhost:${provider.listener.address().port}`;
    return provider;
  }

  close() {
    this.listener.closeAllConnections();
    this.listener.close();
  }

  async answer(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    const json = (value, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return json({ issuer: this.url, authorization_endpoint: `${this.url}/authorize`, token_endpoint: `${this.url}/token` });
      case "/keys":
        return json({ keys: [{ ...this.publicKey.export({ format: "jwk" }), kid: KEY_ID, use: "sig" }] });
      case "/authorize":
        return response.writeHead(200, { "content-type": "text/html" }).end(`<!doctype html><title>Provider</title>${link("Go on", this.back(searchParams))}${link("Cancel", back(searchParams, { error: "access_denied" }))}`);
      case "/token":
        return json(...this.exchange(new URLSearchParams(await text(request))));
      default:
        return json({}, 404);
    }
  }

  back(asked) {
    const code = randomUUID();
    this.codes.set(code, asked);
    return back(asked, { code });
  }

  exchange(form) {
    const asked = this.codes.get(form.get("code"));
    this.codes.delete(form.get("code"));
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (asked?.get("code_challenge") !== challenge) return [{ error: "invalid_grant" }, 400];
    return [{ token_type: "Bearer", id_token: this.token({ aud: asked.get("client_id"), nonce: asked.get("nonce") }) }];
  }

  token(claims) {
    const now = Math.floor(Date.now() / 1000);
    const said = { iss: this.url, sub: "alice", iat: now, exp: now + 300, ...this.claims, ...claims };
    const signed = `${encoded({ alg: "ES256", kid: KEY_ID })}.${encoded(said)}`;
    const signature = sign("sha256", Buffer.from(signed), { key: this.privateKey, dsaEncoding: "ieee-p1363" });
    return `${signed}.${signature.toString("base64url")}`;
  }
}

function back(asked, answer) {
  const url = new URL(asked.get("redirect_uri"));
  for (const [name, value] of Object.entries({ ...answer, state: asked.get("state") })) url.searchParams.set(name, value);
  return url.href;
}

const link = (name, address) => `<p><a href="${address.replaceAll("&", "&amp;")}">${name}</a></p>`;

async function text(request) {
  let all = "";
  for await (const piece of request) all += piece;
  return all;
}
