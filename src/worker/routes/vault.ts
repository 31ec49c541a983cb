/**
 * Serves `/api/vault`, the logins, one-time secrets and addresses that the browser fills in, and the profiles that keep
 * its logins. No answer contains a value.
 */

import * as z from 'zod'
import { parseTotp } from '#backends/browser/totp.ts'
import { passwordField, totpField } from '#durable/turn/tools/browser/protected-values.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import {
  maxVaultEntries,
  maxVaultFields,
  vaultOf,
  vaultOwner,
  type VaultView,
} from '#durable/tenant/vault/vault-entry.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { pageByKey } from '../input/page.ts'
import { requireEncryptionKey } from '../secrets/require-encryption-key.ts'
import { route } from '../route.ts'
import { requireFound } from '../sessions.ts'
import { created, listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

const tag = 'Vault'
const entryParam = { description: 'The name of the entry.', example: 'bank' }
const profileParam = { description: 'The name of the profile.', example: 'work' }

const entryShape = z.object({
  name: z.string(),
  fields: z.array(z.string()),
  origins: z.array(z.string()),
  unasked_origins: z.array(z.string()).describe('Where nobody is asked before a fill.'),
  created_at: z.iso.datetime(),
})
const profileShape = z.object({ name: z.string(), saved_at: z.iso.datetime() })
nameSchemas(
  { VaultEntry: entryShape, BrowserProfile: profileShape },
  {
    VaultEntry: {
      name: 'bank',
      fields: ['username', 'password', 'totp'],
      origins: ['https://bank.example.com'],
      unasked_origins: [],
    },
    BrowserProfile: { name: 'work' },
  },
)

/** Only encrypted pages, and exactly these: no path, no pattern. */
const origin = z
  .string()
  .max(300)
  .refine(
    (text) => text.startsWith('https://') && URL.parse(text)?.origin === text,
    'An origin, as https://shop.example.com.',
  )
const origins = z.array(origin).min(1).max(20)
const unasked = z.array(origin).max(20).describe('Those of origins where nobody is asked before a fill. Default: none.')
const name = z.string().regex(/^[\w][\w .@-]{0,63}$/, 'Letters, digits, spaces and . @ _ -, at most 64.')
const value = z.string().min(1).max(1_000)

const newEntry = z.strictObject({
  name,
  origins,
  unasked_origins: unasked.default([]),
  fields: z
    .record(z.string().regex(/^[a-z][a-z0-9_]{0,49}$/), value)
    .describe(
      'Values by name. `password` goes into password fields alone; `totp` is a secret, whose code is filled in.',
    ),
})
const changed = z.strictObject({ origins, unasked_origins: unasked })

const minPasswordChars = 8

function requireUsable(fields: Readonly<Record<string, string>>): void {
  const names = Object.keys(fields)
  if (!names.length || names.length > maxVaultFields) throw invalid(`1 to ${maxVaultFields} fields.`, 'fields')
  for (const [field, text] of Object.entries(fields)) {
    if (totpField.test(field) && !parseTotp(text))
      throw invalid('A secret in base32, or an otpauth address.', `fields.${field}`)
    if (passwordField.test(field) && field !== 'pin' && text.length < minPasswordChars)
      throw invalid('A shorter password could not be masked: 8 characters at least.', `fields.${field}`)
  }
}

function requireAmong(some: readonly string[], all: readonly string[]): void {
  if (!some.every((one) => all.includes(one))) throw invalid('Each must be one of origins.', 'unasked_origins')
}

const toView = ({ name: shown, fields, origins: sites, unasked: free, createdAt }: VaultView) => ({
  name: shown,
  fields,
  origins: sites,
  unasked_origins: free,
  created_at: new Date(createdAt).toISOString(),
})

export const vaultRoutes = [
  route({
    method: 'get',
    path: '/api/vault',
    id: 'listVault',
    scope: 'read',
    tag,
    summary: 'Entries that the browser fills in, without their values',
    query: z.strictObject(pageQuery),
    responses: ok('Entries, newest first', listOf(entryShape)),
    handle: async ({ env, authority, tenant, query }) => {
      const list = await vaultOf(env, tenant.id).list(authority)
      const page = pageByKey(list, query, ({ createdAt, name: key }) => [createdAt, key])
      return Response.json({ ...page, data: page.data.map(toView) })
    },
  }),
  route({
    method: 'post',
    path: '/api/vault',
    id: 'storeVaultEntry',
    scope: 'approve',
    tag,
    summary: 'Store an entry, in place of one of the same name',
    example: {
      name: 'bank',
      origins: ['https://bank.example.com'],
      fields: { username: 'ann@example.com', password: 'an-example-value' },
    },
    body: newEntry,
    responses: created('The entry', entryShape),
    handle: async ({ env, tenant, authority, body }) => {
      requireEncryptionKey(env)
      requireUsable(body.fields)
      requireAmong(body.unasked_origins, body.origins)
      const entry = {
        name: body.name,
        fields: Object.keys(body.fields),
        origins: body.origins,
        unasked: body.unasked_origins,
        createdAt: Date.now(),
        sealed: await sealForTenant(env, JSON.stringify(body.fields), vaultOwner(tenant.id, body.name)),
      }
      const outcome = await vaultOf(env, tenant.id).put(authority, entry)
      if (outcome === 'foreign') throw notFound()
      if (outcome === 'full')
        throw new AppError(409, 'conflict', `There are already ${maxVaultEntries} entries. Delete one first.`)
      return Response.json(toView(entry), { status: 201 })
    },
  }),
  route({
    method: 'patch',
    path: '/api/vault/:entry',
    id: 'updateVaultEntry',
    params: { entry: entryParam },
    scope: 'approve',
    tag,
    summary: 'Change where an entry is filled in',
    example: { origins: ['https://bank.example.com'], unasked_origins: ['https://bank.example.com'] },
    body: changed,
    responses: ok('The entry', entryShape),
    handle: async ({ env, tenant, authority, param, body }) => {
      requireAmong(body.unasked_origins, body.origins)
      const sites = { origins: body.origins, unasked: body.unasked_origins }
      const entry = await vaultOf(env, tenant.id).change(authority, param('entry'), sites)
      return Response.json(toView(requireFound(entry)))
    },
  }),
  route({
    method: 'delete',
    path: '/api/vault/:entry',
    id: 'deleteVaultEntry',
    params: { entry: entryParam },
    scope: 'approve',
    tag,
    summary: 'Delete an entry',
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ env, tenant, authority, param }) => {
      requireFound((await vaultOf(env, tenant.id).remove(authority, param('entry'))) || undefined)
      return new Response(null, { status: 204 })
    },
  }),
  route({
    method: 'get',
    path: '/api/browser/profiles',
    id: 'listBrowserProfiles',
    scope: 'read',
    tag,
    summary: 'Profiles that keep the logins of browsers; the setting browser.profile chooses one',
    query: z.strictObject(pageQuery),
    responses: ok('Profiles, the newest first', listOf(profileShape)),
    handle: async ({ env, authority, tenant, query }) => {
      const list = await vaultOf(env, tenant.id).listProfiles(authority)
      const page = pageByKey(list, query, ({ savedAt, name: key }) => [savedAt, key])
      const data = page.data.map((one) => ({ name: one.name, saved_at: new Date(one.savedAt).toISOString() }))
      return Response.json({ ...page, data })
    },
  }),
  route({
    method: 'delete',
    path: '/api/browser/profiles/:profile',
    id: 'deleteBrowserProfile',
    params: { profile: profileParam },
    scope: 'approve',
    tag,
    summary: 'Delete a profile with its logins; browsers that are open keep theirs until they are closed',
    responses: { 204: { description: 'Deleted' } },
    handle: async ({ env, tenant, authority, param }) => {
      requireFound((await vaultOf(env, tenant.id).removeProfile(authority, param('profile'))) || undefined)
      return new Response(null, { status: 204 })
    },
  }),
]
