import { describe, expect, it } from 'vitest'
import { maskSecretsInValue, maskSecrets } from '#agent/core/secrets/mask-secrets.ts'

const key = 'Q7f9Zk2LmN8pR4sT6vW1xY3z'

describe('masking', () => {
  it.each([
    [`sk-proj-${key}`, key],
    [`export OPENAI_API_KEY=${key}`, key],
    [`curl -H "Authorization: Bearer ${key}" https://x`, key],
    [`ghp_${key}`, key],
    [`git clone https://user:${key}@github.com/a/b`, key],
    [`mysql --password=${key} -e 'select 1'`, key],
    [`mysql --password ${key}`, key],
    [`{"client_secret": "${key}"}`, key],
    ['AKIAIOSFODNN7EXAMPLE', 'IOSFODNN'],
    [`xoxb-12345-${key}`, key],
    [`-----BEGIN RSA PRIVATE KEY-----\n${key}\n-----END RSA PRIVATE KEY-----`, key],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
  ])('masks the secret in %j', (text, secret) => {
    expect(maskSecrets(text)).not.toContain(secret)
    expect(maskSecrets(text)).toContain('***')
  })

  it.each([
    'git commit -m "add token counting"',
    'const tokens = count(text)',
    'max_tokens: 4096',
    'the secret of success',
    'PASSWORD=$PASSWORD ./run.sh',
    'ls -la ~/projects',
    'echo "$API_KEY"',
    'https://example.com/a:b/c',
    'npm run test -- --token-limit 5',
  ])('does not change %j', (text) => {
    expect(maskSecrets(text)).toBe(text)
  })

  it('masks keys with prefixes of several parts', () => {
    expect(maskSecrets(`sk-ant-api03-${'a1'.repeat(20)}`)).toBe('***')
  })

  it('masks all texts of a value, and values with secret names', () => {
    expect(maskSecretsInValue({ a: [`sk-${key}`, 5, null, true], password: 'short', b: { 'x-api-key': key } })).toEqual(
      {
        a: ['***', 5, null, true],
        password: '***',
        b: { 'x-api-key': '***' },
      },
    )
  })

  it('takes linear time on adversarial input', () => {
    const text = `${'a'.repeat(50_000)}token${' '.repeat(50_000)}`
    expect(maskSecrets(text + '-----BEGIN PRIVATE KEY-----'.repeat(500))).toBe(`${text}***`)
    const words = 'sk-a-'.repeat(40_000)
    expect(maskSecrets(words)).toBe(words)
    const tokens = 'eyJ-'.repeat(500_000)
    expect(maskSecrets(tokens)).toBe(tokens)
  })
})
