import { describe, expect, it } from 'vitest'
import { checkpointLimits } from '#backends/checkpoints.ts'
import type { SnapshotEntry } from '#backends/virtual/snapshot.ts'
import type { VirtualBackend } from '#backends/virtual/virtual.ts'
import { itInTurn } from '#test/support/long.ts'
import { bindings, inWorkspace } from '../support/workspace.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = async ({ files }: Pick<VirtualBackend, 'files'>, path: string) => {
  const content = await files.read(path)
  return content && new TextDecoder().decode(content)
}
const run = (backend: VirtualBackend, command: string) => backend.exec(command, { timeoutMs: 5_000 })

/** The whole workspace, with contents, modes and times. */
async function state(backend: VirtualBackend): Promise<readonly SnapshotEntry[]> {
  const entries: SnapshotEntry[] = []
  for await (const entry of backend.snapshot()) entries.push(entry)
  return entries
}

async function back(backend: VirtualBackend, nth = 1, selection: { path?: string; all?: boolean } = {}) {
  const id = backend.checkpoints.list()[nth - 1]?.id ?? 0
  await backend.checkpoints.prepare(id, selection)
  const restored = backend.checkpoints.restore(id, selection)
  await backend.checkpoints.finishRestore()
  return restored
}

const listed = ({ checkpoints }: VirtualBackend) => checkpoints.list().map(({ run: turn, files }) => [turn, files])

const count = (sql: SqlStorage, table: string) => sql.exec<{ n: number }>(`SELECT count(*) AS n FROM ${table}`).one().n
const hasTable = (sql: SqlStorage) =>
  sql.exec("SELECT name FROM sqlite_master WHERE name IN ('kept', 'checkpoint')").toArray().length > 0

it('a snapshot that is restored has the modes of files and directories', () =>
  inWorkspace({}, async ({ backend }) => {
    await run(backend, 'mkdir -p d/e; echo x > d/f; chmod 640 d/f; chmod 700 d/e; chmod 750 d')
    const modes = async () => (await state(backend)).map(({ path, mode }) => [path, mode & 0o777])
    const [before, entries] = [await modes(), await state(backend)]
    await run(backend, 'rm -r d')
    await backend.restore(entries)
    expect(await modes()).toEqual(before)
    expect(before).toContainEqual(['/workspace/d', 0o750])
  }))

describe('a turn', () => {
  it('that changes nothing stores nothing', () =>
    inWorkspace({}, async ({ backend, sql }) => {
      await backend.files.write('a', bytes('a'))
      backend.checkpoints.begin('run1')
      await run(backend, 'ls; cat a; grep -r a .; echo x > /tmp/elsewhere')
      expect(hasTable(sql)).toBe(false)
      expect(backend.checkpoints.list()).toEqual([])
    }))

  it('stores one row, and one for each changed file', () =>
    inWorkspace({}, async ({ backend, sql }) => {
      await run(backend, 'for i in $(seq 50); do echo $i > f$i; done')
      backend.checkpoints.begin('run1')
      await run(backend, 'for i in $(seq 20); do echo more >> f1; echo other > f2; done')
      expect([count(sql, 'checkpoint'), count(sql, 'kept')]).toEqual([1, 2])
    }))

  it('can be reverted: new, changed, removed, moved and linked files, modes, folders', () =>
    inWorkspace({}, async ({ backend }) => {
      await run(
        backend,
        'mkdir -p d/e empty; echo a > a; echo b > d/b; echo c > d/e/c; ln -s a l; chmod 755 d/b; rm -rf gone',
      )
      const before = await state(backend)
      backend.checkpoints.begin('run1')
      await run(
        backend,
        'echo x > a; rm l; mkdir n; echo n > n/n; mv d moved; echo z >> moved/e/c; chmod 600 moved/b; rmdir empty; echo file > empty; rm moved/b; ln -s n/n d',
      )
      expect(await state(backend)).not.toEqual(before)
      expect(await back(backend)).toMatchObject({ kept: [], left: [] })
      expect(await state(backend)).toEqual(before)
      expect(backend.checkpoints.list()).toEqual([])
    }))

  it('continues in the same checkpoint after an eviction', () =>
    inWorkspace({}, async ({ backend, open, sql }) => {
      backend.checkpoints.begin('run1')
      await backend.files.write('a', bytes('one'))
      const again = open()
      again.checkpoints.begin('run1')
      await again.files.write('a', bytes('two'))
      await again.files.write('b', bytes('two'))
      expect([count(sql, 'checkpoint'), count(sql, 'kept')]).toEqual([1, 2])
      await back(again)
      expect(await again.files.list('/workspace')).toEqual([])
    }))
})

describe('several turns', () => {
  const turns = async (backend: VirtualBackend, n: number) => {
    for (let i = 1; i <= n; i++) {
      backend.checkpoints.begin(`run${i}`)
      await run(backend, `echo ${i} > a; echo ${i} > f${i}`)
    }
  }

  it('are listed newest first, with what each changed', () =>
    inWorkspace({}, async ({ backend }) => {
      await turns(backend, 2)
      expect(listed(backend)).toEqual([
        ['run2', ['/workspace/a', '/workspace/f2']],
        ['run1', ['/workspace/a', '/workspace/f1']],
      ])
    }))

  it.each([1, 2, 3])('can be reverted to the %ith last', (n) =>
    inWorkspace({}, async ({ backend }) => {
      await run(backend, 'echo 0 > a')
      await turns(backend, 3)
      await back(backend, n)
      expect(await text(backend, 'a')).toBe(`${3 - n}\n`)
      expect((await backend.files.list('/workspace')).map(({ path }) => path.slice(11))).toEqual([
        'a',
        ...Array.from({ length: 3 - n }, (_, i) => `f${i + 1}`),
      ])
      expect(listed(backend).map(([turn]) => turn)).toEqual(['run2', 'run1'].slice(n - 1))
    }),
  )

  it('beyond the limits of number and age are deleted, the oldest first', () => {
    let time = 1_000_000_000
    return inWorkspace(
      { now: () => time, checkpointLimits: { ...checkpointLimits, checkpoints: 3 } },
      async ({ backend, sql }) => {
        await turns(backend, 5)
        expect(listed(backend).map(([turn]) => turn)).toEqual(['run5', 'run4', 'run3'])
        expect(count(sql, 'kept')).toBe(6)
        time += checkpointLimits.ageMs + 1
        backend.checkpoints.begin('run6')
        await run(backend, 'echo 6 > a')
        expect(listed(backend).map(([turn]) => turn)).toEqual(['run6'])
        expect(count(sql, 'kept')).toBe(1)
      },
    )
  })
})

describe('a change by the user', () => {
  it('stays when the agent’s changes are reverted, also in a folder of the agent', () =>
    inWorkspace({}, async ({ backend }) => {
      await backend.files.write('mine', bytes('0'))
      await backend.files.write('both', bytes('0'))
      backend.checkpoints.begin('run1')
      await run(backend, 'mkdir d; echo agent > d/x; echo agent > both; echo agent > its')
      await backend.userFiles.write('mine', bytes('person'))
      await backend.userFiles.write('both', bytes('person'))
      await backend.userFiles.write('d/note', bytes('person'))
      expect(await back(backend)).toEqual({
        restored: ['/workspace/d/x', '/workspace/its'],
        kept: ['/workspace/both', '/workspace/d/note', '/workspace/mine'],
        left: [],
      })
      expect((await run(backend, 'cat both mine d/note; ls . d')).stdout).toBe(
        'personpersonperson.:\nboth\nd\nmine\n\nd:\nnote\n',
      )
    }))

  it('is reverted with `all`, also when its checkpoint is deleted', () =>
    inWorkspace({}, async ({ backend }) => {
      await backend.files.write('f', bytes('0'))
      backend.checkpoints.begin('run1')
      await backend.files.write('one', bytes('1'))
      backend.checkpoints.begin('run2')
      await backend.files.write('f', bytes('2'))
      await backend.userFiles.write('f', bytes('person'))
      await back(backend)
      expect(await text(backend, 'f')).toBe('person')
      await back(backend, 1, { all: true })
      expect(await text(backend, 'f')).toBe('0')
      expect(await text(backend, 'one')).toBe(undefined)
    }))

  it('before the first checkpoint is not recorded', () =>
    inWorkspace({}, async ({ backend, sql }) => {
      await backend.userFiles.write('mine', bytes('0'))
      expect(hasTable(sql)).toBe(false)
    }))
})

describe('a single file', () => {
  it('can be restored alone, and the checkpoint stays', () =>
    inWorkspace({}, async ({ backend }) => {
      await run(backend, 'echo 0 > a; echo 0 > b')
      backend.checkpoints.begin('run1')
      await run(backend, 'echo 1 > a; echo 1 > b')
      await backend.userFiles.write('a', bytes('person'))
      expect(await back(backend, 1, { path: '/workspace/a' })).toMatchObject({ restored: ['/workspace/a'], kept: [] })
      expect([await text(backend, 'a'), await text(backend, 'b')]).toEqual(['0\n', '1\n'])
      expect(await back(backend, 1, { all: true })).toMatchObject({ kept: [] })
      expect([await text(backend, 'a'), await text(backend, 'b')]).toEqual(['0\n', '0\n'])
    }))
})

describe('large contents', () => {
  const large = (of: number) => new Uint8Array(600 * 1024).fill(of)
  const stored = async (prefix: string) => (await bindings.BLOBS.list({ prefix })).objects.length
  const inPrefix = (work: (world: { backend: VirtualBackend; prefix: string }) => Promise<void>) => {
    const prefix = `t/test/${crypto.randomUUID()}/`
    return inWorkspace({ prefix }, ({ backend }) => work({ backend, prefix }))
  }

  it('are stored as long as they are referenced', () =>
    inPrefix(async ({ backend, prefix }) => {
      await backend.files.write('big', large(1))
      backend.checkpoints.begin('run1')
      await backend.files.write('big', large(2))
      await backend.files.write('big', large(3))
      expect(await stored(prefix)).toBe(2)
      await back(backend)
      expect(await backend.files.read('big')).toEqual(large(1))
      expect(await stored(prefix)).toBe(1)
    }))

  itInTurn('are copied when only their old path is restored', () =>
    inPrefix(async ({ backend, prefix }) => {
      await backend.files.write('old', large(1))
      backend.checkpoints.begin('run1')
      await run(backend, 'mv old new')
      await back(backend, 1, { path: '/workspace/old' })
      expect(await stored(prefix)).toBe(2)
      await backend.files.remove('new')
      expect(await backend.files.read('old')).toEqual(large(1))
    }),
  )

  it('are deleted with their checkpoints', () =>
    inPrefix(async ({ backend, prefix }) => {
      await backend.files.write('big', large(1))
      for (let i = 1; i <= checkpointLimits.checkpoints + 1; i++) {
        backend.checkpoints.begin(`run${i}`)
        if (i === 1) await backend.files.remove('big')
        else await backend.files.write('small', bytes(`${i}`))
      }
      expect(await stored(prefix)).toBe(0)
    }))

  it('beyond the file limit are listed and not stored', () =>
    inWorkspace({ checkpointLimits: { ...checkpointLimits, fileBytes: 1_000 } }, async ({ backend }) => {
      await backend.files.write('big', new Uint8Array(1_001))
      await backend.files.write('small', bytes('0'))
      backend.checkpoints.begin('run1')
      await run(backend, 'echo 1 > big; echo 1 > small')
      expect(backend.checkpoints.list()[0]?.left).toEqual(['/workspace/big'])
      expect(await back(backend)).toEqual({ restored: ['/workspace/small'], kept: [], left: ['/workspace/big'] })
      expect([await text(backend, 'big'), await text(backend, 'small')]).toEqual(['1\n', '0'])
    }))

  it('beyond the total limit replace older checkpoints before anything is omitted', () =>
    inWorkspace({ checkpointLimits: { ...checkpointLimits, bytes: 1_500, fileBytes: 1_000 } }, async ({ backend }) => {
      for (const name of ['a', 'b', 'c']) await backend.files.write(name, new Uint8Array(800))
      backend.checkpoints.begin('run1')
      await backend.files.remove('a')
      backend.checkpoints.begin('run2')
      await backend.files.remove('b')
      expect(listed(backend)).toEqual([['run2', ['/workspace/b']]])
      await backend.files.remove('c')
      expect(backend.checkpoints.list()[0]).toMatchObject({ left: ['/workspace/c'] })
    }))
})

describe('the difference to a checkpoint', () => {
  it('has old and new contents, without unchanged files', () =>
    inWorkspace({}, async ({ backend }) => {
      await run(backend, 'echo 0 > a; echo 0 > same; echo 0 > gone')
      backend.checkpoints.begin('run1')
      await run(backend, 'echo 1 > a; echo 0 > same; rm gone; mkdir d; echo 1 > d/new; seq 9999 > long')
      const changes: unknown[] = []
      for await (const change of backend.checkpoints.changes(backend.checkpoints.list()[0]?.id ?? 0, 100))
        changes.push(change)
      expect(changes).toEqual([
        { path: '/workspace/a', before: bytes('0\n'), after: bytes('1\n') },
        { path: '/workspace/gone', before: bytes('0\n'), after: undefined },
        { path: '/workspace/long', tooLarge: true },
        { path: '/workspace/d/new', before: undefined, after: bytes('1\n') },
      ])
    }))
})
