/** Answers messages of the Model Context Protocol at once, as a server of either revision. */

import { toolsOf } from './catalogue.ts'

/** `asking`: a legacy server that keeps a stream for questions open beside a call. */
export type Era = 'modern' | 'legacy' | 'asking'

export type Asked = {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { readonly name?: string; readonly arguments?: { readonly text?: unknown } }
}

export type Answer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Absent: the answer has no body. */
  readonly body?: object
}

export const serverCount = 40
export const toolCount = 3_300

/** The first servers speak one revision each; the others take turns. */
export const eras: readonly Era[] = ['modern', 'legacy', 'asking']
export const eraOf = (server: number): Era => eras[server] ?? (server % 2 ? 'legacy' : 'modern')

const notFound = -32_601

export function answer(server: number, { id, method, params = {} }: Asked): Answer {
  const isModern = eraOf(server) === 'modern'
  const reply = (result: object, headers?: Answer['headers']): Answer => ({
    status: 200,
    ...(headers && { headers }),
    body: { jsonrpc: '2.0', id, result: isModern ? { resultType: 'complete', ...result } : result },
  })
  if (id === undefined) return { status: 202 }
  if (method === 'server/discover' && isModern)
    return reply({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
  if (method === 'initialize' && !isModern)
    return reply(
      { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: `s${server}`, version: '1' } },
      { 'mcp-session-id': `session-${server}` },
    )
  if (method === 'tools/list') return reply({ tools: toolsOf(server, serverCount, toolCount) })
  if (method === 'tools/call') return reply({ content: [{ type: 'text', text: String(params.arguments?.text ?? '') }] })
  return { status: 404, body: { jsonrpc: '2.0', id, error: { code: notFound, message: 'unknown' } } }
}
