/** Tests which exact values the redactor of a tenant masks. */

import { expect, it } from 'vitest'
import { redactorFor, rememberSecrets } from '#durable/platform/redaction.ts'

const env = {
  OPENAI_API_KEY: 'first-provider-key, second-provider-key',
  MODEL: 'openai/visible-model',
  SANDBOX_INJECT: '{"api.example.com": "Bearer injected-value"}',
} as unknown as Env

it('masks the secrets of the deployment, one by one', () => {
  const { redact } = redactorFor(env)
  expect(redact('first-provider-key second-provider-key injected-value openai/visible-model')).toBe(
    '*** *** *** openai/visible-model',
  )
})

it('masks the secrets of a tenant only for this tenant', () => {
  rememberSecrets('redaction-a', 'credentials', ['value-of-tenant-a'])
  expect(redactorFor(env, 'redaction-a').redact('value-of-tenant-a first-provider-key')).toBe('*** ***')
  expect(redactorFor(env, 'redaction-b').redact('value-of-tenant-a')).toBe('value-of-tenant-a')
})

it('replaces what a source has remembered before', () => {
  rememberSecrets('redaction-c', 'secrets', ['the-older-value'])
  expect(redactorFor(env, 'redaction-c').redact('the-older-value')).toBe('***')
  rememberSecrets('redaction-c', 'secrets', ['the-newer-value'])
  expect(redactorFor(env, 'redaction-c').redact('the-older-value the-newer-value')).toBe('the-older-value ***')
})

it('is made anew only for other secrets', () => {
  rememberSecrets('redaction-e', 'secrets', ['the-first-value', 'the-second-value'])
  const made = redactorFor(env, 'redaction-e')
  rememberSecrets('redaction-e', 'secrets', ['the-first-value', 'the-second-value'])
  expect(redactorFor(env, 'redaction-e')).toBe(made)
  rememberSecrets('redaction-e', 'secrets', ['the-first-value'])
  expect(redactorFor(env, 'redaction-e').redact('the-first-value the-second-value')).toBe('*** the-second-value')
  rememberSecrets('redaction-e', 'secrets', ['another-value-1'])
  expect(redactorFor(env, 'redaction-e').redact('the-first-value another-value-1')).toBe('the-first-value ***')
})

it('belongs to one deployment', () => {
  rememberSecrets('redaction-d', 'secrets', ['value-of-tenant-d'])
  expect(redactorFor(env, 'redaction-d').redact('first-provider-key')).toBe('***')
  expect(redactorFor({} as Env, 'redaction-d').redact('first-provider-key value-of-tenant-d')).toBe(
    'first-provider-key ***',
  )
})
