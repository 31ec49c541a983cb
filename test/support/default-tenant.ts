/** Resets the settings of tenant `default` after each test file, because files that share an isolate share it too. */

import { env } from 'cloudflare:workers'
import { ownerAuthority } from './authority.ts'

export async function resetDefaultTenant(): Promise<void> {
  const { settings } = (env as unknown as Env).TENANT.getByName('t/default')
  const names = Object.keys(await settings.get())
  if (names.length) await settings.patch(ownerAuthority(), Object.fromEntries(names.map((name) => [name, null])))
}
