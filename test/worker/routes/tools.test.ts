/** Tests the lists of tools, toolsets and capabilities. */

import { createExecutionContext } from 'cloudflare:test'
import { beforeAll, expect, it } from 'vitest'
import { createApp } from '#worker/app.ts'
import { adminKey, applyMigrations, bindings, call, newTenant } from '../client.ts'

beforeAll(applyMigrations)

type ToolView = {
  readonly name: string
  readonly available: boolean
  readonly by: string | null
  reason: string | null
}
type Tools = { readonly data: readonly ToolView[] }

const listTools = async (key?: string) =>
  (await call<Tools>('GET', '/api/tools', key === undefined ? {} : { key })).body.data

async function listToolsWith(env: Partial<Env>): Promise<readonly ToolView[]> {
  const request = new Request('https://talaria.test/api/tools', { headers: { authorization: `Bearer ${adminKey}` } })
  const answer = await createApp().fetch(request, { ...bindings, ...env } as Env, createExecutionContext())
  return (await answer.json<Tools>()).data
}

const find = (tools: readonly ToolView[], name: string) => tools.find((tool) => tool.name === name)

it('tools are available, sorted, and name what runs them', async () => {
  const tools = await listTools()
  expect(tools.map(({ name }) => name)).toEqual(tools.map(({ name }) => name).toSorted())
  expect(find(tools, 'terminal')).toMatchObject({ available: true, by: 'virtual', reason: null, toolset: 'terminal' })
  expect(find(tools, 'todo')).toMatchObject({ available: true, by: 'talaria' })
})

it('a tool without its binding or backend says what is missing', async () => {
  const withoutLoader = await listToolsWith({ LOADER: undefined } as unknown as Partial<Env>)
  expect(find(withoutLoader, 'make_document')).toMatchObject({
    available: false,
    reason: expect.stringContaining('LOADER'),
  })
  expect(find(withoutLoader, 'execute_code')).toMatchObject({
    available: false,
    by: null,
    reason: expect.stringContaining('LOADER'),
  })
  const remote = await listToolsWith({ SANDBOX_BACKEND: 'http', SANDBOX_HTTP_URL: '' } as Partial<Env>)
  expect(find(remote, 'terminal')?.reason).toContain('SANDBOX_HTTP_URL')
  expect(find(await listToolsWith({ SANDBOX_BACKEND: 'nonsense' } as Partial<Env>), 'terminal')?.available).toBe(false)
})

it('/health/detailed names the tools of media and the browser that lack a key or a binding, and who answers the others', async () => {
  const states = async (env: Partial<Record<keyof Env, unknown>>) => {
    const headers = { authorization: `Bearer ${adminKey}` }
    const request = new Request('https://talaria.test/health/detailed', { headers })
    const answer = await createApp().fetch(request, { ...bindings, ...env } as Env, createExecutionContext())
    return (await answer.json<{ readonly tools: Readonly<Record<string, string>> }>()).tools
  }
  const noKeys = { OPENAI_API_KEY: undefined, OPENROUTER_API_KEY: undefined }
  const none = { ...noKeys, AI: undefined, BROWSER: undefined, BROWSER_CDP_URL: undefined }
  expect(await states(none)).toMatchObject({
    image_generate: expect.stringMatching(/^unavailable: .*OPENAI_API_KEY.*GEMINI_API_KEY.*FAL_API_KEY.*AI/),
    text_to_speech: expect.stringMatching(/^unavailable: .*OPENAI_API_KEY.*ELEVENLABS_API_KEY.*GEMINI_API_KEY.*AI/),
    video_generate: expect.stringMatching(/^unavailable: .*OPENAI_API_KEY.*FAL_API_KEY/),
    browser_navigate: expect.stringMatching(/^unavailable: .*BROWSER_CDP_URL/),
    browser_vision: expect.stringMatching(/^unavailable: .*BROWSER_CDP_URL/),
    vision_analyze: expect.stringMatching(/^unavailable: .*demo\/agent.*sees no images/),
  })
  expect(await states({ ...none, BROWSER: {} })).toMatchObject({
    browser_navigate: 'browser',
    browser_vision: expect.stringContaining('sees no images'),
  })
  expect(await states({ ...none, AI: {}, BROWSER: {} })).toMatchObject({
    image_generate: 'workers-ai',
    text_to_speech: 'workers-ai',
    video_generate: expect.stringContaining('unavailable'),
    browser_navigate: 'browser',
    browser_vision: 'browser',
    vision_analyze: 'model',
  })
})

it('a toolset that the settings leave out is not enabled, and its tools are not available', async () => {
  const { key } = await newTenant()
  await call('PATCH', '/api/settings', { key, body: { toolsets: { disabled: ['terminal'] } } })
  expect(find(await listTools(key), 'terminal')).toMatchObject({ available: false, by: 'virtual' })
  const { body } = await call<{ data: { name: string; tools: string[]; enabled: boolean }[] }>('GET', '/v1/toolsets', {
    key,
  })
  const named = Object.fromEntries(body.data.map((one) => [one.name, one]))
  expect(named['terminal']).toMatchObject({ tools: ['process', 'terminal'], enabled: false })
  expect(named['file']).toMatchObject({ enabled: true })
  expect(named['debugging']?.tools).toContain('read_file')
})

it('web_search names who answers it, or the key that is missing', async () => {
  const { key } = await newTenant()
  const search = async () => find(await listTools(key), 'web_search')
  expect(await search()).toMatchObject({ available: true, by: 'keyless', toolset: 'web' })
  await call('PATCH', '/api/settings', { key, body: { web: { search_backend: 'tavily' } } })
  expect(await search()).toMatchObject({
    available: false,
    by: null,
    reason: expect.stringContaining('TAVILY_API_KEY'),
  })
  expect(
    (await call('POST', '/api/credentials', { key, body: { provider: 'tavily', key: 'tavily-key' } })).status,
  ).toBe(201)
  expect(await search()).toMatchObject({ available: true, by: 'tavily' })
  const { body } = await call<{ tools: Record<string, string> }>('GET', '/health/detailed')
  expect(body.tools['web_search']).toMatch(/^keyless: .*TAVILY_API_KEY/)
})

it('capabilities name only endpoints that exist', async () => {
  const { body } = await call<{ endpoints: Record<string, { method: string; path: string }> }>(
    'GET',
    '/v1/capabilities',
  )
  const document = await call<{ paths: Record<string, object> }>('GET', '/openapi.json', { key: null })
  expect(body.endpoints['run_events']).toEqual({ method: 'GET', path: '/v1/runs/{id}/events' })
  expect(body.endpoints['runs']?.method).toBe('POST')
  for (const { method, path } of Object.values(body.endpoints))
    expect(document.body.paths[path]).toHaveProperty(method.toLowerCase())
})
