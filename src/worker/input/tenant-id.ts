/** Validates the ids of tenants in requests of the operator. */

import * as z from 'zod'
import { tenantIdPattern } from '#db/tenants.ts'

export const tenantId = z.string().regex(tenantIdPattern, 'Lower-case letters, digits and hyphens, at most 63.')
