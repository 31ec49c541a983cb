import { afterEach, describe, expect, it, vi } from 'vitest'
import { hostBackend } from '#backends/host/host-backend.ts'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import type { HostRecord, HostPort } from '#backends/host/host-port.ts'
import { scopeVariable, stateBeside } from '#backends/host/scripts.ts'
import { itInTurn } from '#test/support/long.ts'
import { conforms, onOne } from '../conformance.ts'
import { endsEscapes } from './escapes.ts'
import { keepsShellStates } from './shell-states.ts'
import { hasBubblewrap } from '../../sandbox/bubblewrap.mjs'
import { createLocalHost, isOnHost, isPrivileged } from './local-host.mjs'

const bytes = (text: string) => new TextEncoder().encode(text)
const T = { timeoutMs: 10_000 }
const isRoot = isPrivileged()

const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))
afterEach(() => vi.restoreAllMocks())

function open(
  change: (port: HostPort) => Partial<HostPort> = () => ({}),
  { isUser = false, hasMemoryGroup = false } = {},
) {
  const host = createLocalHost({ isUser, hasMemoryGroup })
  drops.push(host.drop)
  const kept: { memory: HostRecord } = { memory: {} }
  const backend = hostBackend({
    kind: 'daytona',
    port: { ...host.port, ...change(host.port) },
    root: host.root,
    temporary: host.temporary,
    state: host.state,
    network: 'full',
    languages: ['bash'],
    describe: 'A local host for tests.',
    memory: { read: () => kept.memory, write: (memory) => (kept.memory = memory) },
  })
  return { ...host, backend, kept, jobs: backend.jobs! }
}

/** Waits without a call of the backend, which would look at the workspace. */
async function exists(path: string): Promise<void> {
  await expect.poll(() => isOnHost(path), { interval: 20 }).toBe(true)
}

async function ended({ state, jobs }: Pick<ReturnType<typeof open>, 'state' | 'jobs'>, id: string) {
  await exists(`${state}/j-${encodeURIComponent(id)}/exit`)
  return jobs.state(id)
}

const onOneHost = onOne(async () => {
  const { backend, drop } = open()
  drops.pop()
  return { backend, close: drop }
})
conforms('a host that only runs scripts', onOneHost)
/** The host of these cases, for tests that care for no file of others. */
const shared = () => new Promise<ExecutionBackend>((resolve) => void onOneHost(async (backend) => resolve(backend)))

it('a command leaves no timer that would keep its session in memory', async () => {
  const { backend } = open()
  const [set, cleared] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')]
  await backend.exec('true', T)
  const long = set.mock.results.filter((_, call) => Number(set.mock.calls[call]?.[1]) >= T.timeoutMs)
  expect(long).not.toEqual([])
  for (const { value } of long) expect(cleared).toHaveBeenCalledWith(value)
})

describe('a file that is written on a host', () => {
  const sizes = [
    ['small', 2_000],
    ['large', 3_000_000],
  ] as const
  const text = async (content: Promise<Uint8Array | undefined>) => new TextDecoder().decode(await content)

  it.each(sizes)('is never seen in part: %s', async (_, size) => {
    const { backend, jobs, state } = open()
    await backend.files.write('a', new Uint8Array(size).fill(49))
    const sizesSeen = 'while [ ! -e stop ]; do stat -c %s a 2>&1; done | sort | uniq'
    await jobs.start('reads', sizesSeen, { timeoutMs: 60_000 })
    for (let turn = 0; turn < 3; turn++) await backend.files.write('a', new Uint8Array(size).fill(50 + turn))
    await backend.files.write('stop', bytes(''))
    expect(await ended({ state, jobs }, 'reads')).toMatchObject({ exitCode: 0 })
    expect((await jobs.output('reads', 0, 1_000)).text).toBe(`${size}\n`)
  })

  itInTurn.each(sizes)('keeps its mode, its owner, its names and the links to it: %s', async (_, size) => {
    const { backend } = open()
    await backend.exec('for f in run none; do echo old > $f; done; chmod 2751 run; chmod 000 none', T)
    await backend.exec(
      'mkdir in; echo old > in/real; ln -s in/real link; ln -s in/new dangling; echo old > one; ln one two',
      T,
    )
    for (const name of ['run', 'none', 'link', 'dangling', 'one'])
      await backend.files.write(name, new Uint8Array(size).fill(49))
    const { stdout } = await backend.exec(
      'stat -c "%a %h" run none one; readlink link dangling; stat -c %s in/real in/new two; ls -A . in',
      T,
    )
    expect(stdout).toBe(
      `2751 1\n0 1\n644 2\nin/real\nin/new\n${size}\n${size}\n${size}\n.:\ndangling\nin\nlink\nnone\none\nrun\ntwo\n\nin:\nnew\nreal\n`,
    )
  })

  it.skipIf(!isRoot)('keeps an owner who is somebody else (needs root)', async () => {
    const { backend } = open()
    await backend.exec('echo old > a; chown 1234:2345 a', T)
    await backend.files.write('a', bytes('new'))
    expect((await backend.exec('stat -c %u:%g a; cat a', T)).stdout).toBe('1234:2345\nnew')
  })

  itInTurn.each(sizes)('is overwritten where nothing can be put beside it: %s', async (_, size) => {
    const { backend } = open(undefined, { isUser: true })
    await backend.exec('mkdir d; echo old > d/a; chmod 555 d', T)
    expect(await backend.files.write('d/a', new Uint8Array(size).fill(49))).toEqual({ created: false })
    await expect(backend.files.write('d/b', new Uint8Array(size))).rejects.toMatchObject({ code: 'invalid' })
    expect((await backend.exec('ls -A d; stat -c %s d/a', T)).stdout).toBe(`a\n${size}\n`)
  })

  it('keeps every byte, and names with any character', async () => {
    const { backend } = open()
    const all = Uint8Array.from({ length: 1_024 }, (_, at) => at % 256)
    for (const name of [`a 'b' "c" $d`, '-n', 'über/ü', 'x;y'])
      expect([await backend.files.write(name, all), await backend.files.read(name)]).toEqual([{ created: true }, all])
    await backend.files.write('empty', bytes(''))
    expect(await text(backend.files.read('empty'))).toBe('')
  })
})

describe('a search on a host', () => {
  itInTurn('marks a truncated result', async () => {
    const { backend } = open()
    await backend.exec(
      `yes 'a line that is found, with quite a few words in it, again and again' | head -n 80000 > many`,
      T,
    )
    const query = { pattern: 'found', target: 'content', limit: 5, offset: 0 } as const
    const { hits, total, truncated } = await backend.files.search(query)
    expect([hits.length, total < 80_000, truncated]).toEqual([5, true, true])
    const last = await backend.files.search({ ...query, offset: total })
    expect([last.hits, last.truncated]).toEqual([[], true])
  })

  it('supports numeric escapes', async () => {
    const { backend } = open()
    await backend.files.write('menu', bytes('un café\n😀 Ab\n'))
    for (const [pattern, line] of [
      ['caf\\u00e9$', 1],
      ['caf\\xe9', 1],
      ['\\ud83d\\ude00 \\u0041', 2],
    ] as const) {
      const found = await backend.files.search({ pattern, target: 'content', limit: 5, offset: 0 })
      expect(found, pattern).toMatchObject({ total: 1, hits: [{ line }] })
    }
  })

  it('reports an invalid pattern', async () => {
    const { backend } = open()
    await backend.files.write('a', bytes('text\n'))
    const searching = backend.files.search({ pattern: '[[:nothing:]]', target: 'content', limit: 5, offset: 0 })
    await expect(searching).rejects.toMatchObject({ code: 'invalid', hint: expect.stringContaining('grep -P') })
  })

  it('transfers only the context lines of a large file', async () => {
    const { backend } = open((port) => ({
      read: (path) => (path.endsWith('large') ? Promise.reject(new Error('too large')) : port.read(path)),
    }))
    await backend.exec(`seq 1 300000 | sed 's/^/line /' > large; printf 'line 7\\r\\nend' > "it's small"`, T)
    const pattern = 'line (7|9|300000)\\r?$'
    const { hits } = await backend.files.search({ pattern, target: 'content', context: 2, limit: 9, offset: 0 })
    expect(hits.map(({ line, before, after }) => [line, before, after])).toEqual([
      [1, [], ['end']],
      [7, ['line 5', 'line 6'], ['line 8', 'line 9']],
      [9, ['line 7', 'line 8'], ['line 10', 'line 11']],
      [300_000, ['line 299998', 'line 299999'], []],
    ])
  })
})

describe('a command on a host', () => {
  it.each([
    ['quotes', `echo "it's" 'a "b"' \\\\`, `it's a "b" \\\n`],
    ['a here-document', 'cat <<EOF\na $((1+1))\nEOF', 'a 2\n'],
    ['bytes that are no text', `printf '\\xff\\x00a'`, '\uFFFD\0a'],
    ['a child that stays', 'sleep 30 & echo on', 'on\n'],
    ['an error in its syntax', 'if', ''],
  ])('may have %s', async (_, command, stdout) => {
    const result = await (await shared()).exec(command, T)
    expect(result.stdout).toBe(stdout)
    expect(result.timedOut).toBe(false)
  })

  keepsShellStates(onOneHost)

  it('is not blocked by pipes in the place of our files, nor are later ones', async () => {
    const { backend, state } = open()
    const pipes =
      'for f in "$S"/{boot,inode,note,restored} "$S"/x-*/{out,err,end,begin}; do rm -f "$f"; mkfifo "$f"; done'
    await backend.exec('echo kept > a', T)
    const first = await backend.exec(`S=${state}; ${pipes}; rm "$S"/x-*/end; exit 7`, T)
    expect(first).toMatchObject({ exitCode: 7 })
    expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
  })

  it('may be longer than the limit of arguments', async () => {
    const text = 'x'.repeat(300_000)
    const result = await (await shared()).exec(`echo ${text} | wc -c; wc -c`, { ...T, stdin: text })
    expect(result.stdout).toBe('300001\n300000\n')
  })

  it('may have more variables than fit into arguments', async () => {
    const env = Object.fromEntries(['A', 'B', 'C'].map((name) => [name, name.repeat(50_000)]))
    const result = await (await shared()).exec('echo ${#A} ${#C}', { ...T, env })
    expect(result).toMatchObject({ exitCode: 0, stdout: '50000 50000\n', env: {} })
  })

  it('keeps variables up to a limit for later commands, and lists the others', async () => {
    const backend = await shared()
    const big = (name: string) => `export ${name}=$(head -c 50000 /dev/zero | tr '\\0' x)`
    const first = await backend.exec(`${big('ONE')}; export SMALL=1`, T)
    expect(first).toMatchObject({ stderr: '', env: { SMALL: '1', ONE: expect.stringMatching(/^x{50000}$/) } })
    const second = await backend.exec(`${big('TWO')}; export ALSO=2`, { ...T, env: first.env })
    expect(second.env).toEqual({ ALSO: '2' })
    expect(second.stderr).toMatch(/^\[Not kept .* TWO\]\n$/)
  })

  it('that exits with 124 or 137 itself is not a timeout', async () => {
    const backend = await shared()
    expect(await backend.exec('exit 124', T)).toMatchObject({ exitCode: 124, timedOut: false })
    expect(await backend.exec('exit 137', T)).toMatchObject({ exitCode: 137, timedOut: false })
  })

  it('is killed with its children at the timeout', async () => {
    const { backend } = open()
    const child = 'while :; do echo x >> beats; sleep 0.01; done'
    const result = await backend.exec(`echo x > beats; (${child}) & sleep 20`, { timeoutMs: 200 })
    expect(result).toMatchObject({ exitCode: 124, timedOut: true })
    const last = await backend.files.stat('beats')
    expect(last?.size).toBeGreaterThan(0)
    // Another loop beats meanwhile.
    await backend.exec('for i in 1 2 3 4 5; do echo x >> others; sleep 0.01; done', T)
    expect(await backend.files.stat('beats')).toMatchObject({ size: last?.size })
  })

  it('has an unknown outcome when the host reports no exit code', async () => {
    const lost = open((port) => ({
      run: async (script, ms) => (script.includes(scopeVariable) ? { code: null, output: '' } : port.run(script, ms)),
    }))
    await expect(lost.backend.exec('true', T)).rejects.toMatchObject({ code: 'unavailable' })
    const cut = open((port) => ({
      run: async (script, ms) => {
        const ran = await port.run(script, ms)
        return script.includes(scopeVariable) ? { code: ran.code, output: ran.output.slice(0, 5) } : ran
      },
    }))
    await cut.backend.files.stat('.')
    await expect(cut.backend.exec('echo long enough', T)).rejects.toMatchObject({ code: 'unavailable' })
  })
})

describe('a replaced host', () => {
  it('reports lost files with the next command', async () => {
    const { backend, replace } = open()
    await backend.files.write('a', bytes('a'))
    await replace()
    expect((await backend.exec('ls', T)).stderr).toContain('are lost')
    expect((await backend.exec('ls', T)).stderr).toBe('')
  })

  it('is restored from its copy before anything runs', async () => {
    const { backend, replace } = open((port) => ({
      restore: async () => {
        await port.run(`mkdir -p ${backend.capabilities.root}; echo back > ${backend.capabilities.root}/a`, 1_000)
        return 'restored'
      },
    }))
    expect(await backend.files.read('a')).toBeUndefined()
    await replace()
    const shown = await backend.exec('cat a', T)
    expect(shown).toMatchObject({ stdout: 'back\n', stderr: expect.stringContaining('last saved') })
  })

  it.each([
    ['older', 'damaged'],
    ['live', 'left as it is'],
  ] as const)('whose workspace is %s says so', async (outcome, words) => {
    const { backend, replace } = open(() => ({ restore: async () => outcome }))
    await backend.exec('true', T)
    await replace()
    expect((await backend.exec('true', T)).stderr).toContain(words)
  })

  it('is not assumed when only our own folder was removed: the files stay', async () => {
    const { backend, state, port } = open()
    await backend.files.write('a', bytes('a'))
    await port.run(`rm -rf ${state}`, 1_000)
    const shown = await backend.exec('cat a', T)
    expect(shown).toMatchObject({ stdout: 'a', stderr: expect.stringContaining('left as it is') })
  })

  it('reports its jobs as lost', async () => {
    const { backend, jobs, replace } = open()
    await jobs.start('j', 'true', T)
    await replace()
    expect(await backend.jobs?.state('j')).toEqual({ at: 'lost', reason: 'replaced' })
  })
})

describe('a workspace that was removed', () => {
  it('is created again, which is told once', async () => {
    const { backend } = open()
    await backend.exec('echo kept > a; rm -rf "$PWD"', T)
    expect(await backend.exec('ls', T)).toMatchObject({ stdout: '', stderr: expect.stringContaining('created again') })
    expect((await backend.exec('true', T)).stderr).toBe('')
    await backend.files.write('b', bytes('b'))
    expect((await backend.exec('cat b', T)).stdout).toBe('b')
  })
})

describe('a workspace that was moved', () => {
  it.each(['command', 'job'])('to a name that ends in a newline by a %s is moved back', async (by) => {
    const opened = open()
    const { backend, jobs, root, temporary } = opened
    const text = `mv ${root} ${temporary}/$'keep\\n'; touch ${temporary}/done`
    await backend.exec('echo one > a', T)
    if (by === 'command') await backend.exec(text, T)
    else await jobs.start('j', `${text}; sleep 5`, { timeoutMs: 30_000 })
    await exists(`${temporary}/done`)
    expect((await backend.exec(`cat a ${temporary}/keep*/a`, T)).stdout).toBe('one\none\n')
  })

  it('is not one whose link was set to another folder', async () => {
    const { backend, root, temporary } = open()
    const [from, to] = [`${temporary}/from`, `${temporary}/to`]
    await backend.exec(`mkdir ${from} ${to}; echo one > ${from}/a; rm -rf ${root}; ln -s ${from} ${root}`, T)
    expect((await backend.exec(`cat a; ln -sfn ${to} ${root}`, T)).stdout).toBe('one\n')
    expect(await backend.exec(`cat ${root}/a ${from}/a; echo two > b; cat ${to}/b; rm ${root}`, T)).toMatchObject({
      stdout: 'one\ntwo\n',
      stderr: expect.not.stringContaining('moved'),
    })
    expect((await backend.exec(`cat ${from}/a ${to}/b; ls`, T)).stdout).toBe('one\ntwo\n')
  })
})

describe('a workspace in whose place a job puts another folder', () => {
  const job = async (text: (root: string, old: string) => string) => {
    const opened = open()
    const { backend, jobs, root, temporary } = opened
    const [old, go] = [`${temporary}/old`, `${temporary}/go`]
    await backend.exec('echo one > a', T)
    const wait = `touch ${temporary}/done; while [ ! -e ${go} ]; do sleep 0.05; done`
    await jobs.start('j', text(root, old).replace('WAIT', wait), { timeoutMs: 30_000 })
    const end = async () => {
      await opened.port.run(`touch ${go}`, 1_000)
      await exists(`${opened.state}/j-j/exit`)
      return jobs.state('j')
    }
    await exists(`${temporary}/done`)
    return { ...opened, old, end, told: `moved to ${old}, and another folder is in its place. Only ${root} is saved` }
  }
  const replace = (root: string, old: string) =>
    `mv ${root} ${old}; mkdir ${root}; echo two > b; echo three > ${root}/c`

  it('is told by the next command while the job runs, once, and keeps what was written in both', async () => {
    const { backend, jobs, old, end, told } = await job((...paths) => `${replace(...paths)}; WAIT; echo late > d`)
    expect(await backend.exec(`ls; cat ${old}/a ${old}/b`, T)).toMatchObject({
      stdout: 'c\none\ntwo\n',
      stderr: expect.stringContaining(told),
    })
    expect(await end()).toMatchObject({ exitCode: 0 })
    expect(await backend.exec(`cat c ${old}/d`, T)).toMatchObject({ stdout: 'three\nlate\n', stderr: '' })
    expect((await jobs.output('j', 0, 1_000)).text).toBe('')
  })

  itInTurn('is told in the output of the job and by the next command when the job has ended', async () => {
    const { backend, jobs, root, end, told } = await job((...paths) => `echo begins; ${replace(...paths)}; WAIT`)
    await end()
    expect((await jobs.output('j', 0, 1_000)).text).toMatch(/^begins\n\[The workspace .+ needed\.\]\n$/)
    await backend.files.write('new', bytes('new'))
    expect(await backend.exec('cat new', T)).toMatchObject({ stdout: 'new', stderr: expect.stringContaining(told) })
    expect(await backend.exec(`cat ${root}/c`, T)).toMatchObject({ stdout: 'three\n', stderr: '' })
  })

  itInTurn('is told when the job has ended before the process that replaces it', async () => {
    const leave = (root: string, old: string) => `setsid bash -c '${replace(root, old)}; touch ${old}.two' & WAIT`
    const running = await job(leave)
    const { backend, old, end, told } = running
    await exists(`${old}.two`)
    await end()
    expect((await backend.exec('cat c', T)).stderr).toContain(told)
  })

  itInTurn.each([
    ['was removed', (root: string) => `rm -rf ${root}; mkdir ${root}; WAIT`],
    [
      'lies in the new one',
      (root: string, old: string) => `mv ${root} ${old}; mkdir ${root}; mv ${old} ${root}/in; WAIT`,
    ],
    [
      'came back',
      (root: string, old: string) => `mv ${root} ${old}; mkdir ${root}; rmdir ${root}; mv ${old} ${root}; WAIT`,
    ],
  ])('is not told when the old one %s, as with commands', async (_, text) => {
    const running = await job(text)
    expect((await running.backend.exec('true', T)).stderr).toBe('')
    await running.end()
    expect((await running.backend.exec('true', T)).stderr).toBe('')
    expect((await running.jobs.output('j', 0, 1_000)).text).toBe('')
  })

  itInTurn('is moved back at the end of a job that puts nothing in its place', async () => {
    const { backend, jobs, old, end } = await job((from, to) => `mv ${from} ${to}; WAIT`)
    await end()
    const told = expect.stringContaining(`moved to ${old}. Only`)
    expect(await backend.exec(`cat a ${old}/a`, T)).toMatchObject({ stdout: 'one\none\n', stderr: told })
    expect((await jobs.output('j', 0, 1_000)).text).toEqual(told)
  })

  it('is not told after a start of the host, which may number folders anew', async () => {
    const { backend, state, port } = open()
    await backend.exec('true', T)
    await port.run(`printf '1:2 earlier -\\n' > ${state}/inode`, 1_000)
    expect((await backend.exec('true', T)).stderr).toBe('')
    expect((await port.run(`cat ${state}/inode`, 1_000)).output).not.toMatch(/^1:2/)
  })
})

itInTurn('a process in a workspace that was removed does not look like one that was moved', async () => {
  const opened = open()
  const { backend, jobs, root, temporary } = opened
  await jobs.start('stays', `rm -rf ${root}; touch ${temporary}/done; sleep 30`, { timeoutMs: 60_000 })
  await exists(`${temporary}/done`)
  expect((await backend.exec('pwd', T)).stderr).toContain('created again')
  await jobs.kill('stays')
})

it('a temporary folder that a command has removed is there for the next one', async () => {
  const { backend, temporary } = open()
  await backend.exec(`rm -rf ${temporary}`, T)
  expect((await backend.exec(`stat -c %a ${temporary}`, T)).stdout).toBe('1777\n')
})

it('our own folder lies beside the workspace, out of reach of what empties it or /tmp', () => {
  expect(['/workspace', '/home/user/workspace'].map(stateBeside)).toEqual(['/.talaria', '/home/user/.talaria'])
})

describe('a process that left the group of its command', () => {
  endsEscapes(() => open().backend)
})

describe('files that are copied to a host', () => {
  const entry = (path: string) => ({ path, kind: 'file', bytes: bytes('new'), mode: 0o644, modified: 0 }) as const
  /** A tar that does what it is to do and then complains. */
  const complaining = (words: string) =>
    open((port) => ({
      run: (script, ms) =>
        port.run(`tar() { command tar "$@"; printf '%s\\n' ${words} >&2; return 2; }\n${script}`, ms),
    })).backend

  it('arrive completely, or the error is reported', async () => {
    const { backend, state } = open()
    const { root } = backend.capabilities
    await backend.files.write('a', bytes('a file'))
    const restoring = backend.restore([entry(`${root}/a/b`), entry(`${root}/c`)])
    await expect(restoring).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/a\/b: .*Not a/),
    })
    await expect(restoring).rejects.toMatchObject({ hint: expect.stringContaining('try again') })
    expect((await backend.exec(`ls ${state}`, T)).stdout).not.toContain('t-')
  })

  const ending = `'tar: Exiting with failure status due to previous errors'`
  const of = async (words: string) => {
    const backend = complaining(`${words} ${ending}`)
    await backend.restore([entry(`${backend.capabilities.root}/c`)])
    return backend.files.read('c')
  }

  it.each([
    ['no room', `'tar: c: Wrote only 4 of 9 bytes' 'tar: c: Cannot write: No space left on device'`],
    ['no room, beside a time that cannot be set', `'tar: d: Cannot utime: No' 'tar: c: Cannot write: No space left'`],
    ['a reason that is not named', ''],
  ])('are not all there for %s', async (_, words) => {
    await expect(of(words)).rejects.toMatchObject({ code: 'unavailable' })
  })

  it.each([
    ['time', `'tar: tmp: Cannot utime: Operation not permitted'`],
    ['mode', `'tar: tmp: Cannot change mode to rwx: Operation not permitted'`],
  ])('are there where a %s cannot be set', async (_, words) => {
    expect(await of(words)).toEqual(bytes('new'))
  })

  it('leave nothing behind when the copy fails', async () => {
    const { backend, state } = open((port) => ({
      write: async (path, content) => {
        await port.write(path, content)
        if (path.includes('/t-')) throw new Error('The line was cut.')
      },
    }))
    await expect(backend.restore([entry(`${backend.capabilities.root}/c`)])).rejects.toThrow('cut')
    expect((await backend.exec(`ls ${state}`, T)).stdout).not.toContain('t-')
  })
})

describe('the tree of a host', () => {
  it('says which folders a command has locked, whose contents are not listed', async () => {
    const { backend, root } = open(() => ({}), { isUser: true })
    await backend.exec('mkdir d e; touch d/x e/y; chmod 0 d', T)
    const shown = (await backend.tree()).map(({ path, type, isPartial = false }) => [path, type, isPartial])
    expect(shown).toEqual([
      [`${root}/d`, 'directory', true],
      [`${root}/e`, 'directory', false],
      [`${root}/e/y`, 'file', false],
    ])
  })

  it('has folders that tools regenerate without their contents', async () => {
    const { backend, root } = open()
    await backend.exec('mkdir -p p/node_modules/a; touch p/node_modules/a/b p/node_modules/c p/d', T)
    expect((await backend.tree()).map(({ path }) => path)).toEqual(
      ['p', 'p/d', 'p/node_modules'].map((name) => `${root}/${name}`),
    )
  })

  itInTurn('of more entries than an answer holds says that it is partial', async () => {
    const { backend, root } = open()
    // Long paths, because many files take long.
    const deep = Array.from({ length: 17 }, () => 'd'.repeat(200)).join('/')
    await backend.exec(`mkdir -p ${deep}; cd ${deep}; seq -f '%0200g' 6000 | xargs touch`, { timeoutMs: 60_000 })
    const [first, ...entries] = await backend.tree()
    const files = entries.filter(({ type }) => type === 'file')
    expect(first).toMatchObject({ path: root, isPartial: true })
    expect(files.length).toBeGreaterThan(4_000)
    expect(files.length).toBeLessThan(6_000)
    expect(files.every(({ path }) => path.length === root.length + deep.length + 202)).toBe(true)
  })

  it('that arrives in part, because it has no space on the host, is an error', async () => {
    const { backend } = open((port) => ({
      run: async (script, ms) => {
        const ran = await port.run(script, ms)
        return script.includes('%T@') ? { code: 1, output: ran.output.slice(0, 16) } : ran
      },
    }))
    await backend.exec('touch a b', T)
    await expect(backend.tree()).rejects.toMatchObject({ code: 'unavailable' })
    await expect(backend.files.stat('b')).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('has each name of a file, which is a file in its archive', async () => {
    const { backend, root } = open()
    await backend.exec('echo one > a; ln a b', T)
    const seen: string[] = []
    for await (const { path, kind } of backend.snapshot()) seen.push(`${kind} ${path.slice(root.length + 1)}`)
    expect(seen.toSorted()).toEqual(['file a', 'file b'])
  })
})

it('a workspace that a command has locked stays within reach', async () => {
  const { backend, root } = open(() => ({}), { isUser: true })
  await backend.exec(`echo one > a; chmod 0 ${root}`, T)
  expect((await backend.exec('cat a; touch b; ls', T)).stdout).toBe('one\na\nb\n')
})

describe('clearing a host', () => {
  it('removes everything of the session but our own files', async () => {
    const { backend, temporary } = open()
    await backend.exec(`mkdir -p ${temporary} d; touch ${temporary}/t d/f .hidden`, T)
    await backend.clear()
    expect(await backend.tree()).toEqual([])
    expect((await backend.exec('pwd', T)).stderr).toBe('')
  })

  it('removes folders that a command has locked, of a user who may not look into them', async () => {
    const { backend } = open(() => ({}), { isUser: true })
    await backend.exec('mkdir -p d/e f; touch d/e/x f/y; chmod 500 d/e; chmod 0 d; chmod 500 f', T)
    await backend.clear()
    expect(await backend.tree()).toEqual([])
  })

  it('fails when files are left', async () => {
    const { backend } = open((port) => ({
      run: (script, ms) => port.run(`find() { [[ "$*" == *-exec* ]] && return 1; command find "$@"; }\n${script}`, ms),
    }))
    await backend.files.write('a', bytes('a'))
    await expect(backend.clear()).rejects.toMatchObject({ code: 'unavailable', hint: expect.stringContaining('again') })
  })
})

describe('jobs on a host', () => {
  it('start once and are found after an eviction', async () => {
    const first = open()
    await first.jobs.start('a b', `echo "it's"; echo >> runs; exit 5`, T)
    await first.jobs.start('a b', 'echo twice', T)
    expect(await ended(first, 'a b')).toMatchObject({ at: 'exited', exitCode: 5 })
    expect(await first.jobs.output('a b', 0, 100)).toEqual({ text: "it's\n", next: 5 })
    expect(await first.jobs.output('a b', 3, 100)).toEqual({ text: 's\n', next: 5 })
    expect(await first.backend.files.read('runs')).toEqual(bytes('\n'))
  })

  it('return whole characters', async () => {
    const { jobs, state } = open()
    await jobs.start('u', 'printf üä', T)
    await ended({ state, jobs }, 'u')
    expect(await jobs.output('u', 0, 3)).toEqual({ text: 'ü', next: 2 })
    expect(await jobs.output('u', 2, 3)).toEqual({ text: 'ä', next: 4 })
  })

  itInTurn('that ignore SIGTERM are killed with their children', async () => {
    const { backend, jobs } = open()
    const mark = `61.${Math.floor(Math.random() * 1e9)}`
    const left = async () => (await backend.exec(`pgrep -f '[s]leep ${mark}'`, T)).stdout
    await jobs.start('deaf', `trap "" TERM; echo deaf; sleep ${mark} & sleep ${mark}`, { timeoutMs: 60_000 })
    // Before the trap the command would end by SIGTERM.
    await vi.waitFor(async () => expect(await jobs.output('deaf', 0, 9)).toMatchObject({ text: 'deaf\n' }), 10_000)
    expect(await left()).not.toBe('')
    await jobs.kill('deaf')
    expect(await jobs.state('deaf')).toMatchObject({ at: 'exited', exitCode: 137 })
    expect(await left()).toBe('')
  })

  it('that do not read their input are an error', async () => {
    const { jobs } = open()
    await jobs.start('deaf', 'sleep 60', { timeoutMs: 60_000 })
    await jobs.write!('deaf', 'a pipe takes this', false)
    await expect(jobs.write!('deaf', 'x'.repeat(200_000), false)).rejects.toMatchObject({ code: 'unavailable' })
    await jobs.kill('deaf')
    await expect(jobs.write!('deaf', 'x', false)).rejects.toMatchObject({ code: 'invalid' })
  })

  it('leave no process that holds their input', async () => {
    const { backend, jobs, state } = open()
    const seconds = 86_000 + Math.floor(Math.random() * 400)
    await jobs.start('short', 'exit 0', { timeoutMs: seconds * 1_000 })
    await ended({ state, jobs }, 'short')
    expect((await backend.exec(`pgrep -f '[s]leep ${seconds}'`, T)).stdout).toBe('')
  })

  it.skipIf(!hasBubblewrap)('that the system killed for lack of memory say so (needs bubblewrap)', async () => {
    const { jobs, state } = open(undefined, { hasMemoryGroup: true })
    await jobs.start('itself', 'kill -KILL $$', { timeoutMs: 60_000 })
    expect(await ended({ state, jobs }, 'itself')).not.toHaveProperty('reason')
    await jobs.start('memory', 'echo oom_kill 1 > /sys/fs/cgroup/memory.events; kill -KILL $$', { timeoutMs: 60_000 })
    expect(await ended({ state, jobs }, 'memory')).toMatchObject({ at: 'exited', exitCode: 137, reason: 'memory' })
  })

  it('end at their timeout', async () => {
    const { jobs, state } = open()
    await jobs.start('long', 'sleep 60', { timeoutMs: 300 })
    expect(await ended({ state, jobs }, 'long')).toMatchObject({ at: 'exited', exitCode: 124 })
  })
})
