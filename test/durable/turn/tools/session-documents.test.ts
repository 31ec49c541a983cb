/** Tests `make_document` in a turn: written, attached, and read back with the same text. */

import { beforeAll, expect, it } from 'vitest'
import { calls, model, says } from '#test/support/scripted-model.ts'
import { applyMigrations, call, newSession, request } from '#test/worker/client.ts'
import type { Run } from '#test/worker/listen.ts'

beforeAll(applyMigrations)

const report = '# Report\n\n- first point\n- second point'
const rows = '[["Name","Sum"],["=1+1",7]]'

it.each([
  ['docx', report, ['Report', 'first point', 'second point']],
  ['pdf', report, ['Report', 'first point', 'second point']],
  ['xlsx', rows, ['Name', '=1+1', '7']],
])('a %s is attached and read back', async (kind, content, parts) => {
  const make = calls({ id: 'm', name: 'make_document', input: { kind, path: `out/report`, content } })
  const read = calls({ id: 'r', name: 'read_file', input: { path: `out/report.${kind}` } })
  const scripted = model([make, read, says('Done.')])
  const { id } = await newSession({ model: scripted.id })
  const { body: run } = await call<Run>('POST', `/api/sessions/${id}/chat`, { body: { input: 'go' } })
  expect(run['attachments']).toMatchObject([{ path: `out/report.${kind}` }])
  const result = JSON.stringify(scripted.requests[2]?.messages.at(-1)?.content)
  for (const part of parts) expect(result).toContain(part)
  const [{ url = '' } = {}] = run['attachments'] as readonly { readonly url?: string }[]
  const linked = await request('GET', url, { key: null })
  await linked.body?.cancel()
  expect(linked.headers.get('content-disposition')).toMatch(/^attachment/)
})

it('content that cannot be written is a failure with a reason', async () => {
  const scripted = model([
    calls({ name: 'make_document', input: { kind: 'pdf', path: 'a.pdf', content: '漢字' } }),
    says('No.'),
  ])
  const { id } = await newSession({ model: scripted.id })
  await call('POST', `/api/sessions/${id}/chat`, { body: { input: 'go' } })
  expect(JSON.stringify(scripted.requests[1]?.messages.at(-1)?.content)).toContain('No font here has')
})
