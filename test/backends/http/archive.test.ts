import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { httpBackend } from '#backends/http/http.ts'
import type { SnapshotEntry } from '#backends/portable-backend.ts'
import { hasBubblewrap } from '../../sandbox/bubblewrap.mjs'
import { newWorkspace, type SandboxServer, startSandbox, token } from '../../sandbox/server.mjs'

const bytes = (text: string) => new TextEncoder().encode(text)
const at = { mode: 0o644, modified: 1_700_000_000_000 }
const longName = `d/${'n'.repeat(120)}/ü.txt`
const entries: readonly SnapshotEntry[] = [
  { ...at, path: 'd', kind: 'directory', mode: 0o755 },
  { ...at, path: 'd/empty', kind: 'file', bytes: bytes('') },
  { ...at, path: 'd/run.sh', kind: 'file', mode: 0o755, bytes: bytes('echo ran\n') },
  { ...at, path: 'd/block', kind: 'file', bytes: bytes('x'.repeat(512)) },
  { ...at, path: 'd/link', kind: 'link', target: 'run.sh' },
  { ...at, path: 'd/far', kind: 'link', target: `/workspace/${'t'.repeat(130)}` },
  { ...at, path: longName, kind: 'file', bytes: bytes('long') },
]

describe.skipIf(!hasBubblewrap)('all files of a workspace (needs bubblewrap)', () => {
  let server: SandboxServer
  beforeAll(async () => {
    server = await startSandbox()
  })
  afterAll(() => server.stop())
  const open = () => httpBackend({ url: server.url, token, workspace: newWorkspace() })

  it('can be copied to another workspace', async () => {
    const [from, to] = [open(), open()]
    const placed = entries.map((entry) => ({ ...entry, path: `/workspace/${entry.path}` }))
    await from.restore([...placed, { ...at, path: '/tmp/t', kind: 'file', bytes: bytes('t') }])
    await from.exec('touch -d 1960-01-01 old', { timeoutMs: 10_000 })
    await to.restore(from.snapshot((path) => !path.endsWith('/block')))
    const shown = await to.exec('d/run.sh; readlink d/link; cat d/n*/*; cat /tmp/t; ls d; stat -c %Y d/run.sh old', {
      timeoutMs: 10_000,
    })
    expect(shown.stdout.split('\n')).toEqual([
      'ran',
      'run.sh',
      `longtempty`,
      'far',
      'link',
      'n'.repeat(120),
      'run.sh',
      '1700000000',
      '0',
      '',
    ])
    expect((await to.tree()).map(({ path }) => path)).toContain(`/workspace/${longName}`)
  })

  it('are removed by clear; destroy also kills jobs', async () => {
    const backend = open()
    await backend.files.write('a/b', bytes('x'))
    await backend.clear()
    expect(await backend.tree()).toEqual([])
    await backend.jobs?.start('j', 'sleep 60', { timeoutMs: 60_000 })
    await backend.destroy()
    expect(await backend.jobs?.state('j')).toEqual({ at: 'lost', reason: 'replaced' })
  })
})
