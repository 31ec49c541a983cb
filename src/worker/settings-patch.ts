/** Parts of settings, as requests bring them; and settings that only a session knows. */

import type * as z from 'zod'
import { mergeSettings, type Settings, type SettingsFault, settingsSchema } from '../agent/model/settings.ts'
import type { SessionDO } from '../durable/session/session-object.ts'
import type { TenantSnapshot } from '../durable/tenant/tenant-snapshot.ts'
import { checkAddresses } from './addresses.ts'
import { refusalOf } from './body.ts'
import { AppError, invalid } from './errors.ts'
import { withSettings } from './routes/models.ts'

/** Names and values. What is null takes a setting back, and what is missing may be there: the object knows the whole. */
export function checkPatch(patch: object): void {
  const { error } = settingsSchema.safeParse(patch)
  const [wrong] = error?.issues.filter((issue) => isUnknown(issue) || valueAt(patch, issue.path) != null) ?? []
  if (wrong) throw refusalOf(wrong, 'settings')
  checkAddresses(patch as Settings)
}

const isUnknown = ({ code }: z.core.$ZodIssue) => code === 'unrecognized_keys' || code === 'invalid_key'

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((inside, key) => (inside as Record<PropertyKey, unknown> | null | undefined)?.[key], value)

export const refusalOfSettings = ({ at, message }: SettingsFault): AppError => invalid(`${at}: ${message}`, at)

/** With the model of the session taken back, what others name counts. */
export const takingBack = (settings: Settings | undefined): object => ({
  ...settings,
  model: { ...settings?.model, default: null },
})

/** What the tenant's settings do not allow, those of the session may, or its model: it is asked for them only then. */
export async function knowingOwn<T>(
  session: DurableObjectStub<SessionDO>,
  tenant: TenantSnapshot,
  read: (tenant: TenantSnapshot) => T,
  patch: object = {},
): Promise<T> {
  try {
    return read(tenant)
  } catch (error) {
    const own = error instanceof AppError ? await session.info.get() : undefined
    if (!own) throw error
    const settings = own.model ? mergeSettings(own.settings, { model: { default: own.model } }) : own.settings
    return read(withSettings(tenant, mergeSettings(settings, patch)))
  }
}
