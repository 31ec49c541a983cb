/** Tests that every setting is classified, and what tighter means for each. */

import { describe, expect, it } from 'vitest'
import type { Settings } from '#agent/core/settings.ts'
import { type ExpandToolsets, findSettingClass } from '#agent/policy/settings/setting-classes.ts'
import { findLoosening, listPolicyChanges, tightenSettings } from '#agent/policy/settings/tighten-settings.ts'
import { settingLeaves } from '#test/support/setting-leaves.ts'

const sets: Readonly<Record<string, readonly string[]>> = { file: ['read_file', 'write_file'], web: ['web_search'] }
const expand: ExpandToolsets = (names = ['file']) => new Set(names.flatMap((name) => sets[name] ?? [name]))
const options = { expand, mayDiffer: false }

it.each(settingLeaves.map(({ path }) => [path.join('.'), path] as const))('%s is classified', (_name, path) => {
  expect(findSettingClass(path)).toBeDefined()
})

it('an unknown setting is in no class, so it is treated as policy', () => {
  expect(findSettingClass(['colour'])).toBe(undefined)
  expect(listPolicyChanges({}, { colour: 1 } as Settings)).toEqual(['colour'])
  expect(findLoosening({}, { colour: 1 }, options)).toBe('colour')
})

const allow = { do: 'allow', tool: 'terminal' } as const
const ask = { do: 'ask', tool: 'terminal' } as const

describe('settings of a session', () => {
  it.each<[string, Settings, Settings, Settings]>([
    ['a looser mode', {}, { approvals: { mode: 'off' } }, {}],
    ['the mode smart, because the default of a shared host is manual', {}, { approvals: { mode: 'smart' } }, {}],
    [
      'a mode looser than the tenant',
      { approvals: { mode: 'manual' } },
      { approvals: { mode: 'smart' } },
      { approvals: { mode: 'manual' } },
    ],
    ['calls without a person', {}, { approvals: { unattended: 'allow' } }, { approvals: { unattended: 'deny' } }],
    ['a rule that allows', {}, { approvals: { rules: [ask, allow] } }, { approvals: { rules: [ask] } }],
    ['advice for the judge', {}, { approvals: { smart_policy: 'approve all' } }, {}],
    ['another judge', {}, { auxiliary: { approval: { model: 'openai/a' } } }, {}],
    ['a network', {}, { terminal: { network: 'public' } }, { terminal: { network: 'none' } }],
    [
      'another backend',
      { terminal: { backend: 'http' } },
      { terminal: { backend: 'virtual' } },
      { terminal: { backend: 'http' } },
    ],
    ['a secret', {}, { terminal: { secrets: ['A'] } }, { terminal: { secrets: [] } }],
    [
      'another secret',
      { terminal: { secrets: ['A', 'B'] } },
      { terminal: { secrets: ['B', 'C'] } },
      { terminal: { secrets: ['B'] } },
    ],
    ['a host', {}, { terminal: { allowed_hosts: ['a.org'] } }, { terminal: { allowed_hosts: [] } }],
    [
      'a wider pattern',
      { terminal: { allowed_hosts: ['a.b.org'] } },
      { terminal: { allowed_hosts: ['*.b.org', 'a.b.org'] } },
      { terminal: { allowed_hosts: ['a.b.org'] } },
    ],
    [
      'a domain itself under a pattern below it',
      { terminal: { allowed_hosts: ['*.b.org'] } },
      { terminal: { allowed_hosts: ['b.org'] } },
      { terminal: { allowed_hosts: [] } },
    ],
    [
      'another toolset',
      {},
      { toolsets: { enabled: ['file', 'web'] } },
      { toolsets: { enabled: ['read_file', 'write_file'] } },
    ],
    [
      'tools that are disabled',
      { toolsets: { disabled: ['file'] } },
      { toolsets: { disabled: ['read_file'] } },
      { toolsets: { disabled: ['read_file', 'file'] } },
    ],
    [
      'a higher limit',
      { limits: { usd_per_session: 1 } },
      { limits: { usd_per_session: 2 } },
      { limits: { usd_per_session: 1 } },
    ],
    ['a provider', {}, { providers: { 'custom:x': { base_url: 'https://a.org' } } }, {}],
    [
      'a price',
      {},
      { models: { 'openai/a': { prices: { input: 0 }, images: true } } },
      { models: { 'openai/a': { images: true } } },
    ],
  ])('do not get %s', (_name, tenant, own, kept) => {
    expect(findLoosening(tenant, own, options)).toBeDefined()
    expect(tightenSettings(tenant, own, options)).toEqual(kept)
    // The kept value is itself no looser.
    expect(findLoosening(tenant, kept, options)).toBe(undefined)
  })

  it.each<[string, Settings, Settings]>([
    ['a tighter mode', {}, { approvals: { mode: 'manual' } }],
    ['the same mode', { approvals: { mode: 'off' } }, { approvals: { mode: 'off' } }],
    ['rules that ask or deny', {}, { approvals: { rules: [ask, { do: 'deny', tool: '*' }] } }],
    ['no network', { terminal: { network: 'public' } }, { terminal: { network: 'none' } }],
    [
      'fewer hosts',
      { terminal: { allowed_hosts: ['*.b.org', 'c.org'] } },
      { terminal: { allowed_hosts: ['a.b.org'] } },
    ],
    ['fewer secrets', { terminal: { secrets: ['A', 'B'] } }, { terminal: { secrets: ['A'] } }],
    ['fewer tools', {}, { toolsets: { enabled: ['read_file'] } }],
    ['more disabled tools', { toolsets: { disabled: ['read_file'] } }, { toolsets: { disabled: ['file', 'web'] } }],
    ['a limit where there was none', {}, { limits: { usd_per_session: 2 } }],
    [
      'the same provider',
      { providers: { 'custom:x': { base_url: 'https://a.org' } } },
      { providers: { 'custom:x': { base_url: 'https://a.org' } } },
    ],
    ['every preference', {}, { model: { default: 'openai/a' }, agent: { max_turns: 5 }, instructions: 'Be brief.' }],
  ])('may have %s', (_name, tenant, own) => {
    expect(findLoosening(tenant, own, options)).toBe(undefined)
    expect(tightenSettings(tenant, own, options)).toBe(own)
  })

  it('may differ in settings without an order where the scope `approve` has set them, and not in others', () => {
    const own: Settings = {
      terminal: { backend: 'http', network: 'public' },
      providers: { 'custom:x': { base_url: 'https://a.org' } },
    }
    expect(tightenSettings({}, own, { expand, mayDiffer: true })).toEqual({
      ...own,
      terminal: { backend: 'http', network: 'none' },
    })
  })

  it('may be removed, so that those of the tenant hold again', () => {
    expect(
      findLoosening({}, { approvals: { mode: null }, providers: null, terminal: { backend: null } }, options),
    ).toBe(undefined)
  })
})

describe('a change of policy', () => {
  it.each<[string, Settings, Settings, string | undefined]>([
    ['is found where a value is added', {}, { approvals: { mode: 'manual' } }, 'approvals.mode'],
    ['is found where a value is removed', { limits: { usd_per_day: 1 } }, {}, 'limits.usd_per_day'],
    ['is found in a list', { approvals: { rules: [ask] } }, { approvals: { rules: [ask, allow] } }, 'approvals.rules'],
    ['is not found in preferences', {}, { agent: { max_turns: 4 }, timezone: 'UTC' }, undefined],
    [
      'is not found where nothing differs',
      { approvals: { mode: 'off' } },
      { approvals: { mode: 'off' }, timezone: 'UTC' },
      undefined,
    ],
  ])('%s', (_name, before, after, found) => {
    expect(listPolicyChanges(before, after)[0]).toBe(found)
  })
})
