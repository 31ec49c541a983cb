/** Tests that the bundled client of the OpenAI SDK behaves like the original, without its resources. */

import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clientOnly, stripResources, silent } from '../../scripts/lib/openai.mjs'

let server: Server
let bare: typeof OpenAI
let size = 0

beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume()
    const { authorization, 'x-team': team } = request.headers
    const status = Number(request.url?.split('/').at(-1))
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7', location: '/v1/200' })
    response.end(JSON.stringify({ error: { message: 'So be it.', code: 'a_code', authorization, team } }))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(import.meta.resolve('openai'))],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    platform: 'node',
    plugins: [clientOnly],
  })
  const code = outputFiles[0]!.text
  size = code.length
  bare = (
    (await import(`data:text/javascript;base64,${btoa(unescape(encodeURIComponent(code)))}`)) as {
      default: typeof OpenAI
    }
  ).default
})
afterAll(() => void server.close())

/** Everything that a caller of the client observes. */
async function told(Client: typeof OpenAI, path: string, signal?: AbortSignal): Promise<unknown> {
  const port = (server.address() as { port: number }).port
  const client = new Client({
    baseURL: `http://127.0.0.1:${path === '/closed' ? 1 : port}/v1`,
    apiKey: 'key-1',
    defaultHeaders: { 'X-Team': 'a' },
    maxRetries: 0,
    fetchOptions: { redirect: 'manual' },
  })
  try {
    const body = new TextEncoder().encode('{}')
    const options = { body, stream: true, ...(signal && { signal }) }
    const response = await client.post(path, options).asResponse()
    return [response.status, await response.text()]
  } catch (error) {
    const { status, message, error: said, headers, code } = error as InstanceType<typeof OpenAI.APIError>
    return { status, message, said, code, wait: headers?.get('retry-after') }
  }
}

describe('the client alone', () => {
  it.each(['/200', '/302', '/400', '/401', '/404', '/409', '/422', '/429', '/500', '/529', '/closed'])(
    'says of %s what the whole says',
    async (path) => {
      const whole = await told(OpenAI, path)
      expect(whole).toBeTruthy()
      expect(await told(bare, path)).toEqual(whole)
    },
  )

  it('is cancelled like the whole', async () => {
    const signal = AbortSignal.abort()
    expect(await told(bare, '/200', signal)).toEqual(await told(OpenAI, '/200', signal))
  })

  it('does not describe requests, even if logging is on', async () => {
    const lines: unknown[] = []
    const log = (...line: unknown[]) => void lines.push(...line)
    const logger = { error: log, warn: log, info: log, debug: log }
    const port = (server.address() as { port: number }).port
    const options = { baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'key-1', logLevel: 'debug', logger } as const
    await new bare(options).post('/200', { body: {} }).asResponse()
    expect(lines.length).toBeGreaterThan(1)
    expect(lines.filter((line) => typeof line === 'object')).toEqual([])
    expect(JSON.stringify(lines)).not.toContain('key-1')
  })

  it('is not made of an SDK that describes them in another way', () => {
    expect(() => silent('export function formatRequestDetails(details) {}')).toThrow(/OpenAI SDK/)
  })

  it('leaves out most of the package', () => {
    expect(size).toBeLessThan(200_000)
  })
})

describe('a file of resources', () => {
  it('keeps its names and re-exports', () => {
    const source = [
      "import { APIResource } from '../core/resource.mjs';",
      'export class Files extends APIResource { list() {} }',
      'export const limit = 3;',
      "export { Chat } from './chat/chat.mjs';",
      "export * from './shared.mjs';",
      "export { Stream } from '../lib/Stream.mjs';",
    ]
    expect(stripResources(source.join('\n')).split('\n')).toEqual([
      'export {}',
      'export class Files {}',
      'export class limit {}',
      "export { Chat } from './chat/chat.mjs';",
      "export * from './shared.mjs';",
    ])
  })
})
