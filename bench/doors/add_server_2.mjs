// The smallest server of the second line of the official TypeScript SDK: one tool, `add`; on stdio, or over HTTP on a port.
// It is copied beside the SDK before it is run, since that is where an ES module looks for its packages.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport } from "@modelcontextprotocol/node";
import { Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

const number = { type: "number" };
const inputSchema = { type: "object", properties: { a: number, b: number }, required: ["a", "b"] };

function makeServer() {
  const server = new Server({ name: "add", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({ tools: [{ name: "add", inputSchema }] }));
  server.setRequestHandler("tools/call", async ({ params }) => ({
    content: [{ type: "text", text: String(params.arguments.a + params.arguments.b) }],
  }));
  return server;
}

function overHttp(port) {
  const sessions = new Map();
  const open = async () => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    await makeServer().connect(transport);
    return transport;
  };
  createServer(async (request, response) => {
    const transport = sessions.get(request.headers["mcp-session-id"]) ?? (await open());
    await transport.handleRequest(request, response);
  }).listen(port, "127.0.0.1");
}

const [port] = process.argv.slice(2);
if (port) overHttp(Number(port));
else await makeServer().connect(new StdioServerTransport());
