/** Tests how messages are built, how answers to the probe are judged, and how values are carried in headers. */

import { describe, expect, it } from 'vitest'
import {
  answerServer,
  createHeaders,
  createRequest,
  encodeHeaderValue,
  judgeProbe,
  parseMessages,
  renderProgress,
  type RpcMessage,
} from '../../../src/agent/mcp/protocol.ts'

const result = (value: object): RpcMessage => ({ jsonrpc: '2.0', id: 1, result: value as RpcMessage['result'] & {} })
const error = (code: number, data?: unknown): RpcMessage => ({
  jsonrpc: '2.0',
  id: 1,
  error: { code, message: 'no', data },
})

describe('judgeProbe', () => {
  it.each([
    ['a modern server', 200, result({ supportedVersions: ['2026-07-28'] }), 'modern'],
    ['a server of both eras', 200, result({ supportedVersions: ['2025-11-25', '2026-07-28'] }), 'modern'],
    ['a server that only knows old versions', 200, result({ supportedVersions: ['2025-06-18'] }), 'legacy'],
    ['a server of a later time', 200, result({ supportedVersions: ['2099-01-01'] }), 'unknown'],
    ['a lenient server', 200, result({}), 'legacy'],
    ['a lenient server with tools', 200, result({ tools: [] }), 'legacy'],
    ['an unknown method', 404, error(-32_601), 'legacy'],
    ['a missing session', 400, error(-32_000), 'legacy'],
    ['a page', 405, undefined, 'legacy'],
    ['another version', 400, error(-32_022, { supported: ['2025-11-25'] }), 'legacy'],
    ['no common version', 400, error(-32_022, { supported: ['2099-01-01'] }), 'unknown'],
    ['refused credentials', 401, undefined, 'unknown'],
    ['a forbidden request', 403, undefined, 'unknown'],
    ['a busy server', 429, undefined, 'unknown'],
    ['a broken server', 502, undefined, 'unknown'],
  ])('judges %s', (_, status, message, era) => {
    expect(judgeProbe(status, message).era).toBe(era)
  })
})

describe('requests', () => {
  it('repeat version and client in each modern one, and nothing in a legacy one', () => {
    const modern = createRequest({
      era: 'modern',
      version: '2026-07-28',
      id: 7,
      method: 'tools/call',
      params: { name: 'a' },
    })
    expect(modern.params?.['_meta']).toMatchObject({ 'io.modelcontextprotocol/protocolVersion': '2026-07-28' })
    expect(createHeaders(modern, { era: 'modern', version: '2026-07-28' })).toMatchObject({
      'mcp-method': 'tools/call',
      'mcp-name': 'a',
      'mcp-protocol-version': '2026-07-28',
    })
    const legacy = createRequest({ era: 'legacy', version: '2025-11-25', id: 8, method: 'tools/list' })
    expect(legacy).toEqual({ jsonrpc: '2.0', id: 8, method: 'tools/list' })
    expect(createHeaders(legacy, { era: 'legacy', version: '2025-11-25', sessionId: 's' })).toMatchObject({
      'mcp-session-id': 's',
    })
  })

  it.each([
    ['plain', 'plain'],
    ['two words', 'two words'],
    [' space around ', '=?base64?IHNwYWNlIGFyb3VuZCA=?='],
    ['line\r\nX-Evil: 1', '=?base64?bGluZQ0KWC1FdmlsOiAx?='],
    ['grün', '=?base64?Z3LDvG4=?='],
    ['=?base64?YQ==?=', '=?base64?PT9iYXNlNjQ/WVE9PT89?='],
    ['', '=?base64??='],
  ])('carry the value %j in a header', (value, header) => {
    expect(encodeHeaderValue(value)).toBe(header)
  })
})

describe('messages of a server', () => {
  it.each([
    ['<html>', []],
    ['', []],
    ['{"id":1}', []],
    ['[{"jsonrpc":"2.0","id":1},5]', [{ jsonrpc: '2.0', id: 1 }]],
  ])('are read from %j', (given, messages) => {
    expect(parseMessages(given)).toEqual(messages)
  })

  it('get an answer where they ask: to a ping, and a refusal of all else', () => {
    expect(answerServer({ jsonrpc: '2.0', id: 1, method: 'ping' })).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
    expect(answerServer({ jsonrpc: '2.0', id: 2, method: 'sampling/createMessage' })?.error?.code).toBe(-32_601)
    expect(answerServer({ jsonrpc: '2.0', method: 'notifications/message' })).toBeUndefined()
  })

  it.each([
    [{ message: 'half', progress: 1 }, 'half\n'],
    [{ progress: 1, total: 2 }, '1/2\n'],
    [{ progress: 1 }, '1\n'],
    [{}, undefined],
  ])('show the progress %j', (params, shown) => {
    expect(renderProgress({ jsonrpc: '2.0', method: 'notifications/progress', params })).toBe(shown)
  })
})
