/** Defines the conformance tests that every execution backend runs. Its capabilities select the tests. */

import { afterAll, describe, expect, it } from 'vitest'
import { shellPolicy } from '#agent/shell-policy/shell-policy.ts'
import type { ExecutionBackend, Jobs, CommandState } from '#agent/core/backend.ts'
import readFile from '#tools/file/read-file.tool.ts'
import terminal from '#tools/terminal/terminal.tool.ts'
import { itInTurn } from '../support/long.ts'
import { call } from '../tools/support/call.ts'
import { renderScreen, withPty } from '#tools/terminal/pty-command.ts'

export type WithBackend = (work: (backend: ExecutionBackend) => Promise<void>) => Promise<void>

/** Opens one backend for all cases of a file, whose names differ: opening a host takes longer than most cases. */
export function onOne(
  open: () => Promise<{ readonly backend: ExecutionBackend; readonly close: () => unknown }>,
): WithBackend {
  let opened: ReturnType<typeof open> | undefined
  afterAll(async () => (await opened)?.close())
  return async (work) => work((await (opened ??= open())).backend)
}

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array | undefined) => content && new TextDecoder().decode(content)
const T = { timeoutMs: 10_000 }

/** 80 bytes. */
const line = `${'0123456789abcde '.repeat(5).slice(0, 79)}\n`

/** Runs commands one after the other as the model does. */
function openTerminal(backend: ExecutionBackend) {
  let shell = { cwd: backend.capabilities.root, env: {} }
  const state = {
    read: () => shell,
    write: (next: typeof shell) => void (shell = next),
    policy: async () => shellPolicy,
  }
  return (command: string) => call(terminal, { command }, { backend, shell: state })
}
const runTerminal = (backend: ExecutionBackend, command: string) => openTerminal(backend)(command)

/** Reads the file with the output of a command page by page. */
async function runAndRead(backend: ExecutionBackend, command: string) {
  const { result } = await runTerminal(backend, command)
  let pages = ''
  for (let offset: number | undefined = 1; offset !== undefined;) {
    const page = await call(readFile, { path: result['output_file'], offset }, { backend })
    pages += `${String(page.result['content']).replaceAll(/^\d+\|/gm, '')}\n`
    offset = page.result['next_offset'] as number | undefined
  }
  return { result, pages: pages.slice(0, -1) }
}

/**
 * `transport`: only the cases in which the way to the host matters. The others test the scripts of the host backend, which
 * one suite runs for all vendors. `turns`: an eighth of the others, for a twin of a backend that has all. `npm run chaos` runs
 * all cases for each.
 */
export type Cases = 'all' | 'turns' | 'transport'

export function conforms(name: string, withBackend: WithBackend, cases: Cases = 'all'): void {
  type Case = (title: string, work: (backend: ExecutionBackend) => Promise<void>) => void
  // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- both are given by the lines below
  const onTransport: Case = (title, work) => it(title, () => withBackend(work))
  // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- see above
  const onTurn: Case = (title, work) => itInTurn(title, () => withBackend(work))
  const on: Case = { all: onTransport, turns: onTurn, transport: () => undefined }[cases]

  describe(`${name}: commands`, () => {
    onTransport('returns output, exit code and directory', async (backend) => {
      const result = await backend.exec('echo out; echo err >&2; exit 3', T)
      expect(result).toMatchObject({ exitCode: 3, stdout: 'out\n', stderr: 'err\n', truncated: false, timedOut: false })
      expect(result.cwd).toBe(backend.capabilities.root)
    })

    on('starts in the given directory and reports the final directory and exported variables', async (backend) => {
      await backend.exec('mkdir -p deep/er', T)
      const cwd = `${backend.capabilities.root}/deep`
      const result = await backend.exec('cd er; export KEPT=1; LOST=1; pwd; echo $GIVEN', {
        ...T,
        cwd,
        env: { GIVEN: 'g' },
      })
      expect(result).toMatchObject({ cwd: `${cwd}/er`, env: { KEPT: '1' }, stdout: `${cwd}/er\ng\n` })
    })

    on('reports which of the given variables are gone', async (backend) => {
      const env = { STAYS: '1', GOES: '2', HIDES: '3' }
      expect((await backend.exec('unset GOES; export -n HIDES; exit 3', { ...T, env })).unset).toEqual([
        'GOES',
        'HIDES',
      ])
      expect((await backend.exec('export STAYS=2', { ...T, env })).unset ?? []).toEqual([])
    })

    on('reports directory and variables after exit and after an error', async (backend) => {
      expect(await backend.exec('cd /tmp; export A=1; exit 4', T)).toMatchObject({
        exitCode: 4,
        cwd: '/tmp',
        env: { A: '1' },
      })
      expect(await backend.exec('set -e; cd /tmp; false; cd /', T)).toMatchObject({ exitCode: 1, cwd: '/tmp' })
    })

    onTransport(
      'goes on in a directory outside of the workspace, and in the workspace when that is gone',
      async (backend) => {
        // Hosts of tests share the folder of this machine.
        const [run, gone] = [openTerminal(backend), `/tmp/gone-${crypto.randomUUID()}`]
        expect((await run('cd /; pwd')).result).toMatchObject({ output: '/', cwd: '/' })
        expect((await run('pwd')).result).toMatchObject({ output: '/', cwd: '/' })
        await run(`mkdir -p ${gone}/a; cd ${gone}/a`)
        expect((await run(`rm -r ${gone}`)).result).toMatchObject({ exit_code: 0 })
        expect((await run('pwd')).result).toMatchObject({ output: backend.capabilities.root })
      },
    )

    onTransport('passes standard input through', async (backend) => {
      expect((await backend.exec('cat | tr a-z A-Z', { ...T, stdin: 'übel\n' })).stdout).toBe('üBEL\n')
    })

    onTransport('stops at the time-out with exit code 124', async (backend) => {
      const result = await backend.exec('echo before; sleep 1000', { timeoutMs: 1_000 })
      expect(result).toMatchObject({ exitCode: 124, timedOut: true, stdout: 'before\n' })
    })

    onTransport('stops when the caller aborts', async (backend) => {
      const abort = new AbortController()
      const running = backend.exec('sleep 100; touch late', { timeoutMs: 200_000, signal: abort.signal })
      await new Promise((resolve) => setTimeout(resolve, 50))
      abort.abort()
      const result = await running
      expect(result).toMatchObject({ exitCode: null, timedOut: false })
      expect(await backend.files.stat('late')).toBeUndefined()
    })

    onTransport('keeps the head and the tail of a long output', async (backend) => {
      const result = await backend.exec('seq 1 20000', { ...T, maxOutput: 2000 })
      expect(result.truncated).toBe(true)
      expect(result.stdout.startsWith('1\n2\n')).toBe(true)
      expect(result.stdout.endsWith('19999\n20000\n')).toBe(true)
      expect(result.stdout.length).toBeLessThan(2200)
    })

    on('keeps 1 MiB of output whole, and its last line is read by paging', async (backend) => {
      const { result, pages } = await runAndRead(backend, `yes '${line.trimEnd()}' | head -n 13106; echo the last line`)
      expect(result).toMatchObject({ exit_code: 0, truncated: true })
      expect(result['note']).toBe('output_file has 13107 lines: read it with read_file and offset.')
      expect(pages).toBe(`${line.repeat(13_106)}the last line`)
    })

    on('of more output keeps head and tail, and says what is missing', async (backend) => {
      const { result } = await runTerminal(backend, 'for i in 1 2 3 4; do seq 1 90000; done')
      const stored = text(await backend.files.read(String(result['output_file']))) ?? ''
      const all = Array.from({ length: 360_000 }, (_, i) => (i % 90_000) + 1).join('\n')
      const [, bytes = 0, lines = 0] = /(\d+) bytes and (\d+) lines in the middle/.exec(String(result['note'])) ?? []
      const [gap = ''] = /\n\[\.\.\. \d+ bytes, \d+ lines left out \.\.\.\]\n/.exec(stored) ?? []
      const [head = '', tail = ''] = stored.split(gap)
      expect(all.startsWith(head) && all.endsWith(tail) && gap !== '').toBe(true)
      expect(head.length + Number(bytes) + tail.length).toBe(all.length)
      expect(Number(lines)).toBe(all.slice(head.length, -tail.length).split('\n').length - 1)
    })

    onTransport('sends output while the command runs, if it streams', async (backend) => {
      if (!backend.capabilities.streaming) return
      let isReleased = false
      const onOutput = (_: string, chunk: string) => {
        if (!chunk.includes('first') || isReleased) return
        isReleased = true
        void backend.files.write('go', bytes('x'))
      }
      const result = await backend.exec('echo first; while [ ! -e go ]; do sleep 0.02; done; echo last', {
        ...T,
        onOutput,
      })
      expect(result).toMatchObject({ exitCode: 0, stdout: 'first\nlast\n' })
    })

    onTransport('shares its files with the file operations', async (backend) => {
      await backend.files.write('from-tool.txt', bytes('tool\n'))
      expect((await backend.exec('cat from-tool.txt; echo shell > from-shell.txt', T)).stdout).toBe('tool\n')
      expect(text(await backend.files.read('from-shell.txt'))).toBe('shell\n')
    })

    on('describes itself for the model', async (backend) => {
      expect(backend.describe().length).toBeGreaterThan(20)
    })
  })

  describe(`${name}: background jobs`, () => {
    /** Runs the test only if the backend supports background jobs. */
    const withJobs = (title: string, work: (jobs: Jobs, backend: ExecutionBackend) => Promise<void>, run = on) =>
      run(title, async (backend) => {
        expect(backend.jobs !== undefined).toBe(backend.capabilities.background)
        if (backend.jobs) await work(backend.jobs, backend)
      })

    const ended = async (jobs: Jobs, id: string): Promise<CommandState> => {
      for (;;) {
        const state = await jobs.state(id)
        if (state.at !== 'running') return state
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }

    withJobs(
      'continue after the call that started them, and report their exit code',
      async (jobs) => {
        await jobs.start('ends', 'echo one; sleep 0.1; echo two; exit 3', T)
        expect(await ended(jobs, 'ends')).toMatchObject({ at: 'exited', exitCode: 3 })
        const first = await jobs.output('ends', 0, 4)
        expect(first).toEqual({ text: 'one\n', next: 4 })
        expect(await jobs.output('ends', first.next, 100)).toEqual({ text: 'two\n', next: 8 })
      },
      onTransport,
    )

    withJobs('are started once per id', async (jobs, backend) => {
      for (let i = 0; i < 3; i++) await jobs.start('once', 'echo x >> started', T)
      await ended(jobs, 'once')
      expect(text(await backend.files.read('started'))).toBe('x\n')
    })

    withJobs('have a process id if the backend has processes', async (jobs, backend) => {
      const pid = await jobs.start('numbered', 'sleep 100', { timeoutMs: 60_000 })
      expect(typeof pid).toBe(backend.capabilities.pty ? 'number' : 'undefined')
      expect(await jobs.start('numbered', 'sleep 100', { timeoutMs: 60_000 })).toBe(pid)
      await jobs.kill('numbered')
    })

    withJobs(
      'read their input up to its end, if the backend supports input',
      async (jobs) => {
        if (!jobs.write) return
        await jobs.start('reads', 'read a; echo "got $a"; wc -c', { timeoutMs: 60_000 })
        await jobs.write('reads', `it's "one"\n`, false)
        await jobs.write('reads', 'x'.repeat(300_000), false)
        await jobs.write('reads', '', true)
        expect(await ended(jobs, 'reads')).toMatchObject({ at: 'exited', exitCode: 0 })
        expect(await jobs.output('reads', 0, 100)).toEqual({ text: `got it's "one"\n300000\n`, next: 22 })
        await expect(jobs.write('reads', 'late', false)).rejects.toMatchObject({ name: 'BackendError' })
      },
      onTransport,
    )

    withJobs('read from a terminal, if the backend has one', async (jobs, backend) => {
      if (!backend.capabilities.pty || !jobs.write) return
      const command = withPty('stty size; read a; echo "<$a>"; exit 3')
      await jobs.start('typed', command, { timeoutMs: 60_000 })
      await jobs.write('typed', 'hello\n', false)
      expect(await ended(jobs, 'typed')).toMatchObject({ at: 'exited', exitCode: 3 })
      const { text: output } = await jobs.output('typed', 0, 1000)
      expect(renderScreen(output)).toContain('40 120\n')
      expect(renderScreen(output)).toContain('<hello>\n')
    })

    withJobs('report why and when they ended', async (jobs) => {
      await jobs.start('itself', 'exit 3', T)
      expect((await ended(jobs, 'itself')) as object).not.toHaveProperty('reason')
      await jobs.start('late', 'sleep 100', { timeoutMs: 500 })
      expect(await ended(jobs, 'late')).toMatchObject({ at: 'exited', exitCode: 124, reason: 'timeout' })
      await jobs.start('stopped', 'sleep 100', { timeoutMs: 60_000 })
      await jobs.kill('stopped')
      expect(await jobs.state('stopped')).toMatchObject({ at: 'exited', reason: 'stopped' })
      const first = await jobs.state('itself')
      await new Promise((resolve) => setTimeout(resolve, 300))
      const [later, before] = [await jobs.state('itself'), first].map(
        (state) => (state as { endedMsAgo: number }).endedMsAgo,
      )
      expect(later! - before!).toBeGreaterThan(250)
    })

    withJobs('do not run after they were killed', async (jobs) => {
      await jobs.start('killed', 'sleep 100', { timeoutMs: 60_000 })
      expect(await jobs.state('killed')).toEqual({ at: 'running' })
      await jobs.kill('killed')
      expect((await jobs.state('killed')).at).not.toBe('running')
    })
  })

  describe(`${name}: a terminal`, () => {
    onTransport('is allocated for a command that requests one, and exits with its code', async (backend) => {
      if (!backend.capabilities.pty) return
      const command = withPty(`[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo "it's one" $TERM; cat; exit 7`)
      const { stdout, exitCode } = await backend.exec(command, T)
      expect([renderScreen(stdout), exitCode]).toEqual([`it's one xterm-256color\n`, 7])
    })

    on('is closed after the command, and leaves no variable behind', async (backend) => {
      if (!backend.capabilities.pty) return
      expect((await backend.exec(withPty('export A=1; cd /'), T)).env).toEqual({})
      expect((await backend.exec('[ -t 1 ] || echo none', T)).stdout).toBe('none\n')
    })
  })

  describe(`${name}: files`, () => {
    onTransport('reads back written files byte for byte', async (backend) => {
      const content = Uint8Array.from({ length: 256 }, (_, i) => i)
      expect(await backend.files.write('bin/all.dat', content)).toEqual({ created: true })
      expect(await backend.files.write('bin/all.dat', content)).toEqual({ created: false })
      expect(await backend.files.read('bin/all.dat')).toEqual(content)
      expect(await backend.files.stat('bin/all.dat')).toMatchObject({ type: 'file', size: 256 })
    })

    onTransport('returns undefined for a missing file', async (backend) => {
      expect(await backend.files.read('no')).toBeUndefined()
      expect(await backend.files.stat('no/where')).toBeUndefined()
      expect(await backend.files.remove('no')).toBe(false)
    })

    onTransport('refuses to read a directory as a file', async (backend) => {
      await backend.files.write('dir/file', bytes('x'))
      await expect(backend.files.read('dir')).rejects.toMatchObject({ name: 'BackendError', code: 'invalid' })
      await expect(backend.files.write('dir/file/below', bytes('x'))).rejects.toMatchObject({ code: 'invalid' })
    })

    onTransport(
      'neither reads nor writes pipes and devices, also through links, and measures what a link leads to',
      async (backend) => {
        const { exitCode } = await backend.exec('mkfifo pipe', T)
        // The virtual shell has neither.
        if (exitCode === 127) return
        await backend.exec('ln -s pipe link; ln -s /dev/zero zero; truncate -s 40M large; ln -s large huge', T)
        for (const path of ['pipe', 'link', 'zero']) {
          await expect(backend.files.read(path)).rejects.toMatchObject({ code: 'invalid' })
          await expect(backend.files.write(path, bytes('x'))).rejects.toMatchObject({ code: 'invalid' })
        }
        await expect(backend.files.read('huge')).rejects.toMatchObject({ code: 'unsupported' })
        await backend.files.remove('large')
      },
    )

    on('lists direct children by name', async (backend) => {
      for (const path of ['list/b', 'list/a/inner', 'list/c']) await backend.files.write(path, bytes('x'))
      const children = await backend.files.list('list')
      expect(children.map(({ path, type }) => [path.split('/').at(-1), type])).toEqual([
        ['a', 'directory'],
        ['b', 'file'],
        ['c', 'file'],
      ])
    })

    onTransport('lists links with their targets', async (backend) => {
      await backend.exec(
        "mkdir -p node_modules links/d && ln -s ../.env links/e && ln -s '../x y' 'links/d/a b' && ln -s / node_modules/r",
        T,
      )
      const list = async (isDeep: boolean) =>
        ((await backend.files.links?.(isDeep)) ?? []).map(({ path, target }) => [
          backend.resolve(path).slice(backend.capabilities.root.length + 1),
          target,
        ])
      expect(await list(false)).toEqual(
        expect.arrayContaining([
          ['links/e', '../.env'],
          ['links/d/a b', '../x y'],
        ]),
      )
      expect(await list(true)).toContainEqual(['node_modules/r', '/'])
    })

    on('moves and removes whole directories', async (backend) => {
      await backend.files.write('old/x/y', bytes('y'))
      await backend.files.write('older', bytes('stays'))
      await backend.files.move('old', 'new')
      expect(text(await backend.files.read('new/x/y'))).toBe('y')
      expect(await backend.files.stat('old')).toBeUndefined()
      expect(await backend.files.remove('new')).toBe(true)
      expect(await backend.files.stat('new/x/y')).toBeUndefined()
      expect(text(await backend.files.read('older'))).toBe('stays')
    })

    on('resolves every spelling of a path to the same name', async (backend) => {
      const { root } = backend.capabilities
      expect(backend.resolve('a/../b/./c')).toBe(`${root}/b/c`)
      expect(backend.resolve('x', '/tmp')).toBe('/tmp/x')
      expect(backend.resolve(`${root}/b//c/`)).toBe(`${root}/b/c`)
    })
  })

  if (cases === 'transport') return
  describe(`${name}: search`, () => {
    const seed = async ({ files }: ExecutionBackend) => {
      await files.write('s/b.ts', bytes('one\nneedle 1\nthree\n'))
      await files.write('s/a.md', bytes('needle 2'))
      await files.write('s/sub/c.ts', bytes('x\r\nNeedle 3\r\n'))
      await files.write('s/bin', Uint8Array.of(0, 110, 101, 101, 100, 108, 101))
    }
    const query = { target: 'content' as const, path: 's', limit: 50, offset: 0 }

    onTransport('finds lines by path, with line numbers and context lines', async (backend) => {
      await seed(backend)
      const result = await backend.files.search({ ...query, pattern: 'needle \\d', context: 1 })
      expect(result).toEqual({
        total: 2,
        truncated: false,
        hits: [
          { path: backend.resolve('s/a.md'), line: 1, text: 'needle 2', before: [], after: [] },
          { path: backend.resolve('s/b.ts'), line: 2, text: 'needle 1', before: ['one'], after: ['three'] },
        ],
      })
    })

    on('narrows by glob and pages', async (backend) => {
      await seed(backend)
      const typescript = await backend.files.search({ ...query, pattern: '(?i)needle', glob: '*.{ts,tsx}' })
      expect(typescript.hits.map((hit) => hit.line)).toEqual([2, 2])
      const second = await backend.files.search({ ...query, pattern: '(?i)needle', offset: 1, limit: 1 })
      expect(second).toMatchObject({ total: 3, truncated: true, hits: [{ path: backend.resolve('s/b.ts') }] })
    })

    on('leaves out files by path', async (backend) => {
      await seed(backend)
      const exclude = [backend.resolve('s/a.md'), backend.resolve('s/sub/c.ts')]
      const result = await backend.files.search({ ...query, pattern: '(?i)needle', exclude })
      expect(result).toMatchObject({ total: 1, hits: [{ path: backend.resolve('s/b.ts') }] })
    })

    on('finds files by name', async (backend) => {
      await seed(backend)
      const result = await backend.files.search({ ...query, target: 'files', pattern: '*.ts' })
      expect(result.hits.map(({ path }) => path)).toEqual([backend.resolve('s/b.ts'), backend.resolve('s/sub/c.ts')])
    })

    on('reports an invalid expression', async (backend) => {
      await seed(backend)
      await expect(backend.files.search({ ...query, pattern: '(' })).rejects.toMatchObject({ code: 'invalid' })
    })
  })
}
