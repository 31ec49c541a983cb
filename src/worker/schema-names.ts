/** Names schemas. The OpenAPI document has a named schema once, as a component, and refers to it everywhere else. */

import * as z from 'zod'

/** `examples`: the fields whose values mean something, by the name of the schema. */
export function nameSchemas<Name extends string>(
  schemas: Readonly<Record<Name, z.ZodType>>,
  examples: { readonly [Key in Name]?: object } = {},
): void {
  for (const [id, schema] of Object.entries<z.ZodType>(schemas)) {
    const example = examples[id as Name]
    z.globalRegistry.add(schema, { ...z.globalRegistry.get(schema), id, ...(example && { examples: [example] }) })
  }
}
