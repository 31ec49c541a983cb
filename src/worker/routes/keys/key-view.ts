/** The view of a key in the API, without its secret. */

import * as z from 'zod'
import { scopes } from '#agent/core/permission/authority.ts'
import type { ApiKey } from '#db/api-keys.ts'
import { nameSchemas } from '../../schema-names.ts'
import { keyParam } from '../../openapi/path-params.ts'

export const keyShape = z.object({
  id: z.string(),
  tenant_id: z.string(),
  name: z.string().nullable(),
  scopes: z.array(z.enum(scopes)),
  role: z.string().nullable().describe('A role of the settings, which limits the scopes.'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable(),
  last_used_at: z.iso.datetime().nullable(),
  key: z.string().optional().describe('Only in the response that creates the key.'),
})
nameSchemas(
  { Key: keyShape },
  { Key: { id: keyParam.example, tenant_id: 'acme', name: 'laptop', scopes: ['chat', 'read'] } },
)

const iso = (ms: number) => new Date(ms).toISOString()

export const toKeyView = (key: ApiKey) => ({
  id: key.id,
  tenant_id: key.tenantId,
  name: key.name || null,
  scopes: key.scopes,
  role: key.role,
  created_at: iso(key.createdAt),
  expires_at: key.expiresAt && iso(key.expiresAt),
  last_used_at: key.lastUsedAt && iso(key.lastUsedAt),
})
