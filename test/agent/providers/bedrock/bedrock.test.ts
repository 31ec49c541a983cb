import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { userText } from '#agent/core/message.ts'
import { bedrockConverse, parseRegion } from '#agent/providers/bedrock/bedrock.ts'
import { bedrockRecordings } from '../fixtures/bedrock.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { tools } from '../support/requests.ts'

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: claude,
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  maxTokens: 10_000,
  ...more,
})
describe('a request', () => {
  const send = (key: string, more: Partial<ModelRequest> = {}) =>
    exchangeOverHttp(
      bedrockConverse((outgoing) => fetch(outgoing)),
      { key, contentType: 'application/vnd.amazon.eventstream', toBaseUrl: (origin) => `${origin}/` },
    )(request(more), bedrockRecordings.text)

  it('is signed for the region and the day with AWS access keys', async () => {
    const { headers, path, reply } = await send('AKIAEXAMPLE:se/cr+et:token==')
    expect(reply?.message.stop).toBe('end')
    expect(path).toBe('/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream')
    const day = headers['x-amz-date']?.slice(0, 8)
    expect(headers['authorization']).toMatch(
      new RegExp(
        `^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/${day}/us-east-1/bedrock/aws4_request, SignedHeaders=[^,]*host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$`,
      ),
    )
    expect(headers['x-amz-security-token']).toBe('token==')
    expect(headers['accept']).toBe('application/vnd.amazon.eventstream')
  })

  it('carries a Bedrock API key as a bearer token', async () => {
    const { headers } = await send('bedrock-api-key-YWJj==')
    expect(headers['authorization']).toBe('Bearer bedrock-api-key-YWJj==')
    expect(headers).not.toHaveProperty('x-amz-date')
  })

  it('is signed for the region of the endpoint where the address names none', async () => {
    const exchange = exchangeOverHttp(
      bedrockConverse((outgoing) => fetch(outgoing)),
      { key: 'AKIAEXAMPLE:secret', contentType: 'application/vnd.amazon.eventstream', region: 'eu-central-1' },
    )
    const { headers } = await exchange(request(), bedrockRecordings.text)
    expect(headers['authorization']).toContain('/eu-central-1/bedrock/aws4_request')
  })

  it('is not sent to the target of a redirect', async () => {
    const redirect = { status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: '' }
    const { error } = await exchangeOverHttp(bedrockConverse((outgoing) => fetch(outgoing)))(request(), redirect)
    expect(error).toMatchObject({ name: 'BedrockError', status: 302 })
  })

  it('has the encoded model ARN in the path', async () => {
    const model = 'arn:aws:bedrock:us-east-1:1:inference-profile/us.x'
    const { path } = await send('key', { model })
    expect(path).toBe(`/model/${encodeURIComponent(model)}/converse-stream`)
  })

  it.each([
    ['https://bedrock-runtime.eu-west-3.amazonaws.com', 'eu-west-3'],
    ['https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    ['https://vpce-1-2.bedrock-runtime.ap-south-1.vpce.amazonaws.com/', 'ap-south-1'],
    ['http://127.0.0.1:9', undefined],
  ])('is signed for the region of %s', (baseUrl, region) => {
    expect(parseRegion(baseUrl)).toBe(region)
  })
})
