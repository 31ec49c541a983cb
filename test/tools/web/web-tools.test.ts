/** Tests the envelopes of the web tools, and that secrets in the inputs of tools that call addresses ask first. */

import { describe, expect, it } from 'vitest'
import type { WebPort } from '#agent/core/vendor/web.ts'
import type { Tool } from '#agent/core/tool.ts'
import browserNavigate from '#tools/browser/browser-navigate.tool.ts'
import imageGenerate from '#tools/media/image-generate.tool.ts'
import videoGenerate from '#tools/media/video-generate.tool.ts'
import visionAnalyze from '#tools/media/vision-analyze.tool.ts'
import webExtract from '#tools/web/web-extract.tool.ts'
import webSearch from '#tools/web/web-search.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

const web = (more: Partial<WebPort> = {}): WebPort => ({
  search: async () => ({ kind: 'failed', error: 'no search' }),
  extract: async (url) => ({ url, title: '', content: '' }),
  ...more,
})

describe('web_search', () => {
  const hits = [{ title: 'T', url: 'https://x.example/', description: 'D', position: 1 }]

  it('returns hits and who served them', async () => {
    const limits: number[] = []
    const search: WebPort['search'] = async (_query, limit) => {
      limits.push(limit)
      return { kind: 'found', hits, servedBy: 'brave' }
    }
    const { result } = await call(webSearch, { query: 'q' }, { web: web({ search }) })
    expect(result).toEqual({ success: true, data: { web: hits }, served_by: 'brave' })
    await call(webSearch, { query: 'q', limit: 100 }, { web: web({ search }) })
    expect(limits).toEqual([5, 100])
  })

  it('returns a failure as an error', async () => {
    expect(await call(webSearch, { query: 'q' }, { web: web() })).toMatchObject({
      failed: true,
      result: { error: 'no search' },
    })
    expect((await call(webSearch, { query: 'q', limit: 101 }, { web: web() })).failed).toBe(true)
  })
})

describe('web_extract', () => {
  const backend = memoryBackend()

  it('is not repeated after a crash, which its page may have caused', () => {
    expect(webExtract.effect).toBe('once')
  })

  it('reads five addresses at once, and one that fails does not fail the others', async () => {
    const urls = ['a', 'b', 'c', 'd', 'e'].map((name) => `https://${name}.example/`)
    let running = 0
    let most = 0
    const extract: WebPort['extract'] = async (url) => {
      most = Math.max(most, ++running)
      await Promise.resolve()
      running--
      return url.includes('c.')
        ? { url, title: '', content: '', error: 'refused', isBlocked: true }
        : { url, title: 't', content: 'text' }
    }
    const { result, failed } = await call(webExtract, { urls }, { web: web({ extract }), backend })
    expect(failed).toBe(false)
    expect(most).toBe(5)
    expect(result['results']).toHaveLength(5)
    expect(result['results'][2]).toEqual({
      url: urls[2],
      title: '',
      content: '',
      error: 'refused',
      blocked_by_policy: true,
    })
    expect(result['results'][3]).toEqual({ url: urls[3], title: 't', content: 'text' })
    expect((await call(webExtract, { urls: [...urls, 'https://f.example/'] }, { web: web(), backend })).failed).toBe(
      true,
    )
  })

  it('gives each page a share of what the context window has room for', async () => {
    const limits: number[] = []
    const extract: WebPort['extract'] = async (url, maxChars) => {
      limits.push(maxChars)
      return { url, title: '', content: '' }
    }
    const services = { web: web({ extract }), backend }
    await call(webExtract, { urls: ['https://a.example/'] }, services)
    await call(webExtract, { urls: ['https://a.example/'], char_limit: 500_000 }, services, { maxResultChars: 100_000 })
    await call(webExtract, { urls: ['https://a.example/', 'https://b.example/'] }, services, { maxResultChars: 10_000 })
    expect(limits).toEqual([15_000, 80_000, 4_000, 4_000])
  })
})

describe('a secret', () => {
  const services = { backend: memoryBackend() }
  const verdictOf = async (input: object, tool: Tool = webExtract) => (await tool.assess?.(input, services))?.verdict
  const secrets = [
    'https://x.example/?api_key=abcdefgh1234',
    'https://x.example/?X-Amz-Signature=abcdefgh1234',
    'https://x.example/#a?token=1&b=ghp_0123456789abcdefghijABCDEFGHIJ012345',
    'https://user:password@x.example/',
  ]
  const plain = 'https://x.example/search?q=token&page=2'

  it.each<[Tool, (url: string) => object]>([
    [webExtract, (url) => ({ urls: ['https://ok.example/', url] })],
    [browserNavigate, (url) => ({ url })],
    [visionAnalyze, (url) => ({ image_url: url, question: 'q' })],
    [imageGenerate, (url) => ({ prompt: 'p', image_url: url })],
    [imageGenerate, (url) => ({ prompt: 'p', image_url: 'a.png', reference_image_urls: [url] })],
    [videoGenerate, (url) => ({ prompt: 'p', image_url: url })],
  ])('in an address of $name asks, and other addresses do not', async (tool, inputOf) => {
    for (const url of secrets) expect([url, await verdictOf(inputOf(url), tool)]).toEqual([url, 'ask'])
    expect(await verdictOf(inputOf(plain), tool)).toBe('allow')
  })

  it('in a query asks, and other queries do not', async () => {
    expect(await verdictOf({ query: 'sk-proj-0123456789abcdefghijABCDEFGHIJ0123456789' }, webSearch)).toBe('ask')
    expect(await verdictOf({ query: 'how to rotate an api key' }, webSearch)).toBe('allow')
  })

  it('in a file that a paid call sends asks too', async () => {
    expect(await verdictOf({ prompt: 'p', image_url: '.env' }, imageGenerate)).toBe('ask')
    expect(await verdictOf({ prompt: 'p', image_url: 'MEDIA:.env' }, imageGenerate)).toBe('ask')
    expect(await verdictOf({ image_url: 'MEDIA:.env', question: 'q' }, visionAnalyze)).toBe('ask')
    expect(await verdictOf({ prompt: 'p', image_url: 'a.png' }, imageGenerate)).toBe('allow')
  })
})
