/** Tests on a real host that files which somebody else has changed are not replaced, and that the next turn is told. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DocumentWriter } from '#agent/core/media/document-writer.ts'
import { httpBackend } from '#backends/http/http.ts'
import type { KnownFilesRecord } from '#durable/storage/session-metadata.ts'
import { openKnownFiles } from '#durable/workspace/known-files.ts'
import makeDocument from '#tools/file/documents/make-document.tool.ts'
import patch from '#tools/file/patch.tool.ts'
import readFile from '#tools/file/read-file.tool.ts'
import writeFile from '#tools/file/write-file.tool.ts'
import { hasBubblewrap } from '../../sandbox/bubblewrap.mjs'
import { newWorkspace, onDisk, type SandboxServer, startSandbox, token } from '../../sandbox/server.mjs'
import { call } from '../../tools/support/call.ts'

const writer: DocumentWriter = {
  write: async (_kind, content) => ({ bytes: new TextEncoder().encode(content) }),
  link: async () => '',
}
/** More than the clocks of the host and of the agent may differ, after which a change is not the agent's own. */
const untilLater = () => new Promise((resolve) => setTimeout(resolve, 2_200))

describe.skipIf(!hasBubblewrap)('a file of a host (needs bubblewrap)', () => {
  let server: SandboxServer
  beforeAll(async () => {
    server = await startSandbox()
  })
  afterAll(() => server.stop())

  function open() {
    const workspace = newWorkspace()
    const backend = httpBackend({ url: server.url, token, workspace })
    let meta: { readonly knownFiles?: KnownFilesRecord | undefined } = {}
    const known = openKnownFiles({
      meta: () => meta,
      updateMeta: (change) => (meta = change),
      now: () => Date.now(),
      workspace: { kind: () => 'http', stat: backend.files.stat, read: backend.files.read },
    })
    const services = { backend: { ...backend, known }, documentWriter: writer }
    const exec = async (command: string) => {
      const end = known.beginCommand()
      await backend.exec(command, { cwd: backend.resolve('.'), timeoutMs: 10_000, signal: AbortSignal.timeout(10_000) })
      end()
    }
    return { known, services, exec, disk: onDisk(server, workspace) }
  }

  it('is replaced only after the agent has read what somebody else wrote', async () => {
    const { known, services, disk } = open()
    await call(writeFile, { path: 'plan.md', content: 'mine\n' }, services)
    await known.check()
    expect(known.takeNews()).toBeUndefined()
    await untilLater()
    disk.write('plan.md', 'theirs\n')
    await known.check()
    expect(known.takeNews()).toMatch(/plan\.md" \(changed\)/)
    expect(known.takeNews()).toBeUndefined()
    const refused = await call(writeFile, { path: 'plan.md', content: 'mine again\n' }, services)
    expect(refused.result).toMatchObject({ changed_since_read: true })
    expect(disk.text('plan.md')).toBe('theirs\n')
    const read = await call(readFile, { path: 'plan.md' }, services)
    expect(read.result['content']).toContain('theirs')
    const written = await call(writeFile, { path: 'plan.md', content: 'theirs and mine\n' }, services)
    expect(written.failed).toBe(false)
    expect(disk.text('plan.md')).toBe('theirs and mine\n')
  })

  it('is not replaced by a document, and patched with a note', async () => {
    const { services, disk } = open()
    const make = { kind: 'svg', path: 'a.svg', content: '<svg>mine</svg>' }
    expect((await call(makeDocument, make, services)).result).toMatchObject({ success: true })
    await call(writeFile, { path: 'list.txt', content: 'one\ntwo\n' }, services)
    await untilLater()
    disk.write('a.svg', '<svg>theirs</svg>')
    disk.write('list.txt', 'zero\none\ntwo\n')
    expect((await call(makeDocument, make, services)).result).toMatchObject({
      success: false,
      changed_since_read: true,
    })
    expect(disk.text('a.svg')).toBe('<svg>theirs</svg>')
    const patched = await call(
      patch,
      { mode: 'replace', path: 'list.txt', old_string: 'two', new_string: '2' },
      services,
    )
    expect(JSON.stringify(patched.result)).toContain('Somebody else has changed')
    expect(disk.text('list.txt')).toBe('zero\none\n2\n')
  })

  it('keeps the form of its name', async () => {
    const { known, services, disk } = open()
    const path = 'cafe\u0301.txt'
    await call(writeFile, { path, content: 'one\n' }, services)
    await known.check()
    expect(known.takeNews()).toBeUndefined()
    expect((await call(writeFile, { path, content: 'two\n' }, services)).failed).toBe(false)
    await untilLater()
    disk.write(path, 'theirs\n')
    await known.check()
    expect(known.takeNews()).toContain('(changed)')
  })

  it('that is missing has similar names', async () => {
    const { services, disk } = open()
    disk.write('main.ts', 'x')
    const { result } = await call(readFile, { path: 'mian.ts' }, services)
    expect(result).toMatchObject({ similar_files: [expect.stringContaining('main.ts')] })
  })

  it('may be changed by a command of the agent, which is no news', async () => {
    const { known, services, exec } = open()
    await call(writeFile, { path: 'a.txt', content: 'one\n' }, services)
    await exec('printf "two\\n" > a.txt')
    await known.check()
    expect(known.takeNews()).toBeUndefined()
    const written = await call(writeFile, { path: 'a.txt', content: 'three\n' }, services)
    expect(written).toMatchObject({ failed: false, result: { note: expect.stringContaining('a command') } })
  })
})
