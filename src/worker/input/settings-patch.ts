/** Validates patches of settings, and reads requests with the settings that only the session has. */

import type * as z from 'zod'
import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { findLoosening } from '#agent/policy/settings/tighten-settings.ts'
import { expandToolsets } from '#tools/tools-for.ts'
import { mergeSettings, type Settings, type SettingsFault, settingsSchema } from '#agent/core/settings.ts'
import type { SessionDO } from '#durable/session/session-object.ts'
import type { TenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { validateAddresses } from './addresses.ts'
import { validationError } from './body.ts'
import { AppError, invalid } from '../errors.ts'
import { mergeSessionSettings } from './requested-model.ts'

/**
 * Validates names and values. A null removes a setting. Missing fields are no error here: only the object has the
 * complete settings and validates the result.
 */
export function validatePatch(patch: object): void {
  const { error } = settingsSchema.safeParse(patch)
  const [wrong] = error?.issues.filter((issue) => isUnknown(issue) || getValueAt(patch, issue.path) != null) ?? []
  if (wrong) throw validationError(wrong, 'settings')
  validateAddresses(patch as Settings)
}

const isUnknown = ({ code }: z.core.$ZodIssue) => code === 'unrecognized_keys' || code === 'invalid_key'

const getValueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inside, key) => (inside as Record<PropertyKey, unknown> | null | undefined)?.[key], value)

export const settingsError = ({ at, message }: SettingsFault): AppError => invalid(`${at}: ${message}`, at)

export const policyError = (field: string, reason: string): AppError =>
  new AppError(403, 'policy', `${field} is policy of the tenant. ${reason}`, { param: field })

/**
 * Refuses settings of a session that would loosen the tenant's policy. Settings without an order, such as the backend,
 * may differ where the key holds the scope `approve`.
 */
export function requireTighter(
  { authority, tenant }: { readonly authority: Authority; readonly tenant: TenantSnapshot },
  settings: object,
): void {
  const mayDiffer = hasScope(authority, 'approve')
  const field = findLoosening(tenant.settings, settings, { expand: expandToolsets, mayDiffer })
  if (field !== undefined)
    throw policyError(field, 'A session may only tighten it: change it with PATCH /api/settings.')
}

/** Settings of a session without its own model, so that the tenant's default applies. */
const withoutModel = (settings: Settings | undefined): object => ({
  ...settings,
  model: { ...settings?.model, default: null },
})

/**
 * Reads a request with the tenant's settings. When they refuse it, fetches the session's own settings and model and
 * reads it again, because those may allow it.
 */
export async function readWithSessionSettings<T>(
  session: DurableObjectStub<SessionDO>,
  { authority, tenant }: { readonly authority: Authority; readonly tenant: TenantSnapshot },
  read: (tenant: TenantSnapshot) => T,
  patch: object = {},
): Promise<T> {
  try {
    return read(tenant)
  } catch (error) {
    const own = error instanceof AppError ? await session.info.get(authority) : undefined
    if (!own) throw error
    const settings = own.model ? mergeSettings(own.settings, { model: { default: own.model } }) : own.settings
    return read(mergeSessionSettings(tenant, mergeSettings(settings, patch)))
  }
}

/** The settings that a session has once its model is changed: null takes back the one of its settings. */
export const withModel = <Given extends Settings | undefined>(settings: Given, model: string | null): Given | object =>
  model === null ? withoutModel(settings) : settings
