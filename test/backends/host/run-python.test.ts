/** Tests Python programs with a real python3 on a host that only runs scripts. */

import { afterAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { Program, ProgramAnswer } from '#agent/core/program.ts'
import { hostBackend } from '#backends/host/host-backend.ts'
import { runPython } from '#backends/python/run-python.ts'
import { createLocalHost } from './local-host.mjs'

const host = createLocalHost()
afterAll(() => host.drop())
const backend: ExecutionBackend = hostBackend({
  ...host,
  kind: 'daytona',
  network: 'full',
  languages: ['bash', 'python'],
  describe: 'A local host for tests.',
  memory: { read: () => ({}), write: () => undefined },
})

const tools: Program['tools'] = [
  {
    name: 'read_file',
    description: 'Read a file.',
    parameters: ['path', 'offset'],
    inputSchema: {
      type: 'object',
      properties: { path: { type: 'string' }, offset: { type: 'integer' }, from: { type: 'string' } },
      required: ['path'],
    },
  },
  { name: 'mcp__a-b__c', description: '"""\n"; x', parameters: [], inputSchema: { type: 'object' } },
]

type Asked = readonly [name: string, input: unknown]

async function run(source: string, more: Partial<Program> = {}, answer?: (asked: Asked) => Promise<ProgramAnswer>) {
  const asked: Asked[] = []
  const call = async (name: string, input: unknown) => {
    asked.push([name, input])
    return (await answer?.([name, input])) ?? { ok: { name, input } }
  }
  const options = { tools, timeoutMs: 30_000, signal: new AbortController().signal }
  const end = await runPython(backend, { source, language: 'python', ...options, call, ...more })
  return { asked, end }
}

describe('a Python program', () => {
  it('calls tools with keywords, places and names that Python lacks, from threads and from children', async () => {
    const { asked, end } = await run(`
import subprocess, sys, inspect
from concurrent.futures import ThreadPoolExecutor
print(read_file('ä b', offset=2)['input'])
print(tools.mcp__a_b__c(x=[1, None])['name'])
print(read_file('a', **{'from': 'x'})['input'])
with ThreadPoolExecutor(4) as pool:
    print(sorted(one['input']['path'] for one in pool.map(read_file, 'dcba')))
child = "import talaria_tools; print(talaria_tools.call('read_file', {'path': 'child'}))"
print(subprocess.run([sys.executable, '-c', child], capture_output=True, text=True).stdout.strip())
print(inspect.signature(read_file), read_file.__doc__)
`)
    expect(end).toEqual({
      status: 'success',
      omitted: undefined,
      output: `{'path': 'ä b', 'offset': 2}
mcp__a-b__c
{'path': 'a', 'from': 'x'}
['a', 'b', 'c', 'd']
{'name': 'read_file', 'input': {'path': 'child'}}
(path: 'str', offset: 'int' = None, **_more) -> 'dict' Read a file.
`,
    })
    expect(asked.slice(0, 2)).toEqual([
      ['read_file', { path: 'ä b', offset: 2 }],
      ['mcp__a-b__c', { x: [1, null] }],
    ])
  })

  it.each(['tools.mcp__big__c()', 'mcp__big__c()'])('is told how %s is called without a function', async (source) => {
    // As many as a program can carry.
    const long = Array.from({ length: 3 }, (_, n) => ({ ...tools[0]!, name: `t${n}`, description: 'x'.repeat(40_000) }))
    const big = { name: 'mcp__big__c', description: '', parameters: [], inputSchema: { type: 'object' } }
    const { end, asked } = await run(
      `print(tools.call('mcp__big__c', {'a': 1})['input'])\nassert not hasattr(tools, '_x')\n${source}`,
      { tools: [...long, big] },
    )
    expect([end.status, asked]).toEqual(['error', [['mcp__big__c', { a: 1 }]]])
    expect(`${end.output}${end.error}`).toContain('tools.call("mcp__big__c", {...})')
  })

  it('gets refusals as exceptions that name the tool, and shows its own lines in a traceback', async () => {
    const refuse = async () => ({ error: 'it is not allowed', result: { status: 'denied' } })
    const source = `
try:
    read_file('a')
except ToolError as error:
    print(error, error.result['status'])
def work():
    read_file('b')
work()
`
    const { end } = await run(source, {}, refuse)
    expect(end).toMatchObject({ status: 'error', output: 'read_file: it is not allowed denied\n' })
    expect(end.error).toMatch(
      /^Traceback[\s\S]*program\.py", line 8, in <module>[\s\S]*line 7, in work[\s\S]*ToolError:/,
    )
    expect(end.error).not.toMatch(/exit code|in _run/)
  })

  itInTurn('keeps values in state for the next program, also when it ends by an error', async () => {
    const { end } = await run(`state['n'] = state.get('n', 0) + 1\nraise SystemExit(3)`, { state: '{"n":4}' })
    expect(end).toMatchObject({ status: 'error', state: '{"n": 5}', error: 'The program ended with exit code 3.' })
    expect((await run('state.get("n")', { state: '{"n":5}' })).end.state).toBeUndefined()
    const lost = await run('state["n"] = object()')
    expect(lost.end.output).toContain('[state is not kept: ')
    expect(lost.end.state).toBeUndefined()
    const forged = await run(`
import os, talaria_tools
open(os.path.dirname(talaria_tools.__file__) + '/state.json', 'w').write('[1]')
`)
    expect(forged.end.state).toBeUndefined()
  })

  itInTurn.each([
    ['an input that is no JSON', 'read_file(float("nan"))', /ValueError/],
    ['an input that is too large', 'read_file("x" * 1_100_000)', /more than 1048576 bytes/],
  ])('does not send %s', async (_, source, error) => {
    const { end, asked } = await run(source)
    expect(end).toMatchObject({ status: 'error', error: expect.stringMatching(error) as string })
    expect(asked).toEqual([])
  })

  itInTurn('ends with its time, and with a stop, while a call is running', async () => {
    const never = () => new Promise<ProgramAnswer>(() => undefined)
    expect((await run('read_file("a")', { timeoutMs: 1_500 }, never)).end).toMatchObject({ status: 'timeout' })
    const stop = new AbortController()
    const stopped = run('read_file("a")', { signal: stop.signal }, async () => {
      stop.abort()
      return never()
    })
    expect((await stopped).end).toMatchObject({ status: 'interrupted', error: 'Stopped by the user.' })
  })

  itInTurn('is ended when the answer of a call cannot be handed over', async () => {
    const full = {
      ...backend.files,
      write: async (path: string, bytes: Uint8Array) => {
        if (path.endsWith('.reply')) throw new Error('The disk is full.')
        return backend.files.write(path, bytes)
      },
    }
    const program = { source: 'read_file("a")', tools, timeoutMs: 30_000, signal: new AbortController().signal }
    const end = await runPython({ ...backend, files: full }, { ...program, call: async () => ({ ok: {} }) })
    expect(end).toMatchObject({ status: 'error', error: expect.stringContaining('disk is full') as string })
  })

  itInTurn('leaves no files behind', async () => {
    await run('print(1)')
    expect(await backend.files.list('/tmp/programs')).toEqual([])
  })
})
