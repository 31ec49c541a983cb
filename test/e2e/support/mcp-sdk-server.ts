/** Serves MCP with the official SDK: one server of 2026-07-28, and one of 2025-11-25 that keeps sessions. */

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import {
  type CallToolResult,
  createMcpHandler,
  inputRequired,
  inputResponse,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

export type SdkServer = {
  /** Calls that arrived, and calls that were cancelled, by tool. */
  readonly calls: string[]
  readonly cancelled: string[]
  /** The tools beside the fixed ones. */
  readonly more: string[]
  /** The description of the tool `echo`. */
  description: string
  /** Whether `count` ends at its next step. */
  isCountedOut: boolean
  readonly close: () => void
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] })
export const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

async function countSlowly(
  record: Pick<SdkServer, 'cancelled' | 'isCountedOut'>,
  steps: number,
  { mcpReq }: ServerContext,
): Promise<CallToolResult> {
  const { _meta: meta } = mcpReq
  const progressToken = meta?.progressToken
  mcpReq.signal.addEventListener('abort', () => record.cancelled.push('count'))
  let progress = 0
  while (progress < steps && !record.isCountedOut) {
    progress++
    await delay(100)
    if (progressToken !== undefined)
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, total: steps, message: `step ${progress}` },
      })
  }
  return text(`counted to ${progress}`)
}

const nameForm = {
  message: 'Under which name?',
  requestedSchema: {
    type: 'object' as const,
    properties: {
      name: { type: 'string' as const, minLength: 2, title: 'Name' },
      mail: { type: 'string' as const, format: 'email' as const, title: 'Mail' },
      day: { type: 'string' as const, format: 'date' as const, title: 'Day' },
      age: { type: 'integer' as const, minimum: 1, title: 'Age' },
      news: { type: 'boolean' as const, title: 'News' },
      size: { type: 'string' as const, enum: ['s', 'm'], enumNames: ['Small', 'Medium'], title: 'Size' },
    },
    required: ['name'],
  },
}

async function greet({ mcpReq }: ServerContext, era: 'modern' | 'legacy') {
  if (era === 'legacy') {
    const { action, content } = await mcpReq.elicitInput({ mode: 'form', ...nameForm })
    return text(
      action === 'accept'
        ? `Hello ${String(content?.['name'])} ${JSON.stringify(content)}`
        : `The user said ${action}.`,
    )
  }
  const given = inputResponse(mcpReq.inputResponses, 'name')
  if (given.kind !== 'elicit')
    return inputRequired({ inputRequests: { name: inputRequired.elicit(nameForm) }, requestState: 'state-1' })
  return text(
    given.action === 'accept'
      ? `Hello ${String(given.content?.['name'])} ${JSON.stringify(given.content)}`
      : `The user said ${given.action}.`,
  )
}

function createTools(record: SdkServer, era: 'modern' | 'legacy'): McpServer {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' })
  const count = (name: string) => void record.calls.push(name)
  server.registerTool(
    'echo',
    { description: record.description, inputSchema: z.object({ text: z.string() }) },
    ({ text: said }) => (count('echo'), text(`You said ${said}`)),
  )
  server.registerTool(
    'weather',
    {
      title: 'Weather',
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      outputSchema: z.object({ degrees: z.number() }),
      annotations: { readOnlyHint: true },
    },
    ({ city }) => ({ content: [{ type: 'text', text: `20 degrees in ${city}` }], structuredContent: { degrees: 20 } }),
  )
  server.registerTool('picture', { description: 'A picture.', inputSchema: z.object({}) }, () => ({
    content: [
      { type: 'image', data: onePixel, mimeType: 'image/png' },
      { type: 'text', text: 'One pixel.' },
    ],
  }))
  server.registerTool('broken', { description: 'Fails.', inputSchema: z.object({}) }, () => {
    throw new Error('the disk is full')
  })
  server.registerTool(
    'count',
    { description: 'Counts slowly.', inputSchema: z.object({ steps: z.number() }) },
    ({ steps }, context) => (count('count'), countSlowly(record, steps, context)),
  )
  server.registerTool('greet', { description: 'Greets by name.', inputSchema: z.object({}) }, (_, context) => {
    count('greet')
    return greet(context, era)
  })
  for (const name of record.more)
    server.registerTool(name, { description: `Does ${name}.`, inputSchema: z.object({}) }, () => text(name))
  server.registerResource('note', 'note://1', { description: 'A note.' }, ({ href }) => ({
    contents: [{ uri: href, text: 'the note of the server' }],
  }))
  server.registerPrompt('review', { argsSchema: z.object({ code: z.string() }) }, ({ code }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Review ${code}` } }],
  }))
  return server
}

const newRecord = (): { -readonly [Name in keyof SdkServer]: SdkServer[Name] } => ({
  calls: [],
  cancelled: [],
  more: [],
  description: 'Repeats a text.',
  isCountedOut: false,
  close: () => undefined,
})

export async function serveModern(port: number): Promise<SdkServer> {
  const record = newRecord()
  const handler = createMcpHandler(() => createTools(record, 'modern'), { legacy: 'reject' })
  return listen(record, port, toNodeHandler(handler) as RequestListener)
}

export async function serveLegacy(port: number): Promise<SdkServer> {
  const record = newRecord()
  const transports = new Map<string, NodeStreamableHTTPServerTransport>()
  const open = async () => {
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    })
    await createTools(record, 'legacy').connect(transport)
    return transport
  }
  return listen(record, port, (request, response) => {
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? transports.get(id) : undefined
    if (typeof id === 'string' && !known) return void response.writeHead(404).end()
    void (async () => {
      const transport = known ?? (await open())
      await transport.handleRequest(request, response, await readBody(request))
    })()
  })
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return parts.length ? JSON.parse(Buffer.concat(parts).toString()) : undefined
}

async function listen(record: ReturnType<typeof newRecord>, port: number, handle: RequestListener): Promise<SdkServer> {
  const server = createServer(handle)
  await new Promise<void>((ready) => server.listen(port, '127.0.0.1', ready))
  record.close = () => (server.closeAllConnections(), void server.close())
  return record
}
