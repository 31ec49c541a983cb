/** Tests moving files between backends, with skipped files, crashes and deletion. */

import { describe, expect, it } from 'vitest'
import { BackendError, type BackendKind, type FileStat } from '#agent/core/backend.ts'
import type { PortableBackend, SnapshotEntry } from '#backends/portable-backend.ts'
import { moveFiles, planTransfer } from '#durable/workspace/move-files.ts'
import type { WorkspaceLocation } from '#durable/storage/session-metadata.ts'
import { sessionBackend } from '#durable/workspace/session-backend.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array | undefined) => content && new TextDecoder().decode(content)

/** A backend in memory. `trouble` interrupts or delays an archive. */
function memoryBackend(kind: BackendKind, root = '/workspace') {
  const held = new Map<string, SnapshotEntry>()
  const trouble = { after: Number.POSITIVE_INFINITY, before: async () => undefined as void, destroyed: 0 }
  const absolute = (path: string) => (path.startsWith('/') ? path : `${root}/${path}`)
  const put = (path: string, content: Uint8Array) =>
    held.set(absolute(path), { path: absolute(path), kind: 'file', bytes: content, mode: 0o644, modified: 1 })
  const statOf = (entry: SnapshotEntry): FileStat => ({
    path: entry.path,
    type: entry.kind,
    size: entry.kind === 'file' ? entry.bytes.length : 0,
    modified: 1,
  })
  const unused = () => Promise.reject(new Error('not asked in these tests'))
  const backend: PortableBackend = {
    kind,
    capabilities: { streaming: false, background: false, pty: false, network: 'none', languages: ['bash'], root },
    describe: () => `the backend ${kind}`,
    exec: async (command) => ({
      exitCode: 0,
      stdout: `${kind}: ${command}`,
      stderr: '',
      truncated: false,
      timedOut: false,
      cwd: root,
      env: {},
      ms: 1,
    }),
    files: {
      read: async (path) => {
        const entry = held.get(absolute(path))
        return entry?.kind === 'file' ? entry.bytes : undefined
      },
      write: async (path, content) => ({ created: put(path, content).size > 0 }),
      stat: async (path) => {
        const entry = held.get(absolute(path))
        return entry && statOf(entry)
      },
      list: unused,
      remove: async (path) => {
        const below = [...held.keys()].filter((each) => `${each}/`.startsWith(`${absolute(path)}/`))
        return below.map((each) => held.delete(each)).some(Boolean)
      },
      move: unused,
      search: unused,
    },
    resolve: absolute,
    tree: async () => [...held.values()].map(statOf),
    async *snapshot(wanted = () => true) {
      for (const entry of held.values()) if (wanted(entry.path)) yield entry
    },
    async restore(entries) {
      await trouble.before()
      for await (const entry of entries) {
        if (trouble.after-- <= 0) throw new BackendError('unavailable', 'It went away.')
        held.set(entry.path, entry)
      }
    },
    clear: async () => held.clear(),
    destroy: async () => {
      held.clear()
      trouble.destroyed++
    },
  }
  return { backend, held, trouble, put }
}

function session(first: BackendKind = 'virtual') {
  const all = {
    virtual: memoryBackend('virtual'),
    http: memoryBackend('http'),
    daytona: memoryBackend('daytona', '/home/daytona'),
  } as const
  const state: { wanted: BackendKind; record: WorkspaceLocation | undefined } = { wanted: first, record: undefined }
  const processes: Partial<Record<BackendKind, readonly string[]>> = {}
  const open = () =>
    sessionBackend({
      processesOn: (kind) => processes[kind] ?? [],
      open: (kind) => {
        const found = (all as Partial<Record<BackendKind, ReturnType<typeof memoryBackend>>>)[kind]
        if (found) return found.backend
        throw new BackendError('unavailable', `The backend ${kind} is not set up.`, 'Set it up.')
      },
      requestedKind: () => state.wanted,
      waitForSettings: async () => undefined,
      record: () => state.record,
      write: (record) => (state.record = record),
      noCapabilities: {
        streaming: false,
        background: false,
        pty: false,
        network: 'none',
        languages: [],
        root: '/workspace',
      },
    })
  return { all, state, open, processes }
}

const file = (path: string, size: number): FileStat => ({ path, type: 'file', size, modified: 1 })

describe('a transfer plan', () => {
  it('has everything that fits, small files first', () => {
    const { paths: take, skipped: left } = planTransfer([file('/w/large', 80), file('/w/b', 30), file('/w/a', 20)], 100)
    expect([...take]).toEqual(['/w/a', '/w/b'])
    expect(left).toEqual([{ path: '/w/large', bytes: 80 }])
  })

  it('has a whole repository or nothing of it', () => {
    const git = [file('/w/p/.git/HEAD', 1), file('/w/p/.git/objects/pack', 60)]
    expect([...planTransfer([...git, file('/w/p/x', 10)], 100).paths]).toEqual([
      '/w/p/x',
      ...git.map(({ path }) => path),
    ])
    expect(planTransfer([...git, file('/w/p/x', 50)], 100)).toEqual({
      paths: new Set(['/w/p/x']),
      skipped: [{ path: '/w/p/.git', bytes: 61 }],
    })
  })

  it('has no folders that tools regenerate', () => {
    const tree = [file('/w/node_modules/a/i.js', 1), file('/w/node_modules/b.js', 2), file('/w/package.json', 3)]
    expect(planTransfer(tree)).toEqual({
      paths: new Set(['/w/package.json']),
      skipped: [{ path: '/w/node_modules', bytes: undefined }],
    })
  })

  it('leaves folders whose contents are not all listed, and names that are not text, and tells of them', () => {
    const locked = { path: '/w/d', type: 'directory', size: 0, modified: 1, isPartial: true } as const
    const git = [file('/w/p/.git/HEAD', 1), { ...locked, path: '/w/p/.git/objects' }]
    expect(planTransfer([locked, ...git, file('/w/n\uFFFD', 3), file('/w/x', 1)])).toEqual({
      paths: new Set(['/w/x']),
      skipped: ['/w/d', '/w/n\uFFFD', '/w/p/.git'].map((path) => ({ path, bytes: undefined })),
    })
  })

  it('is told without the files that the host could not read', async () => {
    const [from, to] = [memoryBackend('http'), memoryBackend('virtual')]
    from.put('a', bytes('a'))
    from.put('locked', bytes('b'))
    const { snapshot } = from.backend
    const unreadable = {
      ...from.backend,
      async *snapshot(wanted?: (path: string) => boolean) {
        for await (const entry of snapshot(wanted)) if (!entry.path.endsWith('locked')) yield entry
      },
    }
    expect(await moveFiles(unreadable, to.backend)).toEqual([{ path: '/workspace/locked', bytes: 1 }])
    expect(text(await to.backend.files.read('/tmp/left-behind.txt'))).toBe('/workspace/locked\t1 bytes\n')
  })

  it('maps paths and links to the workspace of the other backend', async () => {
    const [from, to] = [memoryBackend('virtual'), memoryBackend('daytona', '/home/daytona')]
    from.put('a/b.txt', bytes('b'))
    from.put('/tmp/t', bytes('t'))
    const link = { kind: 'link', mode: 0o777, modified: 1 } as const
    from.held.set('/workspace/l', { ...link, path: '/workspace/l', target: '/workspace/a' })
    to.put('old', bytes('gone'))
    expect(await moveFiles(from.backend, to.backend)).toEqual([])
    expect([...to.held.keys()]).toEqual(['/home/daytona/a/b.txt', '/tmp/t', '/home/daytona/l'])
    expect(to.held.get('/home/daytona/l')).toMatchObject({ target: '/home/daytona/a' })
    expect(from.held.size).toBe(3)
  })
})

describe('a session', () => {
  it('stays on its backend until the setting changes, then moves its files first', async () => {
    const { all, state, open } = session()
    const backend = open()
    await backend.files.write('a', bytes('one'))
    state.wanted = 'http'
    expect(all.http.held.size).toBe(0)
    expect((await backend.exec('ls', { timeoutMs: 1 })).stdout).toBe('http: ls')
    expect(text(all.http.held.get('/workspace/a') && (await all.http.backend.files.read('a')))).toBe('one')
    await backend.files.write('a', bytes('two'))
    state.wanted = 'virtual'
    expect(text(await backend.files.read('a'))).toBe('two')
  })

  it('has the files again that stayed on a backend when it moves back, unless others replaced them', async () => {
    const { all, state, open } = session()
    const backend = open()
    const folder = (path: string) => all.virtual.held.set(path, { path, kind: 'directory', mode: 0o755, modified: 1 })
    folder('/workspace/d')
    await backend.files.write('d/gone', bytes('gone'))
    for (const name of ['d/node_modules/x', 'node_modules/y', '__pycache__/z', 'd/moved'])
      await backend.files.write(name, bytes('first'))
    state.wanted = 'http'
    expect((await backend.exec('ls', { timeoutMs: 1 })).stderr).toContain('stay on virtual until')
    all.http.held.delete('/workspace/d/gone')
    await backend.files.write('d/moved', bytes('second'))
    await backend.files.write('node_modules', bytes('a file now'))
    state.wanted = 'virtual'
    const names = ['d/node_modules/x', 'd/moved', 'd/gone', 'node_modules', 'node_modules/y', '__pycache__/z']
    const found = await Promise.all(names.map(async (name) => text(await backend.files.read(name))))
    expect(found).toEqual(['first', 'second', undefined, undefined, 'first', 'first'])
    expect(text(await backend.files.read('/tmp/left-behind.txt'))).toBe('/workspace/node_modules\n')
    expect(state.record?.left).toEqual({ http: ['/workspace/node_modules'], virtual: undefined })
  })

  it('does not restore deleted files by moving back', async () => {
    const { all, state, open } = session()
    const backend = open()
    await backend.files.write('a', bytes('one'))
    state.wanted = 'http'
    await backend.files.read('a')
    all.http.held.delete('/workspace/a')
    state.wanted = 'virtual'
    expect(await backend.files.read('a')).toBeUndefined()
  })

  it('moves once for concurrent requests', async () => {
    const { all, state, open } = session()
    const backend = open()
    await backend.files.write('a', bytes('one'))
    state.wanted = 'http'
    await Promise.all([
      backend.files.read('a'),
      backend.exec('x', { timeoutMs: 1 }),
      backend.files.write('b', bytes('b')),
    ])
    expect([...all.http.held.keys()]).toEqual(['/workspace/a', '/workspace/b'])
  })

  it.each(['daytona', 'virtual'] as const)(
    'whose setting becomes %s while its files move has them there',
    async (then) => {
      const { all, state, open } = session()
      const backend = open()
      await backend.files.write('a', bytes('one'))
      const { promise: arrival, resolve: arrive } = Promise.withResolvers<void>()
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
      all.http.trouble.before = async () => {
        begin()
        await arrival
      }
      state.wanted = 'http'
      const first = backend.files.read('a')
      await begun
      state.wanted = then
      const second = backend.files.write('b', bytes('two'))
      arrive()
      await Promise.all([first, second])
      expect(state.record?.kind).toBe(then)
      expect([text(await first), text(await backend.files.read('a')), text(await backend.files.read('b'))]).toEqual([
        'one',
        'one',
        'two',
      ])
    },
  )

  it('repeats a move that failed or crashed', async () => {
    const { all, state, open } = session()
    await open().files.write('a', bytes('one'))
    await open().files.write('b', bytes('two'))
    state.wanted = 'http'
    all.http.trouble.after = 1
    await expect(open().files.read('a')).rejects.toMatchObject({ code: 'unavailable' })
    expect(state.record).toEqual({ kind: 'virtual', been: ['http'] })
    all.http.trouble.after = Number.POSITIVE_INFINITY
    expect(text(await open().files.read('b'))).toBe('two')
    expect(state.record).toMatchObject({ kind: 'http', been: ['http'] })
  })

  it('reports the skipped files once', async () => {
    const { state, open } = session()
    const backend = open()
    await backend.files.write('node_modules/x', bytes('x'))
    state.wanted = 'http'
    const first = await backend.exec('ls', { timeoutMs: 1 })
    expect(first.stderr).toContain('moved from virtual to http without /workspace/node_modules')
    expect(text(await backend.files.read('/tmp/left-behind.txt'))).toBe('/workspace/node_modules\n')
    expect((await backend.exec('ls', { timeoutMs: 1 })).stderr).toBe('')
  })

  it('waits for a command that runs, and takes along what it has written', async () => {
    const { all, state, open } = session()
    const backend = open()
    const { exec } = all.virtual.backend
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const slow = async (...task: Parameters<typeof exec>) => {
      begun.resolve()
      await ended.promise
      all.virtual.put('late', bytes('late'))
      return exec(...task)
    }
    Object.assign(all.virtual.backend, { exec: slow })
    const running = backend.exec('make', { timeoutMs: 1 })
    await begun.promise
    state.wanted = 'http'
    await backend.files.write('meanwhile', bytes('meanwhile'))
    expect([backend.kind, state.record?.kind ?? 'virtual']).toEqual(['virtual', 'virtual'])
    ended.resolve()
    expect((await running).stderr).toBe('')
    expect([text(await backend.files.read('late')), text(await backend.files.read('meanwhile'))]).toEqual([
      'late',
      'meanwhile',
    ])
    expect([backend.kind, state.record?.kind]).toEqual(['http', 'http'])
  })

  it('waits for a file that is being written', async () => {
    const { all, state, open } = session()
    const backend = open()
    const { write } = all.virtual.backend.files
    const ended = Promise.withResolvers<void>()
    Object.assign(all.virtual.backend.files, {
      write: async (...given: Parameters<typeof write>) => (await ended.promise, write(...given)),
    })
    const writing = backend.files.write('a', bytes('a'))
    await new Promise((resolve) => setTimeout(resolve, 0))
    state.wanted = 'http'
    expect(await backend.files.read('a')).toBeUndefined()
    ended.resolve()
    await writing
    expect([text(await backend.files.read('a')), state.record?.kind]).toEqual(['a', 'http'])
  })

  it('waits for background processes, and says so until they have ended', async () => {
    const { all, state, open, processes } = session()
    const backend = open()
    await backend.files.write('a', bytes('a'))
    processes.virtual = ['proc_a']
    state.wanted = 'http'
    expect((await backend.exec('ls', { timeoutMs: 1 })).stderr).toContain(
      'stays on virtual until its background processes have ended (proc_a). Then it moves to http.',
    )
    expect(backend.kind).toBe('virtual')
    all.virtual.put('late', bytes('late'))
    processes.virtual = []
    expect(text(await backend.files.read('late'))).toBe('late')
    expect((await backend.exec('ls', { timeoutMs: 1 })).stderr).toBe('')
  })

  it('keeps its files when the new backend is not set up, with a hint', async () => {
    const { state, open } = session()
    const backend = open()
    await backend.files.write('a', bytes('one'))
    state.wanted = 'e2b'
    await expect(backend.files.read('a')).rejects.toMatchObject({ code: 'unavailable', hint: 'Set it up.' })
    expect(backend.jobs).toBeUndefined()
    expect(backend.capabilities.languages).toEqual([])
    expect(backend.describe().length).toBeGreaterThan(20)
    state.wanted = 'virtual'
    expect(text(await backend.files.read('a'))).toBe('one')
  })

  it('gives a copy the files that would move', async () => {
    const { state, open } = session()
    const backend = open()
    state.wanted = 'http'
    await backend.files.write('a', bytes('one'))
    await backend.files.write('node_modules/x', bytes('x'))
    const paths: string[] = []
    for await (const { path } of backend.snapshot()) paths.push(path)
    expect(paths).toEqual(['/workspace/a'])
  })

  it('leaves nothing on any host when it is deleted', async () => {
    const { all, state, open } = session()
    const backend = open()
    for (const kind of ['http', 'daytona'] as const) {
      state.wanted = kind
      await backend.files.write('a', bytes('one'))
    }
    await open().destroy()
    expect([all.http.trouble.destroyed, all.daytona.trouble.destroyed]).toEqual([1, 1])
  })
})
