// The smallest server of the official TypeScript SDK: one tool, `add`, on standard input and output.
// It is copied beside the SDK before it is run, since that is where an ES module looks for its packages.
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const number = { type: "number" };
const inputSchema = { type: "object", properties: { a: number, b: number }, required: ["a", "b"] };
const server = new Server({ name: "add", version: "1" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: [{ name: "add", inputSchema }] }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => ({
  content: [{ type: "text", text: String(params.arguments.a + params.arguments.b) }],
}));
await server.connect(new StdioServerTransport());
