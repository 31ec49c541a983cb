/** Tests the dispatcher with built-in tools and with a tool that a tenant adds at run time. */

import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import { defaultLimits, type View } from '#agent/core/ports.ts'
import type { Tool } from '#agent/core/tool.ts'
import { newTurn, type Result, type ToolCall } from '#agent/core/turn.ts'
import type { ApprovalPolicy } from '#agent/policy/approval/approval.ts'
import { planAll } from '#agent/policy/plan-calls.ts'
import { createRedactor } from '#agent/core/secrets/redaction.ts'
import { defineTool } from '#tools/define-tool.ts'
import { type DispatchOptions, dispatch } from '#tools/dispatch.ts'
import { tools } from '#tools/index.ts'
import { checkPermission } from '#tools/check-permission.ts'
import { toolsFor } from '#tools/tools-for.ts'
import { echoTool } from './support/echo-tool.ts'
import { ownerAuthority } from '../support/authority.ts'

const sessionOf = (options: Pick<DispatchOptions, 'toolbox'> & Partial<DispatchOptions>): DispatchOptions => ({
  services: {},
  context: {
    sessionId: 's',
    runId: 'r',
    authority: ownerAuthority(),
    signal: new AbortController().signal,
    clock: { now: () => 0 },
  },
  schedule: () => () => {},
  permit: () => ({ do: 'run' }),
  spill: () => Promise.reject(new Error('no result is that long')),
  logError: () => {},
  ...options,
})

async function resultsOf(calls: readonly ToolCall[], session: DispatchOptions): Promise<Result[]> {
  const results: Result[] = []
  for await (const result of dispatch(calls, session)) results.push(result)
  return results
}

describe('a tool of a tenant with a JSON schema', () => {
  const ran: string[] = []
  const echo: Tool = {
    ...echoTool,
    run(input, context, services) {
      ran.push(context.callId)
      return echoTool.run(input, context, services)
    },
  }
  const { toolbox } = toolsFor({ builtIn: tools, tenantTools: [echo], services: new Set() })

  const planned = (input: object) => {
    const part = { type: 'call', id: `call-${ran.length}`, name: 'mcp__demo__echo', input } as const
    const view = { toolbox, limits: defaultLimits } as View
    const [call] = planAll(newTurn('turn', 0, 10), [part], view)
    return call!
  }
  const runWith = async (
    input: object,
    policy: Partial<ApprovalPolicy> = {},
    options: Partial<DispatchOptions> = {},
  ) => {
    const permit: DispatchOptions['permit'] = (call, tool) =>
      checkPermission(call, tool, {
        services: {},
        policy: () => ({ mode: 'off', rules: [], grants: [], decisions: [], ...policy }),
        describeLocation: () => 'virtual /workspace',
        judge: async () => 'escalate',
        now: () => 0,
      })
    const [result] = await resultsOf([planned(input)], sessionOf({ toolbox, permit, ...options }))
    return result!
  }
  const textOf = (result: Result): Record<string, unknown> => {
    const part = result.of === 'tool' ? result.message.content[0] : undefined
    return JSON.parse(part?.type === 'text' ? part.text : '{}')
  }

  it('runs and answers like a built-in tool', async () => {
    const result = await runWith({ text: 'ab', times: 2 })
    expect(result).toMatchObject({ of: 'tool', message: { name: 'mcp__demo__echo', failed: false } })
    expect(textOf(result)).toEqual({ echo: 'abab' })
  })

  it.each([{}, { text: 1 }, { text: '' }, { text: 'a', times: 1.5 }, { text: 'a', other: true }])(
    'does not run with %j, which does not fit its schema',
    async (input) => {
      const result = await runWith(input)
      expect(result).toMatchObject({ of: 'tool', message: { failed: true } })
      expect(textOf(result)['error']).toContain('Invalid input for mcp__demo__echo')
    },
  )

  it('waits for an approval', async () => {
    const before = ran.length
    expect(await runWith({ text: 'a' }, { mode: 'manual' })).toMatchObject({
      of: 'later',
      awaits: { kind: 'approval', tool: 'mcp__demo__echo', risk: 'send', input: '{"text":"a"}' },
    })
    expect(ran).toHaveLength(before)
  })

  it.each([{ tool: 'mcp__demo__*' }, { tool: 'toolset:mcp-demo' }, { tool: '*', match: '*secret*' }])(
    'is denied by the rule %j',
    async (rule) => {
      const before = ran.length
      const result = await runWith({ text: 'a secret' }, { rules: [{ do: 'deny', ...rule }] })
      expect(result).toMatchObject({ of: 'tool', message: { failed: true }, decision: { did: 'refused', by: 'rule' } })
      expect(ran).toHaveLength(before)
    },
  )

  it('is planned with its effect, so that a crash does not repeat it', () => {
    expect(planned({ text: 'a' })).toMatchObject({ state: 'planned', effect: 'effect' })
  })

  it('runs alone, because its schema does not name what it touches', () => {
    expect(echo.touches({ text: 'a' }, {})).toBe('alone')
  })

  it('has its long result stored and shortened', async () => {
    const stored = new Map<string, string>()
    const spill: DispatchOptions['spill'] = async (callId, text) => {
      stored.set(callId, text)
      return `/tmp/results/${callId}.txt`
    }
    const result = await runWith({ text: 'a', times: 150_000 }, {}, { spill })
    const [[callId, text]] = [...stored] as [[string, string]]
    expect(text).toHaveLength(150_000 + '{"echo":""}'.length)
    expect(textOf(result)).toMatchObject({
      persisted_output: { path: `/tmp/results/${callId}.txt`, characters: text.length },
    })
  })

  it.each([
    ['own', 'https://a.example/reset/token=ab12cd34ef56'],
    ['open', 'https://a.example/reset/token=***'],
    [undefined, 'https://a.example/reset/token=***'],
  ] as const)('keeps the links of mails whole when its reach is %s, but no keys', async (reach, link) => {
    const mail = 'Go to https://a.example/reset/token=ab12cd34ef56 with ghp_abcdefghijklmnopqrstuvwxyz'
    const session = sessionOf({
      toolbox: new Map([[echo.name, { ...echo, ...(reach && { reach }) }]]),
      redactor: () => createRedactor([]),
    })
    const [result] = await resultsOf([planned({ text: mail })], session)
    expect(textOf(result!)['echo']).toBe(`Go to ${link} with ***`)
  })

  it('reports an error inside it without its details', async () => {
    const reported: unknown[] = []
    const broken = { ...echo, run: () => Promise.reject(new Error('the key is sk-1234')) }
    const session = sessionOf({
      toolbox: new Map([[echo.name, broken]]),
      logError: (error, tool) => reported.push([tool, String(error)]),
    })
    const [result] = await resultsOf([planned({ text: 'a' })], session)
    expect(textOf(result!)['error']).not.toContain('sk-1234')
    expect(reported).toEqual([['mcp__demo__echo', 'Error: the key is sk-1234']])
  })
})

it('calls of a group run at the same time: each of three waits until all have started', async () => {
  let started = 0
  let startAll = () => {}
  const allStarted = new Promise<void>((resolve) => (startAll = resolve))
  const barrier = defineTool({
    name: 'barrier',
    toolset: 'test',
    description: 'Waits for the other calls.',
    input: z.object({ n: z.number() }),
    effect: 'pure',
    run: async ({ n }) => {
      if (++started === 3) startAll()
      await allStarted
      return { n }
    },
  })
  const calls = [0, 1, 2].map((n): ToolCall => ({
    id: `barrier-${n}`,
    name: 'barrier',
    input: { n },
    effect: 'pure',
    state: 'planned',
  }))
  const results = await resultsOf(calls, sessionOf({ toolbox: new Map([['barrier', barrier]]) }))
  expect(results.map((result) => result.of === 'tool' && result.message.callId)).toEqual(calls.map(({ id }) => id))
})

describe('the results of a batch in a small window', () => {
  const speak = defineTool({
    name: 'speak',
    toolset: 'test',
    description: 'Says a letter many times.',
    input: z.object({ letter: z.string(), times: z.number() }),
    effect: 'pure',
    touches: () => 'nothing',
    run: async ({ letter, times }, { maxResultChars }) => ({ text: letter.repeat(times), most: maxResultChars }),
  })
  const toolbox = new Map([['speak', speak]])
  const planned = (letter: string, times: number): ToolCall => ({
    id: letter,
    name: 'speak',
    input: { letter, times },
    effect: 'pure',
    state: 'planned',
  })
  const limits = { perResult: 8_000, perBatch: 16_000 }

  it('share its limit: the largest is stored, also when it came earlier', async () => {
    const stored: string[] = []
    const spill: DispatchOptions['spill'] = async (callId) => {
      stored.push(callId)
      return `/tmp/results/${callId}.txt`
    }
    const calls = [planned('a', 7_000), planned('b', 6_000), planned('c', 5_000)]
    const results = await resultsOf(calls, sessionOf({ toolbox, spill, resultLimits: limits }))
    expect(stored).toEqual(['a'])
    const shortened = results.filter(({ of }) => of === 'shortened')
    expect(shortened.length + results.filter(({ of }) => of === 'tool').length).toBe(calls.length + shortened.length)
    expect(JSON.stringify(results)).toContain('/tmp/results/a.txt')
  })

  it('are told to the tools, which may page', async () => {
    const results = await resultsOf([planned('a', 1)], sessionOf({ toolbox, resultLimits: limits }))
    expect(JSON.stringify(results)).toContain('most\\":8000')
  })
})
