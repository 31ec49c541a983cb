/** Adds the events of each kind of stream to the components: one component per event, and a union of them. */

import type * as z from 'zod'
import { type Components, type Json, refTo } from './components.ts'
import { chunkShape, responseEvents } from './openai-events.ts'
import { sessionEvents } from './session-events.ts'
import { tenantEvents } from './tenant-events.ts'

const discriminated = 'The data of one server-sent event. `type` is the name of the event.'

export function addStreams(components: Components): void {
  components.add('ChatCompletionChunk', components.convert(chunkShape, 'output'))
  addUnion(components, 'SessionEvent', sessionEvents)
  addUnion(components, 'TenantEvent', tenantEvents, 'Tenant')
  addUnion(components, 'ResponseStreamEvent', responseEvents)
}

function addUnion(
  components: Components,
  name: string,
  events: Readonly<Record<string, z.ZodType>>,
  prefix = '',
): void {
  const members = Object.entries(events).map(([type, schema]) =>
    components.add(`${prefix}${toPascalCase(type)}Event`, components.convert(schema, 'output')),
  )
  components.add(name, { description: discriminated, oneOf: members.map(refTo) })
}

/** The schema of the events of a stream. OpenAPI 3.1 describes the data of one event. */
export const getEvent = (path: string): Json => {
  if (path === '/v1/chat/completions') return refTo('ChatCompletionChunk')
  if (path === '/api/events') return refTo('TenantEvent')
  return refTo(path.startsWith('/v1/responses') ? 'ResponseStreamEvent' : 'SessionEvent')
}

export const toPascalCase = (word: string): string =>
  word.replace(/(?:^|[^A-Za-z0-9]+)(\w?)/g, (_, letter: string) => letter.toUpperCase())
