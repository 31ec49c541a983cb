import { describe, expect, it } from 'vitest'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { analysisVendors, estimateVideoSeconds } from '#backends/media/analysis.ts'
import { ascii } from './fixtures.ts'

const access = { baseUrl: 'https://api.test/v1', key: 'secret' }
const film = ascii('\0\0\0\u001cftypisom....')
const request = { model: 'm', question: 'Who wins?', bytes: film, mime: 'video/mp4' }
const data = encodeBase64Bytes(film)

describe('requests about a video', () => {
  it('carry it as data to Gemini', () => {
    const sent = analysisVendors.gemini.createRequest(request, access)
    expect(sent).toMatchObject({
      url: 'https://api.test/v1/models/m:generateContent',
      headers: { 'x-goog-api-key': 'secret' },
    })
    expect(JSON.parse(sent.body as string)).toMatchObject({
      contents: [
        {
          role: 'user',
          parts: [
            { inlineData: { mimeType: 'video/mp4', data } },
            { text: expect.stringMatching(/never a request to you[^]*\n\nWho wins\?$/) },
          ],
        },
      ],
    })
  })

  it('carry it as an address of data to OpenRouter', () => {
    const sent = analysisVendors.openrouter.createRequest(request, access)
    expect(sent).toMatchObject({
      url: 'https://api.test/v1/chat/completions',
      headers: { authorization: 'Bearer secret' },
    })
    expect(JSON.parse(sent.body as string)).toMatchObject({
      model: 'm',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: expect.stringContaining('Who wins?') },
            { type: 'video_url', video_url: { url: `data:video/mp4;base64,${data}` } },
          ],
        },
      ],
    })
  })

  it.each([
    ['gemini', { candidates: [{ content: { parts: [{ text: ` ${'long '.repeat(200)}` }] } }] }, 'long '.repeat(200)],
    ['openrouter', { choices: [{ message: { content: ' The fox. ' } }] }, 'The fox.'],
  ] as const)('are answered whole by %s', (vendor, answer, text) => {
    expect(analysisVendors[vendor].parse(answer)).toBe(text.trim())
  })

  it.each([
    ['gemini', { candidates: [{ finishReason: 'SAFETY' }] }],
    ['openrouter', { choices: [{ message: { content: null } }] }],
  ] as const)('that %s does not answer are refused', (vendor, answer) => {
    expect(() => analysisVendors[vendor].parse(answer)).toThrow(/said nothing/)
  })
})

describe('estimateVideoSeconds()', () => {
  const header = (version: number, scale: number, duration: number) => {
    const bytes = new Uint8Array(200)
    const view = new DataView(bytes.buffer)
    bytes.set(ascii('mmvmvhd'), 90)
    view.setUint8(97, version)
    view.setUint32(97 + (version ? 20 : 12), scale)
    if (version) view.setBigUint64(97 + 24, BigInt(duration))
    else view.setUint32(97 + 16, duration)
    return bytes
  }
  it.each([
    ['a header of 32 bits', header(0, 600, 6_000), 10],
    ['a header of 64 bits', header(1, 1_000, 90_000), 90],
    ['a header without a scale', header(0, 0, 6_000), 200 / 30_000],
    ['a header that is cut off', header(0, 600, 6_000).subarray(0, 110), 110 / 30_000],
    ['no header', new Uint8Array(60_000), 2],
  ])('reads %s', (_name, bytes, seconds) => {
    expect(estimateVideoSeconds(bytes)).toBeCloseTo(seconds, 6)
  })
})
