import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { SnapshotEntry } from '#backends/virtual/snapshot.ts'
import { openSqlFiles } from '#backends/virtual/sql-files.ts'
import { bindings, inWorkspace, type Workspace } from '../support/workspace.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (content: Uint8Array) => new TextDecoder().decode(content)
const tables = (sql: SqlStorage) => sql.exec("SELECT name FROM sqlite_master WHERE name = 'workspace'").toArray().length

const files = ({ sql }: Pick<Workspace, 'sql'>, options = {}) =>
  openSqlFiles({ sql, prefix: `t/x/${crypto.randomUUID()}/`, quotaBytes: () => 1e9, now: () => 1000, ...options })

describe('an untouched workspace', () => {
  it('has no table after reads', () =>
    inWorkspace({}, async ({ backend, sql }) => {
      expect(await backend.files.read('x')).toBeUndefined()
      expect(await backend.files.list('/')).toHaveLength(3)
      expect(await backend.exec('ls; pwd', { timeoutMs: 5000 })).toMatchObject({ exitCode: 0 })
      expect(await backend.files.search({ pattern: 'x', target: 'content', limit: 5, offset: 0 })).toMatchObject({
        total: 0,
      })
      expect(tables(sql)).toBe(0)
    }))
})

describe('a file', () => {
  it('writes one row each time', () =>
    inWorkspace({}, async ({ sql }) => {
      let rows = 0
      const exec = (query: string, ...values: unknown[]) => {
        const cursor = sql.exec(query, ...values)
        const result = cursor.toArray()
        rows += cursor.rowsWritten
        return { toArray: () => result, one: () => result[0] }
      }
      const fs = files({ sql: { exec } as unknown as SqlStorage })
      const cost = async (work: () => unknown) => {
        rows = 0
        await work()
        return rows
      }
      await fs.write('/workspace/first', bytes('makes the table'))
      expect(await cost(() => fs.write('/workspace/file', bytes('x')))).toBe(1)
      expect(await cost(() => fs.write('/workspace/file', bytes('y')))).toBe(1)
      expect(await cost(() => fs.append('/workspace/file', bytes('z')))).toBe(1)
      expect(await cost(() => fs.write('/workspace/a/b/c', bytes('x')))).toBe(3)
      expect(await cost(() => fs.read('/workspace/file'))).toBe(0)
      expect(await cost(() => fs.remove('/workspace/a', { recursive: true, force: false }))).toBe(3)
    }))

  it('is in R2 when it is large, and is deleted there when it is removed', () =>
    inWorkspace({}, async ({ sql }) => {
      const prefix = `t/x/${crypto.randomUUID()}/`
      const fs = files({ sql }, { blobs: bindings.BLOBS, prefix })
      const stored = async () => (await bindings.BLOBS.list({ prefix })).objects.length
      const large = new Uint8Array(600 * 1024).fill(7)
      await fs.write('/workspace/large', large)
      expect(await fs.read('/workspace/large')).toEqual(large)
      expect(await stored()).toBe(1)
      await fs.write('/workspace/large', large)
      expect(await stored()).toBe(1)
      await fs.write('/workspace/large', bytes('small'))
      expect(await stored()).toBe(0)
      await fs.write('/workspace/d/large', large)
      await fs.remove('/workspace/d', { recursive: true, force: false })
      expect(await stored()).toBe(0)
    }))

  itInTurn('is rejected without R2 when it does not fit into a row', () =>
    inWorkspace({ blobs: undefined }, async ({ open }) => {
      const backend = open({ blobs: undefined })
      await expect(backend.files.write('x', new Uint8Array(2_000_000))).rejects.toMatchObject({ code: 'unsupported' })
    }),
  )

  it('is rejected beyond the quota, which counts replaced bytes', () =>
    inWorkspace({ quotaBytes: () => 1000 }, async ({ backend }) => {
      await backend.files.write('a', new Uint8Array(900))
      await expect(backend.files.write('b', new Uint8Array(200))).rejects.toMatchObject({ code: 'quota' })
      await backend.files.write('a', new Uint8Array(100))
      expect(await backend.files.write('b', new Uint8Array(200))).toEqual({ created: true })
      expect(await backend.exec('yes aaaaaaa > c', { timeoutMs: 5000 })).toMatchObject({
        stderr: expect.stringContaining('no space left'),
      })
      expect(backend.usedBytes()).toBe(300)
    }))

  it('can be appended to', () =>
    inWorkspace({}, async ({ sql }) => {
      const fs = files({ sql })
      await fs.append('/workspace/log', bytes('a'))
      await fs.append('/workspace/log', bytes('b'))
      expect(text(await fs.read('/workspace/log'))).toBe('ab')
      expect(fs.stat('/workspace/log')?.size).toBe(2)
    }))
})

describe('links', () => {
  it('are resolved anywhere in a path and fail with ELOOP in a loop', () =>
    inWorkspace({}, async ({ sql }) => {
      const fs = files({ sql })
      await fs.write('/workspace/real/file', bytes('x'))
      fs.symlink('real', '/workspace/dir')
      fs.symlink('../workspace/dir/file', '/workspace/chain')
      expect(text(await fs.read('/workspace/chain'))).toBe('x')
      expect(fs.realpath('/workspace/dir/file')).toBe('/workspace/real/file')
      expect(fs.lstat('/workspace/dir')?.kind).toBe('link')
      fs.symlink('b', '/workspace/a')
      fs.symlink('a', '/workspace/b')
      expect(() => fs.stat('/workspace/a')).toThrow('ELOOP')
      await fs.remove('/workspace/dir', { recursive: true, force: false })
      expect(text(await fs.read('/workspace/real/file'))).toBe('x')
    }))
})

describe('a tree', () => {
  it('does not affect siblings with the same prefix', () =>
    inWorkspace({}, async ({ sql }) => {
      const fs = files({ sql })
      for (const name of ['a/x', 'a.b/x', 'a-b/x', 'a b/x', 'a0/x', 'aa/x'])
        await fs.write(`/workspace/${name}`, bytes(name))
      await fs.move('/workspace/a', '/workspace/z')
      expect(fs.walk('/workspace/z').map(({ path }) => path)).toEqual(['/workspace/z/x'])
      await fs.remove('/workspace/z', { recursive: true, force: false })
      expect(fs.list('/workspace').map(({ path }) => path.slice(11))).toEqual(['a b', 'a-b', 'a.b', 'a0', 'aa'])
    }))

  it.each([
    ['a directory into itself', '/workspace/d', '/workspace/d/e', 'EINVAL'],
    ['a file over a directory', '/workspace/f', '/workspace/d', 'EISDIR'],
    ['a directory over a file', '/workspace/d', '/workspace/f', 'ENOTDIR'],
    ['what is not there', '/workspace/no', '/workspace/x', 'ENOENT'],
    ['anything to a place without a parent', '/workspace/f', '/workspace/no/f', 'ENOENT'],
    ['anything among the devices', '/workspace/f', '/dev/f', 'EROFS'],
  ])('does not move %s', (_, from, to, code) =>
    inWorkspace({}, async ({ sql }) => {
      const fs = files({ sql })
      await fs.write('/workspace/d/x', bytes('x'))
      await fs.write('/workspace/f', bytes('f'))
      await expect(fs.move(from, to)).rejects.toMatchObject({ code })
    }),
  )

  it('is restored completely from its snapshot', () =>
    inWorkspace({}, async ({ backend }) => {
      await backend.exec('mkdir -p d/empty; echo x > d/f; chmod 755 d/f; ln -s f d/l', { timeoutMs: 5000 })
      await backend.files.write('large', new Uint8Array(600_000).fill(1))
      const modified = (await backend.files.stat('d/f'))?.modified
      const entries: SnapshotEntry[] = []
      for await (const entry of backend.snapshot()) entries.push(entry)
      await backend.files.remove('/workspace')
      expect(backend.usedBytes()).toBe(0)
      await backend.restore(entries)
      const result = await backend.exec('find . | sort; stat -c %a d/f; cat d/l', { timeoutMs: 5000 })
      expect(result.stdout).toBe('.\n./d\n./d/empty\n./d/f\n./d/l\n./large\n755\nx\n')
      expect(await backend.files.stat('d/f')).toMatchObject({ modified })
      expect(await backend.files.read('large')).toEqual(new Uint8Array(600_000).fill(1))
    }))
})
