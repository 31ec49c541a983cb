/**
 * Runs our MCP client against the server of one conformance scenario, whose address is the last argument: lists its
 * tools, calls each once, and answers its questions with the defaults of their forms.
 */

import { scheduler } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { Continuation, Elicitation } from '#agent/core/pending-request.ts'
import { readElicitationAnswer } from '#agent/mcp/elicitation.ts'
import { listHeaderValues, readListedTool } from '#agent/mcp/listed-tool.ts'
import { encodeHeaderValue } from '#agent/mcp/protocol.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { type McpEndpoint, openPeer, request } from '#durable/tenant/mcp/mcp-client.ts'
import { catchQuestion, finishCall } from '#durable/tenant/mcp/unfinished-call.ts'

// workerd has it as a global.
Object.assign(globalThis, { scheduler })

const url = process.argv.at(-1) ?? ''
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as JsonObject
const endpoint: McpEndpoint = {
  url,
  transport: 'http',
  headers: {},
  isTrustedAddress: true,
  guardedFetch: createGuardedFetch({} as Env),
  // This scenario takes every GET for a reconnection, also the stream on which a server asks.
  offers: { elicitation: process.env['MCP_CONFORMANCE_SCENARIO'] !== 'sse-retry' },
}
const control = { timeoutMs: 10_000 }

/** The calls that the scenario wants, else one of each tool with plain arguments. */
function chooseCalls(tools: readonly { readonly tool: string; readonly input_schema: JsonObject }[]) {
  const { toolCalls } = context
  if (!Array.isArray(toolCalls))
    return tools.map(({ tool, input_schema: schema }) => ({ name: tool, input: fillIn(schema) }))
  return toolCalls.filter(isJsonObject).map(({ name, arguments: input }) => ({
    name: String(name),
    input: isJsonObject(input) ? input : {},
  }))
}

/** The scenario wants the schema of its first tool as the argument of its second. */
const echoSchemas = ([focal, echo]: readonly { readonly tool: string; readonly input_schema: JsonObject }[]) => [
  { name: echo?.tool ?? '', input: { inputSchema: focal?.input_schema, schema: focal?.input_schema } },
]

const samples: Readonly<Record<string, unknown>> = { number: 1, integer: 1, boolean: true, array: [], object: {} }

const fillIn = ({ properties }: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(isJsonObject(properties) ? properties : {}).map(([name, schema]) => [
      name,
      samples[String(isJsonObject(schema) && schema['type'])] ?? 'text',
    ]),
  )

function answerWithDefaults(elicitation: Elicitation | undefined): Continuation['answer'] {
  if (!elicitation) return { action: 'cancel' }
  const read = readElicitationAnswer(elicitation, { action: 'accept', content: {} })
  return 'answer' in read ? read.answer : { action: 'decline' }
}

async function main(): Promise<void> {
  const { peer } = await openPeer(endpoint, control)
  const listed = await request(endpoint, peer, { method: 'tools/list' }, control)
  const entries = Array.isArray(listed['tools']) ? listed['tools'] : []
  const tools = entries.flatMap((entry) => readListedTool(entry) ?? []).filter(({ invalid }) => invalid === undefined)
  const isEcho = process.env['MCP_CONFORMANCE_SCENARIO'] === 'json-schema-2020-12-preservation'
  for (const { name, input } of isEcho ? echoSchemas(tools) : chooseCalls(tools)) {
    const schema = tools.find(({ tool }) => tool === name)?.input_schema
    if (schema) await callTool(peer, name, input, schema).catch((error: unknown) => console.error(name, error))
  }
}

async function callTool(
  peer: Awaited<ReturnType<typeof openPeer>>['peer'],
  name: string,
  input: JsonObject,
  schema: JsonObject,
) {
  const headers = Object.fromEntries(
    listHeaderValues(schema, input).map(([header, value]) => [header, encodeHeaderValue(value)]),
  )
  const kept = new Map<string, unknown>()
  const call = { method: 'tools/call', params: { name, arguments: input } }
  const send = (ask: typeof call | { method: string; params: JsonObject }) =>
    catchQuestion(request(endpoint, peer, ask, { ...control, headers }))
  const answerLater = () => Promise.reject(new Error('Nothing is evicted here.'))
  let continues: Continuation | undefined
  for (;;) {
    const unfinished = {
      alias: 'suite',
      answerTimeout: 60,
      call,
      send,
      answerLater,
      context: { kept, ...(continues && { continues }) },
    }
    const finished = await finishCall(unfinished, continues ? undefined : await send(call))
    if ('result' in finished) return
    if (finished.later.kind !== 'question' || !finished.later.state)
      throw new Error('The call waits for something else.')
    const answer = answerWithDefaults(finished.later.elicitation)
    continues = { state: finished.later.state, ...(answer && { answer }) }
  }
}

await main()
