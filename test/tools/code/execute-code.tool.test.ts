import { describe, expect, it } from 'vitest'
import type { ToolMessage } from '#agent/core/message.ts'
import type { Program, ProgramAnswer, ProgramEnd } from '#agent/core/program.ts'
import type { NestedRequest, Programs, Tool } from '#agent/core/tool.ts'
import { listCallableTools, renderDeclarations } from '#tools/code/callable-tools.ts'
import { toProgramAnswer } from '#tools/code/program-calls.ts'
import executeCode from '#tools/code/execute-code.tool.ts'
import { tools } from '#tools/index.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

const toolbox = new Map<string, Tool>(tools.map((tool) => [tool.name, tool]))
const message = (value: unknown, failed = false): ToolMessage => ({
  role: 'tool',
  callId: 'x',
  name: 'x',
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
  failed,
})

/** Programs are functions here. Tests of the isolate cover running source. */
function setUp(act: (program: Program) => Promise<ProgramEnd>, answer: (request: NestedRequest) => ToolMessage) {
  const asked: NestedRequest[] = []
  const programs: Programs = {
    run: act,
    toolbox: () => toolbox,
    touches: () => 'nothing',
    state: { read: () => undefined, keep: () => undefined },
    leftWaiting: () => undefined,
    dispatch: async (request) => {
      asked.push(request)
      return answer(request)
    },
  }
  const run = (input: object, backend = memoryBackend()) => call(executeCode, input, { programs, backend })
  return { asked, run }
}

const success: ProgramEnd = { status: 'success', output: 'out\n' }

describe('execute_code', () => {
  it('passes the callable tools with their parameter names', async () => {
    let given: Program | undefined
    const { run } = setUp(
      async (program) => {
        given = program
        return success
      },
      () => message({}),
    )
    const { failed, result } = await run({ code: 'x', language: 'typescript' })
    expect(failed).toBe(false)
    expect(result).toEqual({ status: 'success', output: 'out', tool_calls_made: 0, duration_seconds: 0 })
    expect(given).toMatchObject({ source: 'x', language: 'typescript', timeoutMs: 300_000 })
    const names = given?.tools.map(({ name }) => name) ?? []
    expect(names.slice(0, 7)).toEqual([
      'read_file',
      'write_file',
      'search_files',
      'patch',
      'terminal',
      'web_search',
      'web_extract',
    ])
    expect(names).toEqual(expect.arrayContaining(['memory', 'session_search', 'browser_navigate']))
    for (const waits of ['clarify', 'execute_code', 'cronjob', 'process']) expect(names).not.toContain(waits)
    expect(given?.tools[1]?.parameters.slice(0, 2)).toEqual(['path', 'content'])
  })

  it('calls tools of servers, plugins and services, and none that sends messages to people', () => {
    const [tool] = tools
    const names = ['mcp__a__b', 'plugin__a__b', 'ha_get_state', 'spotify_search', 'send_message', 'a2a_call']
    const found = listCallableTools(new Map(names.map((name) => [name, { ...tool, name } as Tool])))
    expect(found.map(({ name }) => name)).toEqual(names.slice(0, 4))
  })

  it.each<[string, unknown, RegExp]>([
    ['a tool that is not for programs', ['todo', {}], /no such tool/],
    ['itself', ['execute_code', { code: '1' }], /no such tool/],
    ['a command in the background', ['terminal', { command: 'x', background: true }], /background/],
    ['the same in words', ['terminal', { command: 'x', background: 'True' }], /background/],
  ])('refuses to call %s', async (_, request, error) => {
    const [name, input] = request as [string, object]
    let answer: ProgramAnswer | undefined
    const { run, asked } = setUp(
      async (program) => {
        answer = await program.call(name, input)
        return success
      },
      () => message({}),
    )
    expect((await run({ code: 'x' })).result).toMatchObject({ tool_calls_made: 0 })
    expect(answer).toEqual({ error: expect.stringMatching(error) as string })
    expect(asked).toEqual([])
  })

  it('numbers calls below its own id and allows fifty', async () => {
    const answers: ProgramAnswer[] = []
    const { run, asked } = setUp(
      async (program) => {
        for (let n = 0; n < 52; n++) answers.push(await program.call('read_file', { path: 'a' }))
        return success
      },
      () => message({ content: '' }),
    )
    expect((await run({ code: 'x' })).result).toMatchObject({ tool_calls_made: 50 })
    expect(asked).toHaveLength(50)
    expect(asked[49]).toMatchObject({ parent: 'call-1', id: 'call-1.50' })
    expect(answers[51]).toEqual({ error: expect.stringContaining('at most 50 calls') as string })
  })

  it('stops calls that still run after the program and waits for them', async () => {
    let signal: AbortSignal | undefined
    let isEnded = false
    const programs: Programs = {
      run: async (program) => {
        void program.call('read_file', { path: 'a' })
        await Promise.resolve()
        return { status: 'timeout', output: '', error: 'Stopped after 300 s.' }
      },
      toolbox: () => toolbox,
      touches: () => 'nothing',
      state: { read: () => undefined, keep: () => undefined },
      leftWaiting: () => undefined,
      dispatch: async (request) => {
        signal = request.signal
        await new Promise((stopped) => request.signal.addEventListener('abort', stopped))
        isEnded = true
        return message({ error: 'Stopped' }, true)
      },
    }
    const { failed, result } = await call(executeCode, { code: 'x' }, { programs, backend: memoryBackend() })
    expect({ failed, isEnded, aborted: signal?.aborted }).toEqual({ failed: true, isEnded: true, aborted: true })
    expect(result).toMatchObject({ status: 'timeout', tool_calls_made: 1, error: 'Stopped after 300 s.' })
  })

  it.each([
    ['def f():\n    print(1)', true],
    ['import os', true],
    ['const a = (', false],
  ])('adds a hint to the syntax error of %j only for Python', async (source, hinted) => {
    const { run } = setUp(
      async () => ({ status: 'error', output: '', error: 'SyntaxError: no (line 1, column 1)' }),
      () => message({}),
    )
    expect((await run({ code: source })).result['error'].includes('JavaScript')).toBe(hinted)
  })

  it('describes the tools of the session in few bytes', () => {
    const text = renderDeclarations(new Map([...toolbox].filter(([name]) => name !== 'terminal')))
    expect(text).toMatch(/^read_file → .*; write_file → .*; search_files → .*; patch → /)
    expect(text).not.toMatch(/terminal/)
    const sent = executeCode.description + executeCode.describeWith(toolbox) + JSON.stringify(executeCode.inputSchema)
    console.log(`execute_code: ${sent.length} bytes`)
    expect(sent.length).toBeLessThan(1_400)
  })
})

describe('a result', () => {
  it.each<[string, ToolMessage, ProgramAnswer]>([
    ['is the object of the tool', message({ a: 1 }), { ok: { a: 1 } }],
    ['that is no JSON is content', message('plain'), { ok: { content: 'plain' } }],
    [
      'of a command that failed is a result',
      message({ output: '', exit_code: 1 }, true),
      { ok: { output: '', exit_code: 1 } },
    ],
    [
      'of a command that did not run is thrown',
      message({ output: '', exit_code: -1, status: 'refused', error: 'never' }, true),
      { error: 'never', result: { output: '', exit_code: -1, status: 'refused', error: 'never' } },
    ],
    ['that is a failure is thrown', message({ error: 'gone' }, true), { error: 'gone', result: { error: 'gone' } }],
  ])('%s', (_, given, answer) => {
    expect(toProgramAnswer(given)).toEqual(answer)
  })
})

describe('python', () => {
  it('alone needs approval', () => {
    expect(executeCode.assess?.({ code: 'x', language: 'python' }, {})).toMatchObject({ verdict: 'ask' })
    expect(executeCode.risk({ code: 'x', language: 'python' })).toBe('exec')
    expect(executeCode.assess?.({ code: 'x' }, {})).toMatchObject({ verdict: 'allow' })
    expect(executeCode.risk({ code: 'x' })).toBe('none')
  })
})
