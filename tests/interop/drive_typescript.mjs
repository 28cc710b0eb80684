// Drives the official TypeScript client: reads what to do as lines of JSON, answers each with a line.
// It is copied beside the client before it is run, since that is where an ES module looks for its packages.
// The first argument says which: 1 is `@modelcontextprotocol/sdk`, 2 is `@modelcontextprotocol/client`.
import { createInterface } from "node:readline";

const second = process.argv[2] === "2";
const first = "@modelcontextprotocol/sdk/client";
const { Client, StreamableHTTPClientTransport: Http } = second
  ? await import("@modelcontextprotocol/client")
  : { ...(await import(`${first}/index.js`)), ...(await import(`${first}/streamableHttp.js`)) };
const { StdioClientTransport } = await import(second ? "@modelcontextprotocol/client/stdio" : `${first}/stdio.js`);

const lines = new Map();

async function connect(name, door, mode) {
  const transport = door.url
    ? new Http(new URL(door.url), { requestInit: { headers: door.headers } })
    : new StdioClientTransport({ ...door, stderr: "inherit" });
  let revision;
  if (!second) {
    // The older client tells its transport, and nobody else, which revision was agreed on.
    const tell = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = (version) => {
      revision = version;
      tell?.(version);
    };
  }
  const options = second ? { versionNegotiation: { mode } } : {};
  const client = new Client({ name: "interop", version: "1" }, options);
  await client.connect(transport);
  // What a list says about answers is what the client then holds them to.
  await client.listTools();
  lines.set(name, client);
  return {
    version: second ? client.getNegotiatedProtocolVersion() : revision,
    name: client.getServerVersion().name,
    instructions: client.getInstructions(),
    capabilities: client.getServerCapabilities(),
  };
}

async function close(name) {
  await lines.get(name).close();
  lines.delete(name);
  return {};
}

async function perform({ verb, line, given, mode }) {
  if (verb === "connect") return connect(line, given, mode);
  if (verb === "close") return close(line);
  return lines.get(line)[verb](verb.startsWith("list") ? undefined : given);
}

function told(error) {
  const code = typeof error.code === "number" ? error.code : null;
  return { code, message: String(error.message ?? error), data: error.data ?? null };
}

createInterface({ input: process.stdin }).on("line", async (text) => {
  const asked = JSON.parse(text);
  let answer;
  try {
    answer = { result: await perform(asked) };
  } catch (error) {
    answer = { error: told(error) };
  }
  process.stdout.write(`${JSON.stringify({ id: asked.id, ...answer })}\n`);
});
