/**
 * Lets a file start more turns that no person has started than a tenant has in an hour. Files share tenant `default`, so
 * its counter is empty again afterwards.
 */

import { runInDurableObject } from 'cloudflare:test'
import { afterAll, beforeAll } from 'vitest'
import { tenantStub } from '#durable/platform/addresses.ts'
import { bindings } from '#test/worker/client.ts'
import { ownerAuthority } from './authority.ts'

export function allowManyUnattendedTurns(): void {
  beforeAll(() =>
    tenantStub(bindings, 'default').settings.patch(ownerAuthority(), { limits: { unattended_turns_per_hour: 10_000 } }),
  )
  afterAll(() =>
    runInDurableObject(bindings.TENANT.getByName('t/default'), (_object, { storage: { sql } }) => {
      sql.exec('DELETE FROM unattended')
    }),
  )
}
