import { describe, expect, it } from 'vitest'
import { answer, type Asked, eraOf, serverCount, toolCount } from './answer.ts'
import { called, toolsOf } from './catalogue.ts'

const all = Array.from({ length: serverCount }, (_, n) => toolsOf(n, serverCount, toolCount))
const ask = (method: string, params: object = {}): Asked => ({ id: 7, method, params })

describe('the tools of the servers', () => {
  it('are as many as promised, with names that occur once', () => {
    expect(all.reduce((sum, tools) => sum + tools.length, 0)).toBe(toolCount)
    for (const tools of all) {
      expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length)
      expect(tools[0]?.name).toBe(called)
    }
  })

  it('are shared out as evenly as possible', () => {
    const counts = [0, 1, 2].map((server) => toolsOf(server, 3, 10).length)
    expect(counts).toEqual([4, 3, 3])
  })
})

describe('a server', () => {
  it('speaks its revision alone', () => {
    const [modern, legacy] = [0, 1]
    expect([eraOf(modern), eraOf(legacy), eraOf(2)]).toEqual(['modern', 'legacy', 'asking'])
    expect(answer(modern, ask('server/discover')).status).toBe(200)
    expect(answer(modern, ask('initialize')).status).toBe(404)
    expect(answer(legacy, ask('server/discover')).status).toBe(404)
    expect(answer(legacy, ask('initialize')).headers).toEqual({ 'mcp-session-id': 'session-1' })
    expect(answer(legacy, { method: 'notifications/initialized' })).toEqual({ status: 202 })
  })

  it('returns the text of a call', () => {
    const { body } = answer(0, ask('tools/call', { name: called, arguments: { text: 'words' } }))
    expect(body).toMatchObject({
      id: 7,
      result: { resultType: 'complete', content: [{ type: 'text', text: 'words' }] },
    })
  })
})
