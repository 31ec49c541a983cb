/** Tests the import of a Hermes Agent's home against a stand-in of the API. test/e2e/import.test.ts uses a real server. */

import { rmSync } from 'node:fs'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { ApiError } from '../../../bin/lib/api.mjs'
import { importHermes } from '../../../bin/lib/import-hermes.mjs'
import { createHermesHome } from './hermes-home.ts'

const homes: string[] = []
const newHome = (options = {}) => {
  const home = createHermesHome(options)
  homes.push(home)
  return home
}
afterAll(() => homes.forEach((home) => rmSync(home, { recursive: true, force: true })))

type Sent = { readonly method: string; readonly path: string; readonly body: unknown }

/** Holds what the routes of the API hold, as far as the import uses them. */
function createStandIn({ refuse = (_sent: Sent): Error | undefined => undefined } = {}) {
  const sent: Sent[] = []
  let agent: { soul?: string } = {}
  const memory = { memory: { entries: new Array<string>() }, user: { entries: new Array<string>() } }
  const skills = new Map<string, string[]>()
  const sessions = new Map<string, { messages: readonly { role: string }[] }>()
  const call = async (method: string, path: string, body?: unknown) => {
    const asked = { method, path, body }
    sent.push(asked)
    const refusal = refuse(asked)
    if (refusal) throw refusal
    const [, , room, name = '', , ...file] = path.split(/[/?]/)
    if (room === 'settings') {
      if (method === 'PATCH') agent = (body as { agent: object }).agent
      return { status: 200, body: { agent } }
    }
    if (room === 'memory') {
      const { target, operations = [] } = (body ?? {}) as { target: 'user'; operations?: { content: string }[] }
      for (const { content } of operations) memory[target].entries.push(content)
      return { status: 200, body: memory }
    }
    if (room === 'skills' && method === 'POST')
      return { status: 201, body: skills.set((body as { name: string }).name, []) }
    if (room === 'skills' && method === 'PUT') return { status: 200, body: skills.get(name)?.push(file.join('/')) }
    if (room === 'skills') {
      const files = skills.get(name)
      if (!files) throw new ApiError('No such skill.', { status: 404 })
      return { status: 200, body: { source: 'user', files: files.map((one) => ({ path: one })) } }
    }
    const id = decodeURIComponent(path.split('id=')[1] ?? '')
    const status = sessions.has(id) ? 200 : 201
    if (status === 201) sessions.set(id, JSON.parse(body as string) as { messages: { role: string }[] })
    return { status, body: { id } }
  }
  return { call, sent, memory, skills, sessions, soul: () => agent.soul }
}

let lines: string[]
beforeEach(() => void (lines = []))
const options = { report: (line: string) => void lines.push(line) }

describe('an import of a Hermes home', () => {
  it('brings identity, memories, own skills and sessions', async () => {
    const api = createStandIn()
    const counts = await importHermes(newHome(), api.call, options)
    expect(counts).toEqual({ added: 7, present: 0, failed: 0 })
    expect(api.soul()).toBe('You are Hermes, a calm assistant.')
    expect(api.memory).toEqual({
      memory: { entries: ['The staging server is in Frankfurt.', 'Deploys run on Fridays.'] },
      user: { entries: ['Prefers short answers.'] },
    })
    expect([...api.skills]).toEqual([['ship-it', ['references/steps.md']]])
    expect([...api.sessions.keys()]).toEqual(['hermes-20260101_120000_ab12cd', 'hermes-telegram:42_7'])
    expect(lines.at(-1)).toBe('7 added, 0 already there, 0 not taken.')
  })

  it('adds nothing the second time', async () => {
    const api = createStandIn()
    const home = newHome()
    await importHermes(home, api.call, options)
    const before = JSON.stringify([api.memory, [...api.skills], [...api.sessions]])
    expect(await importHermes(home, api.call, options)).toEqual({ added: 0, present: 7, failed: 0 })
    expect(JSON.stringify([api.memory, [...api.skills], [...api.sessions]])).toBe(before)
  })

  it('keeps conversations whole: thinking, times, one result for each call, nothing that was taken back', async () => {
    const api = createStandIn()
    await importHermes(newHome(), api.call, options)
    expect(api.sessions.get('hermes-20260101_120000_ab12cd')).toMatchObject({
      session: { title: 'Deploy region', model: 'gpt-5.5', created_at: '2026-01-01T12:00:00.000Z' },
      messages: [
        { role: 'user', content: 'Where do we deploy?', created_at: '2026-01-01T12:00:02.500Z' },
        {
          role: 'assistant',
          reasoning: 'I look it up.',
          tool_calls: [{ id: 'call_1', function: { name: 'read_file' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', name: 'read_file', content: '{"content":"Frankfurt"}' },
        { role: 'assistant', content: 'To Frankfurt.' },
        { role: 'user', content: [{ type: 'text', text: 'and this?' }] },
        { role: 'assistant', content: 'I look.' },
        { role: 'tool', tool_call_id: 'call_2', name: 'search_files', content: '[The result was not stored.]' },
      ],
    })
  })

  it('reads a store of the first version', async () => {
    const api = createStandIn()
    await importHermes(newHome({ isOld: true }), api.call, options)
    expect(api.sessions.get('hermes-telegram:42_7')?.messages).toMatchObject([{ content: 'hello from the phone' }])
  })

  it('never sends keys', async () => {
    const api = createStandIn()
    await importHermes(newHome(), api.call, { ...options, withBundled: true })
    expect(JSON.stringify(api.sent)).not.toMatch(/never-read-me|auth\.json|system prompt|etc\/passwd/)
    expect([...api.skills.keys()]).toEqual(['brought-along', 'ship-it'])
  })

  it('keeps the identity that Talaria has, unless told to overwrite it', async () => {
    const api = createStandIn()
    await api.call('PATCH', '/api/settings', { agent: { soul: 'Mine.' } })
    const home = newHome()
    await importHermes(home, api.call, options)
    expect([api.soul(), lines.some((line) => line.includes('--overwrite'))]).toEqual(['Mine.', true])
    await importHermes(home, api.call, { ...options, isOverwriting: true })
    expect(api.soul()).toBe('You are Hermes, a calm assistant.')
  })

  it('reports what the server refuses and goes on, but ends without access', async () => {
    const full = createStandIn({
      refuse: ({ path, method }) =>
        path === '/api/memory' && method === 'PATCH' ? new ApiError('The memory is full.', { status: 400 }) : undefined,
    })
    expect(await importHermes(newHome(), full.call, options)).toEqual({ added: 4, present: 0, failed: 3 })
    expect(lines).toContain('! USER.md, entry 1: The memory is full.')
    const closed = createStandIn({ refuse: () => new ApiError('No.', { status: 401 }) })
    await expect(importHermes(newHome(), closed.call, options)).rejects.toThrow('No.')
  })
})
