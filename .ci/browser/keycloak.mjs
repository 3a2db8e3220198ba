// A real Keycloak as an administrator and as programs use it, over HTTP; and the settings of docs/rights.md for it.
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const GUIDES = ["../../docs/rights.md", "../../docs/zh/rights.md"].map((file) => path.join(here, file));
/** Where the guide has Keycloak and the page. */
const GUIDE_KEYCLOAK = /localhost:8180/g;
const GUIDE_PAGE = /127\.0\.0\.1:7470/g;

/** The blocks of one language under a heading of a guide. */
function blocks(guide, heading, language) {
  const section = guide.split(/^#{2,3} /m).find((one) => heading.test(one.slice(0, one.indexOf("\n"))));
  return [...section.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map((found) => found[1]);
}

/** Settings (one TOML) and commands of the guide in English and in Chinese, for a Keycloak and a page that are elsewhere. */
export async function guides(keycloak, page) {
  const moved = (text) => text.replace(GUIDE_KEYCLOAK, new URL(keycloak).host).replace(GUIDE_PAGE, new URL(page).host);
  const texts = await Promise.all(GUIDES.map((file) => readFile(file, "utf8")));
  return texts.map((text) => {
    const [settings, commands] = ["toml", "sh"].map((language) => blocks(text, /Keycloak/, language).map(moved));
    return { settings, commands };
  });
}

export class Keycloak {
  /** `administrator` is NAME:PASSWORD. */
  constructor(url, administrator, realm) {
    Object.assign(this, { url, administrator, realm, issuer: `${url}/realms/${realm}`, made: [] });
  }

  /** What the token endpoint gives for a form, as a client that shows its secret. */
  async tokens([id, secret], form, realm = this.realm) {
    const body = new URLSearchParams({ client_id: id, ...(secret && { client_secret: secret }), ...form });
    const answer = await fetch(`${this.url}/realms/${realm}/protocol/openid-connect/token`, { method: "POST", body });
    if (!answer.ok) throw new Error(`token: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Of a user who tells the client their password. */
  userTokens(client, user, password) {
    return this.tokens(client, { grant_type: "password", username: user, password, scope: "openid" });
  }

  /** A call of the administrator. What it makes is taken away by `undo`. */
  async admin(method, route, body) {
    const [username, password] = this.administrator.split(/:(.*)/s);
    const { access_token: token } = await this.tokens(["admin-cli"], { grant_type: "password", username, password }, "master");
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${this.url}/admin/realms/${this.realm}/${route}`, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${await answer.text()}`);
    const location = answer.headers.get("location");
    if (!location) return answer.status === 204 ? null : answer.json();
    const made = location.slice(location.indexOf(`/admin/realms/${this.realm}/`) + `/admin/realms/${this.realm}/`.length);
    this.made.push(made);
    return made;
  }

  /** Takes away what was made, or one of it. */
  async undo(made) {
    const gone = made ? [made] : this.made.reverse();
    this.made = made ? this.made.filter((one) => one !== made) : [];
    for (const one of gone) await this.admin("DELETE", one);
  }

  /** A client with a secret, of these scopes and settings. */
  makeClient(clientId, secret, scopes, settings = {}) {
    const client = { clientId, secret, publicClient: false, standardFlowEnabled: false, directAccessGrantsEnabled: true, fullScopeAllowed: true, defaultClientScopes: scopes };
    return this.admin("POST", "clients", { ...client, ...settings });
  }

  /** A new key, which signs from now on as no other has its priority. */
  async makeKey(priority) {
    const { id } = await this.admin("GET", "");
    const type = "org.keycloak.keys.KeyProvider";
    const config = { priority: [String(priority)], enabled: ["true"], active: ["true"], algorithm: ["RS256"], keySize: ["2048"] };
    return this.admin("POST", "components", { name: `key-${priority}`, providerId: "rsa-generated", providerType: type, parentId: id, config });
  }
}
