/** Returns one schema of the document with all that it refers to, because the document is 80 KB compressed. */

import { notFound } from '../errors.ts'
import type { Json } from './components.ts'

const reference = /"#\/components\/schemas\/(\w{1,100})"/g

export function pickSchema(documentText: string, name: string): Json {
  const { components } = JSON.parse(documentText) as { readonly components: { readonly schemas: Json } }
  if (!Object.hasOwn(components.schemas, name)) throw notFound()
  const picked = new Set([name])
  // A set that grows while it is read is read to its end.
  for (const one of picked)
    for (const [, referred = ''] of JSON.stringify(components.schemas[one]).matchAll(reference)) picked.add(referred)
  return { components: { schemas: Object.fromEntries([...picked].map((one) => [one, components.schemas[one]])) } }
}
