import { describe, expect, it } from 'vitest'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import process from '#tools/terminal/process.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'
import { memoryProcesses, type Scripted } from '../support/memory-processes.ts'

const shell = { read: () => ({ cwd: '/workspace', env: {} }), write: () => undefined, policy: async () => shellPolicy }
const setUp = (initial: Readonly<Record<string, Scripted>>) => {
  const processes = memoryProcesses(initial)
  const services = { backend: memoryBackend(), shell, processes }
  const assess = (input: object) => process.assess?.(input, services)
  return { processes, assess, run: (input: object) => call(process, input, services) }
}
const exited = (exitCode = 0) => ({ at: 'exited', exitCode, endedAt: 12_000 }) as const
const numbered = (count: number) => Array.from({ length: count }, (_, n) => `line ${n}\n`).join('')

describe('process', () => {
  it('lists all processes', async () => {
    const { run } = setUp({ proc_a: { command: 'npm run dev' }, proc_b: { command: 'make', state: exited(2) } })
    expect((await run({ action: 'list' })).result).toEqual({
      processes: [
        {
          session_id: 'proc_a',
          command: 'npm run dev',
          status: 'running',
          uptime_seconds: 0,
          cwd: '/workspace',
          started_at: '1970-01-01T00:00:00.000Z',
        },
        {
          session_id: 'proc_b',
          command: 'make',
          status: 'exited',
          uptime_seconds: 12,
          exit_code: 2,
          ended_at: '1970-01-01T00:00:12.000Z',
          cwd: '/workspace',
          started_at: '1970-01-01T00:00:00.000Z',
        },
      ],
      count: 2,
    })
  })

  it('polls a process by the beginning of its id and marks it as reported', async () => {
    const { run, processes } = setUp({ proc_a: { output: 'up\u001B[0m\n', state: exited(3) }, proc_b: {} })
    const { failed, result } = await run({ action: 'poll', session_id: 'proc_a' })
    expect(failed).toBe(false)
    expect(result).toEqual({
      session_id: 'proc_a',
      command: 'server',
      status: 'exited',
      uptime_seconds: 12,
      exit_code: 3,
      ended_at: '1970-01-01T00:00:12.000Z',
      output: 'up',
    })
    expect(processes.toldOf).toEqual(['proc_a'])
  })

  it.each([
    [{ action: 'poll' }, 'session_id is needed'],
    [{ action: 'poll', session_id: 'proc' }, 'Several process ids'],
    [{ action: 'kill', session_id: 'nope' }, 'no process nope'],
    [{ action: 'stop', session_id: 'proc_a' }, 'Invalid input'],
  ])('refuses %j', async (input, words) => {
    const { failed, result } = await setUp({ proc_a: {}, proc_b: {} }).run(input)
    expect(failed).toBe(true)
    expect(result['error']).toContain(words)
  })

  it.each([
    [{}, '300-499', 'line 300\n', 'line 499'],
    [{ limit: 3 }, '497-499', 'line 497\n', 'line 499'],
    [{ offset: 10, limit: 2 }, '10-11', 'line 10\n', 'line 11'],
    [{ offset: 499 }, '499-499', 'line 499', 'line 499'],
  ])('shows lines of a log of 500 lines for %j: %s', async (page, showing, begins, ends) => {
    const { run } = setUp({ proc_a: { output: numbered(500) } })
    const { result } = await run({ action: 'log', session_id: 'proc_a', ...page })
    expect(result).toMatchObject({ total_lines: 500, showing, status: 'running' })
    expect(result['output'].startsWith(begins)).toBe(true)
    expect(result['output'].endsWith(ends)).toBe(true)
  })

  it('masks secrets in output and commands', async () => {
    const { run } = setUp({ proc_a: { command: 'x --token=abcdefgh', output: 'key sk-abcdefghijklmnopqrstuv\n' } })
    const { result } = await run({ action: 'log', session_id: 'proc_a' })
    expect(result['output']).toBe('key ***')
    expect(result['command']).toBe('x --token=***')
  })

  it('waits for the end and reports a timeout', async () => {
    const { run, processes } = setUp({ proc_a: {} })
    const input = { action: 'wait', session_id: 'proc_a', timeout: 5 }
    expect((await run(input)).result).toMatchObject({ status: 'timeout', note: 'It is still running after 5 seconds.' })
    processes.set('proc_a', { output: 'done', state: exited() })
    expect((await run(input)).result).toMatchObject({ status: 'exited', exit_code: 0, output: 'done' })
  })

  it('kills a running process', async () => {
    const { run } = setUp({ proc_a: {}, proc_b: { state: exited(1) } })
    expect((await run({ action: 'kill', session_id: 'proc_a' })).result).toMatchObject({ status: 'killed' })
  })

  it('says why and when a process ended', async () => {
    const { run } = setUp({ proc_a: { state: { at: 'exited', exitCode: 137, endedAt: 12_000, reason: 'memory' } } })
    const { result } = await run({ action: 'poll', session_id: 'proc_a' })
    expect(result).toMatchObject({ reason: 'memory', ended_at: '1970-01-01T00:00:12.000Z' })
    expect(result['note']).toContain('ran out of memory')
  })

  it('reports no exit code for a lost process', async () => {
    const { run } = setUp({ proc_a: { output: 'half', state: { at: 'lost', endedAt: 1_000 } } })
    const { result } = await run({ action: 'poll', session_id: 'proc_a' })
    expect(result).toMatchObject({ status: 'lost', exit_code: null, output: 'half' })
  })

  it('sends input once when its call runs again', async () => {
    const { run, processes } = setUp({ proc_a: {} })
    const input = { action: 'submit', session_id: 'proc_a', data: 'yes' }
    expect((await run(input)).result).toEqual({ session_id: 'proc_a', status: 'ok', bytes_written: 4 })
    expect((await run(input)).result['error']).toContain('may have arrived')
    expect(processes.sent.map(({ text }) => text)).toEqual(['yes\n'])
  })

  it('sends nothing to an ended process, and no data with close', async () => {
    const { run, processes } = setUp({ proc_a: {}, proc_b: { state: exited() } })
    expect((await run({ action: 'write', session_id: 'proc_b', data: 'x' })).failed).toBe(true)
    await run({ action: 'close', session_id: 'proc_a', data: 'rm -rf x' })
    expect(processes.sent.map(({ text, close }) => [text, close])).toEqual([['', true]])
  })
})

describe('input for a process', () => {
  const programs = {
    proc_cat: { command: 'cat' },
    proc_sh: { command: 'bash' },
    proc_py: { command: 'python3 -i' },
    proc_less: { command: 'less notes', pty: true },
  } as const
  it.each([
    ['proc_cat', 'rm -rf /', 'allow'],
    ['proc_sh', 'ls', 'allow'],
    ['proc_sh', 'rm -r dir', 'ask'],
    ['proc_sh', 'rm -rf /', 'hardline'],
    ['proc_py', 'import shutil; shutil.rmtree("/")', 'ask'],
    ['proc_less', '!rm -r dir', 'ask'],
  ])('%s <- %s: %s', async (session_id, data, verdict) => {
    for (const action of ['write', 'submit'])
      expect((await setUp(programs).assess({ action, session_id, data }))?.verdict).toBe(verdict)
  })

  it.each([
    ['bash', 'submit', 'ls', undefined],
    ['bash', 'write', 'ls\n', undefined],
    ['bash', 'submit', 'rm -r dir', undefined],
    // What runs is only known together with other input.
    ['bash', 'write', 'rm -r', true],
    ['bash', 'write', 'ls', true],
    ['bash', 'submit', '$X -rf /', true],
    ['bash', 'submit', "alias l='rm -rf'", true],
    ['bash', 'submit', 'l() { rm -rf /; }', true],
    ['bash', 'submit', 'for i in 1', true],
    ['docker exec -i x sh', 'submit', '`cat x`', true],
    ['less notes', 'write', '!rm', true],
    // Code of another language is no shell code that cannot be read.
    ['python3 -i', 'submit', 'print(1)', undefined],
    ['/usr/bin/psql', 'write', 'select $1', undefined],
  ] as const)('of %s: %s %j needs a person in every mode: %s', async (command, action, data, isUnjudged) => {
    const { assess } = setUp({ proc_a: { command, ...(command.startsWith('less') && { pty: true as const }) } })
    const assessment = await assess({ action, session_id: 'proc_a', data })
    // A hardline line never runs, so nobody has to be asked.
    expect(assessment?.verdict === 'hardline' ? isUnjudged : assessment?.isUnjudged).toBe(isUnjudged)
  })

  it('is the only input that is assessed', async () => {
    const { assess } = setUp(programs)
    for (const action of ['poll', 'log', 'wait', 'kill', 'close'])
      expect((await assess({ action, session_id: 'proc_sh', data: 'rm -rf /' }))?.verdict).toBe('allow')
  })
})
