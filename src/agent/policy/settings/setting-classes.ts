/**
 * Classifies every setting as preference or policy, as data. Policy is changed for a tenant with the scope `approve`
 * only; a session may only tighten it. docs/settings.md shows the same as a table.
 */

import type { ApprovalRule } from '#agent/core/permission/approval.ts'

/** Expands names of toolsets to names of tools. Undefined stands for the default toolset. */
export type ExpandToolsets = (names: readonly string[] | undefined) => ReadonlySet<string>

/**
 * Returns what remains of a session's value where the tenant has another one: the value itself when it is not looser,
 * else the part that is not, or the tenant's.
 */
export type Tighten = (tenant: unknown, own: unknown, expand: ExpandToolsets) => unknown

export type SettingClass =
  | { readonly kind: 'preference' }
  /** A session may have a tighter value. */
  | { readonly kind: 'ordered'; readonly tighten: Tighten }
  /** Policy without an order. A session's value may differ where a key with the scope `approve` has set it. */
  | { readonly kind: 'fixed' }

const preference: SettingClass = { kind: 'preference' }
const fixed: SettingClass = { kind: 'fixed' }
const ordered = (tighten: Tighten): SettingClass => ({ kind: 'ordered', tighten })

/**
 * Values from the tightest to the loosest, and the one that holds without a setting. Where the host decides that
 * (`standard` is absent), only the tightest value is no looser on every host.
 */
const ranked = (values: readonly string[], standard?: string): SettingClass =>
  ordered((tenant = standard, own) => {
    const loosest = tenant === undefined ? 0 : values.indexOf(String(tenant))
    return values.indexOf(String(own)) <= loosest ? own : tenant
  })

const lower: SettingClass = ordered((tenant, own) => Math.min(Number(tenant ?? Infinity), Number(own)))

const asList = (value: unknown): readonly string[] => (Array.isArray(value) ? (value as string[]) : [])

/** A host, or a pattern below a pattern of the tenant. */
const isCovered = (host: string, by: readonly string[]): boolean =>
  by.some((other) => other === host || (other.startsWith('*.') && host.endsWith(other.slice(1))))

const hostSubset: SettingClass = ordered((tenant, own) => asList(own).filter((host) => isCovered(host, asList(tenant))))

const subset: SettingClass = ordered((tenant, own) => asList(own).filter((each) => asList(tenant).includes(each)))

const toolSubset: SettingClass = ordered((tenant, own, expand) => {
  const allowed = expand(Array.isArray(tenant) ? asList(tenant) : undefined)
  const chosen = expand(asList(own))
  const common = [...chosen].filter((tool) => allowed.has(tool))
  return common.length === chosen.size ? own : common
})

const toolSuperset: SettingClass = ordered((tenant, own, expand) => {
  const excluded = expand(asList(own))
  const missing = asList(tenant).filter((name) => ![...expand([name])].every((tool) => excluded.has(tool)))
  return missing.length ? [...asList(own), ...missing] : own
})

/** A session may switch off what the tenant has switched on. */
const onlyWhereAllowed: SettingClass = ordered((tenant, own) => tenant === true && own === true)

/** Only the tenant's value holds. */
const tenantOnly: SettingClass = ordered((tenant) => tenant)

const withoutGrants: SettingClass = ordered((_tenant, own) => {
  const rules = Array.isArray(own) ? (own as readonly ApprovalRule[]) : []
  return rules.every((rule) => rule.do !== 'allow') ? own : rules.filter((rule) => rule.do !== 'allow')
})

/** By path. `*` is one name, `**` one or more. The first match decides. */
const classes: readonly (readonly [path: string, found: SettingClass])[] = [
  // Without a setting `manual` holds on a shared host, and `smart` elsewhere (check-permission.ts).
  ['approvals.mode', ranked(['manual', 'smart', 'off'])],
  ['approvals.unattended', ranked(['deny', 'allow'], 'deny')],
  ['approvals.rules', withoutGrants],
  ['approvals.smart_policy', fixed],
  ['auxiliary.approval.**', fixed],
  ['terminal.backend', fixed],
  ['terminal.network', ranked(['none', 'public'], 'none')],
  ['terminal.allowed_hosts', hostSubset],
  ['terminal.secrets', subset],
  ['plugins.*', tenantOnly],
  ['toolsets.enabled', toolSubset],
  ['toolsets.disabled', toolSuperset],
  ['limits.**', lower],
  // Both act on what belongs to the tenant, whatever a session says.
  ['memory.write_approval', tenantOnly],
  ['memory.provider', fixed],
  ['memory.base_url', fixed],
  // They choose who gets the queries and addresses of a turn.
  ['web.backend', fixed],
  ['web.search_backend', fixed],
  ['web.extract_backend', fixed],
  // The model gets all that was said.
  ['search.embedding_model', fixed],
  ['skills.sources', fixed],
  ['web.keyless_fallback', ranked(['false', 'true'], 'true')],
  ['web.cache_ttl_minutes', preference],
  ['memory.*', preference],
  ['roles.*.*', tenantOnly],
  ['providers.**', fixed],
  // A wrong price makes every limit on money meaningless.
  ['models.*.prices.*', fixed],
  ['models.*.compression.*', preference],
  ['models.*.*', preference],
  ['model.*', preference],
  ['auxiliary.*.*', preference],
  ['moa.presets.*.*', preference],
  ['fallback_providers', preference],
  ['instructions', preference],
  ['prompts.*', preference],
  ['agent.*', preference],
  ['agent.personalities.*', preference],
  ['delegation.paused', ordered((tenant, own) => tenant === true || own)],
  ['delegation.*', preference],
  ['tool_loop_guardrails.**', preference],
  ['credential_pool.*.strategy', preference],
  ['compression.*', preference],
  ['tools.tool_search.*', preference],
  ['busy_input_mode', preference],
  ['api.*', preference],
  ['timezone', preference],
  ['session_reset.*', preference],
  ['sessions.*', preference],
  ['prompt_caching.*', preference],
  ['learning.*', preference],
  ['image.*', preference],
  ['tts.*', preference],
  ['video.*', preference],
  ['video_analysis.*', preference],
  ['stt.*', preference],
  // Another backend may be paid, and an expression acts with the logins of the page.
  ['browser.backend', fixed],
  // It brings logins.
  ['browser.profile', fixed],
  ['browser.usd_per_hour', fixed],
  ['browser.allow_expressions', onlyWhereAllowed],
  ['browser.*', preference],
]

const compiled = classes.map(([path, found]) => ({ names: path.split('.'), found }))

/** Undefined for a setting that nobody has classified. */
export const findSettingClass = (path: readonly string[]): SettingClass | undefined =>
  compiled.find(({ names }) => matches(names, path))?.found

function matches(names: readonly string[], path: readonly string[]): boolean {
  const isOpen = names.at(-1) === '**'
  const fixedNames = isOpen ? names.slice(0, -1) : names
  if (isOpen ? path.length <= fixedNames.length : path.length !== fixedNames.length) return false
  return fixedNames.every((name, i) => name === '*' || name === path[i])
}
