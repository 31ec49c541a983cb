/** Serves functions as the tools of an MCP server over HTTP, for suites that bring an environment of their own. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

export type ServedTool = {
  readonly name: string
  readonly description: string
  readonly inputSchema: object
  readonly annotations: Readonly<Record<string, boolean>>
}
export type CallTool = (name: string, input: Readonly<Record<string, unknown>>) => unknown

type Request = {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly name?: string; readonly arguments?: Readonly<Record<string, unknown>> }
}

/** A function that throws or rejects makes a result with `isError`. `pauseMs`: before and after each call, so that a kill may hit it. */
export async function serveTools(tools: readonly ServedTool[], call: CallTool, pauseMs: () => number = () => 0) {
  const answer = async ({ method, params = {} }: Request): Promise<object | undefined> => {
    if (method === 'initialize')
      return {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'suite', version: '1.0.0' },
      }
    if (method === 'ping') return {}
    if (method === 'tools/list') return { tools }
    if (method !== 'tools/call') return undefined
    await delay(pauseMs())
    const result = await runTool(call, params)
    await delay(pauseMs())
    return result
  }
  const server = createServer(async (incoming, response) => {
    if (incoming.method !== 'POST') return response.writeHead(405).end()
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part as Buffer)
    const request = JSON.parse(Buffer.concat(parts).toString('utf8')) as Request
    if (request.id === undefined) return response.writeHead(202).end()
    const result = await answer(request)
    const error = { code: -32_601, message: 'There is no such method.' }
    response.writeHead(200, { 'content-type': 'application/json' })
    return response.end(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...(result ? { result } : { error }) }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function runTool(call: CallTool, { name = '', arguments: input = {} }: NonNullable<Request['params']>) {
  try {
    const result = await call(name, input)
    return { content: [{ type: 'text', text: typeof result === 'string' ? result : JSON.stringify(result) }] }
  } catch (error) {
    return { content: [{ type: 'text', text: error instanceof Error ? error.message : String(error) }], isError: true }
  }
}
