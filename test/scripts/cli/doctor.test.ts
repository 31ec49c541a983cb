/** Tests which model `talaria doctor` reports, against a server that answers with lists of models. */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { run } from '../../../cli/commands/doctor.mjs'

type Model = { readonly id: string; readonly provider: string }
const me = { tenant: 'acme', key: { name: 'mine', scopes: ['read', 'chat', 'write', 'approve', 'jobs'] } }
const demo = { id: 'demo/agent', provider: 'demo' }
const own = { id: 'openai/gpt-5.2', provider: 'openai' }

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

async function findModelCheck(models: readonly Model[]): Promise<unknown> {
  const answers: Readonly<Record<string, unknown>> = {
    '/api/me': me,
    '/health/detailed': { status: 'ok' },
    '/api/settings/models?limit=200': { data: models, next_cursor: null },
  }
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers[url] ?? { data: [], next_cursor: null }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('TALARIA_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  vi.stubEnv('TALARIA_API_KEY', 'key')
  let printed = ''
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text)
    return true
  })
  try {
    await run({ options: { json: true } })
  } finally {
    server.close()
  }
  return (JSON.parse(printed) as { readonly name: string }[]).find(({ name }) => name === 'model')
}

describe('the model that doctor reports', () => {
  it.each([
    ['a key of the tenant', [own, demo], 'ok', 'openai/gpt-5.2; providers: openai'],
    ['no key', [demo], 'warning', 'No provider has a key'],
    ['the stand-in as the default in spite of a key', [demo, own], 'warning', 'Set model.default to a model of openai'],
    ['no model at all', [], 'warning', 'none. No provider has a key'],
  ])('with %s', async (_case, models, state, detail) =>
    expect(await findModelCheck(models)).toMatchObject({ state, detail: expect.stringContaining(detail) as string }),
  )
})
