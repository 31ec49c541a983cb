/** Tests how local settings are read and missing keys generated. */

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { providers } from '#agent/providers/profiles/providers.ts'
import { resolveVendor } from '#agent/routing/tool-vendors.ts'
import { isSetting, readSettings } from '../../scripts/lib/settings.mjs'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'talaria-settings-'))
  file = join(folder, '.dev.vars')
})
afterEach(() => rmSync(folder, { recursive: true }))
const mode = () => statSync(file).mode & 0o777

describe('settings of a local deployment', () => {
  it('get keys once, in a file that only its owner reads', () => {
    const first = readSettings(file, {})
    expect(first.ADMIN_KEY.length).toBeGreaterThanOrEqual(16)
    expect(Buffer.from(first.ENCRYPTION_KEY, 'base64')).toHaveLength(32)
    expect(mode()).toBe(0o600)
    expect(readSettings(file, {})).toEqual(first)
  })

  it('keep what the file has, and add what is missing', () => {
    writeFileSync(file, 'MODEL=openai/x\nADMIN_KEY=0123456789abcdef', { mode: 0o644 })
    const { ENCRYPTION_KEY, ...rest } = readSettings(file, {})
    expect(rest).toEqual({ MODEL: 'openai/x', ADMIN_KEY: '0123456789abcdef' })
    expect(readFileSync(file, 'utf8')).toContain(`\nENCRYPTION_KEY="${ENCRYPTION_KEY}"\n`)
    expect(mode()).toBe(0o600)
  })

  it('are those of the environment first, which is never written down', () => {
    writeFileSync(file, 'MODEL=a/b\nOPENAI_API_KEY=of-the-file\n')
    const environment = { OPENAI_API_KEY: 'of-the-environment', ADMIN_KEY: 'x'.repeat(16), AWS_SECRET: 'no' }
    const settings = readSettings(file, environment)
    expect(settings).toMatchObject({ MODEL: 'a/b', OPENAI_API_KEY: 'of-the-environment', ADMIN_KEY: 'x'.repeat(16) })
    expect(settings).not.toHaveProperty('AWS_SECRET')
    expect(readFileSync(file, 'utf8')).not.toMatch(/environment|ADMIN_KEY/)
  })

  it('need no file when the environment has the keys', () => {
    readSettings(file, { ADMIN_KEY: 'x'.repeat(16), ENCRYPTION_KEY: Buffer.alloc(32).toString('base64') })
    expect(existsSync(file)).toBe(false)
  })

  it('that cannot work are refused at once', () => {
    expect(() => readSettings(file, { ADMIN_KEY: 'short' })).toThrow('at least 16 characters')
    expect(() => readSettings(file, { ENCRYPTION_KEY: 'short' })).toThrow('32 bytes')
  })

  it.each([
    ['OPENAI_API_KEY', true],
    ['MY_OWN_BASE_URL', true],
    ['TELEGRAM_API_BASE', true],
    ['SANDBOX_HTTP_TOKEN', true],
    ['FAILPOINTS', true],
    ['CLOUDFLARE_API_KEY', false],
    ['CLOUDFLARE_API_TOKEN', false],
    ['PATH', false],
    ['AWS_SECRET_ACCESS_KEY', false],
    ['AWS_DEFAULT_REGION', true],
    ['VERCEL_TOKEN', true],
    ['VERCEL_PROJECT_ID', true],
    ['VERCEL_TEAM_ID', true],
    ['SEARXNG_URL', true],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', true],
  ])('%s is one: %s', (name, expected) => {
    expect(isSetting(name)).toBe(expected)
  })

  it('are all text variables that the worker declares', () => {
    const declared = readFileSync(join(import.meta.dirname, '../../src/env.d.ts'), 'utf8')
    const names = [...declared.matchAll(/readonly ([A-Z0-9_]+)\?: string/g)].map(([, name = '']) => name)
    expect(names).toContain('OTEL_EXPORTER_OTLP_HEADERS')
    expect(names.filter((name) => !isSetting(name))).toEqual([])
  })

  // Parts of keys (`AWS_ACCESS_KEY_ID`) are often those of the person at the machine, so they come from the file alone.
  it('are all variables of providers and vendors', () => {
    const names = providers.flatMap(({ keys, regionVariables = [], baseUrlVariable, baseUrlTemplate }) => [
      ...keys,
      ...regionVariables,
      ...(baseUrlVariable ? [baseUrlVariable] : []),
      ...(baseUrlTemplate?.match(/[A-Z][A-Z0-9_]{2,}/g) ?? []),
    ])
    const vendors = ['brave', 'searxng', 'browserbase'].map((id) => resolveVendor(id, { variables: {} }).variable)
    expect(vendors).toContain('SEARXNG_URL')
    expect([...names, ...vendors].filter((name) => !isSetting(name))).toEqual([])
  })
})
