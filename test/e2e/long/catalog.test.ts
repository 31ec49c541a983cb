/** Tests that the model catalog is fetched from OpenRouter and models.dev documents and stored. `npm run chaos` runs it. */

import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient } from '../support/client.ts'
import { deleteState, newState, type Server, startServer } from '../support/server.ts'

const documents: Readonly<Record<string, object>> = {
  '/api/v1/models': {
    data: [
      {
        id: 'anthropic/claude-opus-4.8',
        context_length: 900_000,
        architecture: { input_modalities: ['text', 'image'] },
        pricing: { prompt: '0.000005', completion: '0.000025', input_cache_read: '0.0000005' },
        top_provider: { context_length: 900_000, max_completion_tokens: 128_000 },
        supported_parameters: ['reasoning', 'tools', 'max_tokens'],
      },
    ],
  },
  '/api.json': {
    openrouter: {
      models: { 'some/model': { limit: { context: 131_072, output: 8_192 }, tool_call: true, knowledge: '2025-08' } },
    },
  },
}

const asked: string[] = []
let catalog: HttpServer
let server: Server
const state = newState()

function start(): Promise<Server> {
  const { port } = catalog.address() as { port: number }
  return startServer({
    state,
    env: {
      OPENROUTER_API_KEY: 'sk-router',
      OPENROUTER_BASE_URL: `http://127.0.0.1:${port}/api/v1`,
      MODEL_CATALOG_URL: `http://127.0.0.1:${port}/api.json`,
    },
  })
}

beforeAll(async () => {
  catalog = createServer((request, response) => {
    asked.push(request.url ?? '')
    const document = documents[request.url ?? '']
    response.writeHead(document ? 200 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify(document ?? {}))
  }).listen(0, '127.0.0.1')
  await once(catalog, 'listening')
  server = await start()
})

afterAll(async () => {
  await server.stop()
  catalog.close()
  deleteState(state)
})

type Known = { readonly id: string; readonly source: string }

/** Nobody waits for the catalog: it is there some time after it was first asked for. */
async function known(count: number): Promise<readonly Known[]> {
  for (;;) {
    const { json } = await createClient(server.url, server.key).get('/api/settings/models?provider=openrouter')
    if (json.data.length >= count) return json.data
    await delay(100)
  }
}

it('is fetched in the background, once, and is still there after a restart', async () => {
  const models = await known(3)
  expect(models.map(({ id, source }) => [id, source])).toEqual([
    ['openrouter/openrouter/auto', 'probe'],
    ['openrouter/anthropic/claude-opus-4.8', 'provider'],
    ['openrouter/some/model', 'models.dev'],
  ])
  expect(models[1]).toMatchObject({
    context_window: 900_000,
    max_output: 128_000,
    prices: { input: 5, output: 25, cached_read: 0.5, cached_write: 5 },
    abilities: { images: true, reasoning: true, tools: true, caching: true },
    prompt_cache: '5m',
  })
  expect(models[2]).toMatchObject({ context_window: 131_072, knowledge: '2025-08', prices: null })
  expect(asked.toSorted()).toEqual(['/api.json', '/api/v1/models'])
  await server.stop()
  server = await start()
  expect(await known(3)).toEqual(models)
  expect(asked).toHaveLength(2)
})
