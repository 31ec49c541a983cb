/** Tests checkpoints as archives, for hosts without checkpoints of their own. */

import { describe, expect, it, vi } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import type { VirtualBackend } from '#backends/virtual/virtual.ts'
import { openCheckpointArchive } from '#durable/workspace/checkpoint-archive.ts'
import { sessionBackend } from '#durable/workspace/session-backend.ts'
import { uploadInParts } from '#durable/workspace/checkpoint-archive.ts'
import { bindings, inWorkspace } from '../../backends/support/workspace.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const T = { timeoutMs: 5_000 }

/** A host made of the virtual backend, without its checkpoints. */
function createHost({
  files,
  exec,
  resolve,
  snapshot,
  restore,
  capabilities,
  describe: told,
}: VirtualBackend): PortableBackend {
  const tree: PortableBackend['tree'] = async () => {
    const found = []
    for await (const { path } of snapshot()) found.push(await files.stat(path))
    return found.filter((stat) => stat !== undefined)
  }
  async function* wantedOf(wanted: (path: string) => boolean = () => true) {
    for await (const entry of snapshot()) if (wanted(entry.path)) yield entry
  }
  const nothing = async () => undefined
  const rest = {
    capabilities: { ...capabilities, background: false },
    describe: told,
    clear: nothing,
    destroy: nothing,
  }
  return { kind: 'e2b', files, exec, resolve, tree, snapshot: wantedOf, restore, ...rest }
}

/** `life` creates the session backend anew on the same storage and host. */
async function onHost(
  work: (world: {
    life: (host?: PortableBackend) => ReturnType<typeof sessionBackend>
    host: PortableBackend
    prefix: string
  }) => Promise<void>,
) {
  const prefix = `t/test/${crypto.randomUUID()}/`
  await inWorkspace({}, async ({ backend, sql }) => {
    const host = createHost(backend)
    const life = (used: PortableBackend = host) =>
      sessionBackend({
        open: () => used,
        requestedKind: () => 'e2b',
        waitForSettings: async () => undefined,
        record: () => ({ kind: 'e2b', been: ['e2b'] }),
        write: () => undefined,
        noCapabilities: host.capabilities,
        archive: openCheckpointArchive({ sql, blobs: bindings.BLOBS, prefix, now: Date.now }),
      })
    await work({ life, host, prefix })
  })
}

type Session = ReturnType<typeof sessionBackend>

const listed = async (session: Session) =>
  ((await (await session.checkpoints())?.list()) ?? []).map(({ run, files }) => [run, files])
const stored = async (prefix: string) => (await bindings.BLOBS.list({ prefix })).objects.length
const tree = async (host: PortableBackend) =>
  (await host.exec('find . -type f | sort | xargs grep -r ""; find . -type d | sort', T)).stdout

/** Decides it; `finishRestore` then performs it. */
async function decide(session: Session, nth = 1, selection: { path?: string; all?: boolean } = {}) {
  const checkpoints = await session.checkpoints()
  const id = (await checkpoints?.list())?.[nth - 1]?.id ?? 0
  await checkpoints?.prepare(id, selection)
  return { restored: checkpoints?.restore(id, selection), finishRestore: async () => checkpoints?.finishRestore() }
}

async function back(session: Session, nth = 1, selection: { path?: string; all?: boolean } = {}) {
  const { restored, finishRestore } = await decide(session, nth, selection)
  await finishRestore()
  return restored
}

describe('a turn on a host', () => {
  it('stores an archive only when it changes something', () =>
    onHost(async ({ life, prefix }) => {
      const session = life()
      session.begin('run1')
      await session.exec('ls; cat x', T)
      await session.files.read('x')
      await session.files.write('/tmp/results/r.txt', bytes('x'))
      expect([await stored(prefix), await listed(session)]).toEqual([0, []])
      await session.exec('echo 1 > a', T)
      await session.files.write('b', bytes('1'))
      expect([await stored(prefix), await listed(session)]).toEqual([2, [['run1', ['/workspace/a', '/workspace/b']]]])
      const again = life()
      again.begin('run1')
      await again.exec('echo 2 > c', T)
      expect(await stored(prefix)).toBe(2)
    }))

  it('stores none when the system looks at the workspace', () =>
    onHost(async ({ life, prefix }) => {
      const session = life()
      session.begin('r1')
      expect((await session.inspect('cat /dev/null; touch seen', T)).exitCode).toBe(0)
      expect(await stored(prefix)).toBe(0)
    }))

  it('keeps a named state at once, to which later changes of the same turn belong', () =>
    onHost(async ({ life, host }) => {
      const session = life()
      session.begin('r1')
      await session.files.write('a.txt', bytes('1'))
      expect(await (await session.checkpoints())?.mark('r1~safe')).toBe(true)
      await session.files.write('a.txt', bytes('2'))
      expect((await listed(session)).map(([run]) => run)).toEqual(['r1~safe', 'r1'])
      await back(session, 1)
      expect(await tree(host)).toContain('./a.txt:1')
    }))

  it('can be reverted', () =>
    onHost(async ({ life, host, prefix }) => {
      const session = life()
      await session.userFiles.write('d/e/f', bytes('0'))
      await session.userFiles.write('a', bytes('0'))
      const before = await tree(host)
      session.begin('run1')
      await session.exec('echo 1 > a; mv d moved; mkdir -p n/m; echo n > n/m/n', T)
      session.begin('run2')
      await session.exec('echo 2 > a; rm -r moved; echo x > d', T)
      expect(await listed(session)).toEqual([
        ['run2', ['/workspace/a', '/workspace/d', '/workspace/moved/e/f']],
        ['run1', ['/workspace/a', '/workspace/d/e/f', '/workspace/moved/e/f', '/workspace/n/m/n']],
      ])
      await back(session, 2)
      expect(await tree(host)).toBe(before)
      expect([await stored(prefix), await listed(session)]).toEqual([0, []])
    }))

  it('keeps later changes by the user, unless `all` is set', () =>
    onHost(async ({ life }) => {
      const session = life()
      session.begin('run1')
      await session.exec('mkdir d; echo 1 > d/a; echo 1 > b', T)
      await session.userFiles.write('d/note', bytes('person'))
      await session.userFiles.write('b', bytes('person'))
      expect(await listed(session)).toEqual([['run1', ['/workspace/d/a']]])
      expect(await back(session)).toEqual({
        restored: ['/workspace/d/a'],
        kept: ['/workspace/b', '/workspace/d/note'],
        left: [],
      })
      expect((await session.exec('cat b d/note; ls d', T)).stdout).toBe('personpersonnote\n')
    }))

  it('can be reverted for a single file', () =>
    onHost(async ({ life }) => {
      const session = life()
      await session.userFiles.write('a', bytes('0'))
      session.begin('run1')
      await session.exec('echo 1 > a; echo 1 > b', T)
      await back(session, 1, { path: '/workspace/a' })
      expect((await session.exec('cat a b', T)).stdout).toBe('01\n')
      expect(await listed(session)).toHaveLength(1)
    }))

  it('lists files that are too large for an archive, and does not change them', () =>
    onHost(async ({ life }) => {
      const session = life()
      await session.userFiles.write('node_modules/x', bytes('0'))
      session.begin('run1')
      await session.exec('echo 1 > node_modules/x; echo 1 > a', T)
      expect(await back(session)).toEqual({
        restored: ['/workspace/a'],
        kept: [],
        left: ['/workspace/node_modules'],
      })
      expect((await session.exec('cat node_modules/x; ls', T)).stdout).toBe('1\nnode_modules\n')
    }))

  it('lists files that the host could not read, and does not change them', () =>
    onHost(async ({ life, host }) => {
      const locked: PortableBackend = {
        ...host,
        snapshot: (wanted = () => true) => host.snapshot((path) => !path.endsWith('locked') && wanted(path)),
      }
      const session = life(locked)
      await session.userFiles.write('locked', bytes('0'))
      await session.userFiles.write('a', bytes('0'))
      session.begin('run1')
      await session.exec('rm locked; rm a', T)
      expect(await back(session)).toMatchObject({ restored: ['/workspace/a'], left: ['/workspace/locked'] })
    }))

  it('removes nothing when the files before it were not all listed', () =>
    onHost(async ({ life, host }) => {
      const root = { path: '/workspace', type: 'directory', size: 0, modified: 0, isPartial: true } as const
      const partial: PortableBackend = {
        ...host,
        tree: async () => [root, ...(await host.tree()).filter(({ path }) => !path.endsWith('unlisted'))],
      }
      await host.files.write('unlisted', bytes('0'))
      const [before, after] = [life(partial), life()]
      before.begin('run1')
      await before.exec('echo 1 > a', T)
      expect(await back(after)).toMatchObject({ restored: [], left: ['/workspace'] })
      expect(await host.files.stat('unlisted')).toBeDefined()
    }))

  it('lists later changes', () =>
    onHost(async ({ life }) => {
      const session = life()
      await session.userFiles.write('a', bytes('0'))
      session.begin('run1')
      await session.exec('echo 1 > a; echo 1 > b; seq 999 > long', T)
      const checkpoints = await session.checkpoints()
      const changes: unknown[] = []
      for await (const change of checkpoints?.changes(1, 100) ?? []) changes.push(change)
      expect(changes).toEqual([
        { path: '/workspace/a', before: bytes('0'), after: bytes('1\n') },
        { path: '/workspace/b', before: undefined, after: bytes('1\n') },
        { path: '/workspace/long', tooLarge: true },
      ])
    }))

  it('continues without a checkpoint when none can be saved', () =>
    onHost(async ({ life, host }) => {
      const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      const session = life({
        ...host,
        tree: async () => {
          throw new Error('the host does not respond')
        },
      })
      session.begin('run1')
      expect(await session.exec('echo 1 > a; cat a', T)).toMatchObject({ stdout: '1\n' })
      expect(warned).toHaveBeenCalledOnce()
      warned.mockRestore()
    }))
})

describe('a rollback that is interrupted by a crash', () => {
  it.each(['before anything is done', 'after files were removed', 'after files came back'])(
    '%s is finished by the next access to the host',
    (when) =>
      onHost(async ({ life, host, prefix }) => {
        const session = life()
        await session.userFiles.write('a', bytes('0'))
        await session.userFiles.write('b', bytes('0'))
        session.begin('run1')
        await session.exec('echo 1 > a; rm b; echo 1 > c', T)
        const dying: PortableBackend = {
          ...host,
          restore: async (entries) => {
            if (when === 'after files came back') await host.restore(entries)
            throw new Error('the object dies')
          },
        }
        const { finishRestore } = await decide(life(dying))
        const died = when === 'before anything is done' ? undefined : await finishRestore().catch(String)
        expect(died).toBe(when === 'before anything is done' ? undefined : 'Error: the object dies')
        const next = life()
        expect((await next.files.list('/workspace')).map(({ path }) => path)).toEqual(['/workspace/a', '/workspace/b'])
        expect(new TextDecoder().decode(await next.files.read('a'))).toBe('0')
        expect([await stored(prefix), await listed(next)]).toEqual([0, []])
      }),
  )

  it('is dropped when its archive is missing', () =>
    onHost(async ({ life, prefix }) => {
      const session = life()
      session.begin('run1')
      await session.exec('echo 1 > a', T)
      await decide(session)
      const error = vi.spyOn(console, 'error').mockImplementation(() => undefined)
      for (const { key } of (await bindings.BLOBS.list({ prefix })).objects) await bindings.BLOBS.delete(key)
      expect((await life().exec('cat a', T)).stdout).toBe('1\n')
      expect(error).toHaveBeenCalledOnce()
      error.mockRestore()
    }))
})

describe('an upload', () => {
  itInTurn.each([0, 1, 8 * 1024 * 1024, 8 * 1024 * 1024 + 1, 17 * 1024 * 1024])(
    'of %i bytes is complete',
    async (size) => {
      const key = `t/test/${crypto.randomUUID()}`
      async function* chunks() {
        for (let at = 0; at < size; at += 3_000_000) {
          const chunk = new Uint8Array(Math.min(3_000_000, size - at))
          for (let i = 0; i < chunk.length; i += 1_000) chunk[i] = (at + i) % 251
          yield chunk
        }
      }
      expect(await uploadInParts(bindings.BLOBS, key, chunks())).toBe(size)
      const found = new Uint8Array((await (await bindings.BLOBS.get(key))?.arrayBuffer()) ?? new ArrayBuffer(1))
      expect(found.byteLength).toBe(size)
      const places = Array.from({ length: Math.ceil(size / 3_000_000) }, (_, i) => i * 3_000_000)
      expect(places.map((at) => found[at])).toEqual(places.map((at) => at % 251))
      await bindings.BLOBS.delete(key)
    },
  )
})
