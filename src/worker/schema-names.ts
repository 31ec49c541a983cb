/** Names schemas. The OpenAPI document has a named schema once, as a component, and refers to it everywhere else. */

import * as z from 'zod'

export function nameSchemas(schemas: Readonly<Record<string, z.ZodType>>): void {
  for (const [id, schema] of Object.entries(schemas))
    z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id })
}
