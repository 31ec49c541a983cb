/** Serves the tools, resources and prompts that the scenarios for servers want, with the protocol of our MCP server. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '#agent/core/parse-json.ts'
import { isForeignPage } from '#worker/login/same-origin.ts'
import {
  answerRequest,
  invalidParams,
  readMessage,
  requireText,
  RpcError,
  type RpcMethods,
} from '#worker/routes/mcp-server/protocol.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const sound = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const text = (value: string): JsonObject => ({ type: 'text', text: value })
const image: JsonObject = { type: 'image', data: pixel, mimeType: 'image/png' }
const resource = (uri: string, mimeType: string, value: string): JsonObject => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
})

const results: Readonly<Record<string, JsonObject>> = {
  test_simple_text: { content: [text('This is a simple text response for testing.')] },
  test_image_content: { content: [image] },
  test_audio_content: { content: [{ type: 'audio', data: sound, mimeType: 'audio/wav' }] },
  test_embedded_resource: {
    content: [resource('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  },
  test_multiple_content_types: {
    content: [
      text('Multiple content types test:'),
      image,
      resource('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  },
  test_error_handling: { content: [text('This tool intentionally returns an error for testing')], isError: true },
}

const user = (content: JsonObject): JsonObject => ({ role: 'user', content })

const prompts: Readonly<Record<string, (given: JsonObject) => readonly JsonObject[]>> = {
  test_simple_prompt: () => [user(text('This is a simple prompt for testing.'))],
  test_prompt_with_arguments: ({ arg1, arg2 }) => [
    user(text(`Prompt with arguments: arg1='${String(arg1)}', arg2='${String(arg2)}'`)),
  ],
  test_prompt_with_embedded_resource: ({ resourceUri }) => [
    user(resource(String(resourceUri), 'text/plain', 'Embedded resource content for testing.')),
    user(text('Please process the embedded resource above.')),
  ],
  test_prompt_with_image: () => [user(image), user(text('Please analyze the image above.'))],
}

const promptArguments: Readonly<Record<string, readonly string[]>> = {
  test_prompt_with_arguments: ['arg1', 'arg2'],
  test_prompt_with_embedded_resource: ['resourceUri'],
}

const contents: Readonly<Record<string, JsonObject>> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: pixel },
}

function readResource(uri: string): JsonObject {
  const [, id] = /^test:\/\/template\/(\w+)\/data$/.exec(uri) ?? []
  const found = Object.hasOwn(contents, uri) ? contents[uri] : undefined
  if (found) return { contents: [{ uri, ...found }] }
  if (id === undefined) throw new RpcError(-32_602, 'There is no such resource.', { uri })
  const data = { id, templateTest: true, data: `Data for ID: ${id}` }
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(data) }] }
}

const methods: RpcMethods = {
  'tools/list': () => ({
    tools: Object.keys(results).map((name) => ({
      name,
      description: `Answers what ${name} asks for.`,
      inputSchema: { type: 'object', properties: {} },
    })),
  }),
  'tools/call': (params) => {
    const name = requireText(params, 'name')
    const result = Object.hasOwn(results, name) ? results[name] : undefined
    if (!result) throw invalidParams(`There is no tool ${name}.`)
    return result
  },
  'resources/list': () => ({ resources: Object.keys(contents).map((uri) => ({ uri, name: uri })) }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ name: 'data', uriTemplate: 'test://template/{id}/data', mimeType: 'application/json' }],
  }),
  'resources/read': (params) => readResource(requireText(params, 'uri')),
  'prompts/list': () => ({
    prompts: Object.keys(prompts).map((name) => ({
      name,
      description: `Says what ${name} asks for.`,
      arguments: (promptArguments[name] ?? []).map((argument) => ({ name: argument, required: true })),
    })),
  }),
  'prompts/get': (params) => {
    const name = requireText(params, 'name')
    const render = Object.hasOwn(prompts, name) ? prompts[name] : undefined
    if (!render) throw invalidParams('There is no such prompt.')
    return { messages: render((params['arguments'] ?? {}) as JsonObject) }
  },
}

async function respond(request: Request, publicUrl: string): Promise<Response> {
  if (isForeignPage(request, publicUrl)) return new Response(null, { status: 403 })
  if (request.method !== 'POST') return new Response(null, { status: 405 })
  const message = readMessage(await request.text(), request.headers)
  return message instanceof Response ? message : answerRequest(message, methods)
}

export async function serveFixture(): Promise<{ readonly url: string; readonly close: () => void }> {
  let publicUrl = ''
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const parts: Buffer[] = []
      for await (const part of incoming) parts.push(part as Buffer)
      const { method = 'GET', url = '/', headers } = incoming
      const request = new Request(`http://${headers.host}${url}`, {
        method,
        headers: Object.entries(headers).flatMap(([name, value]) =>
          typeof value === 'string' ? [[name, value] as [string, string]] : [],
        ),
        ...(parts.length > 0 && { body: Buffer.concat(parts) }),
      })
      const response = await respond(request, publicUrl)
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      outgoing.end(Buffer.from(await response.arrayBuffer()))
    })()
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { port } = server.address() as AddressInfo
  publicUrl = `http://localhost:${port}`
  return { url: `${publicUrl}/mcp`, close: () => (server.closeAllConnections(), void server.close()) }
}
