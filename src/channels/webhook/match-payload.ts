/** Decides whether a payload counts, and fills templates from it. Payloads are JSON that strangers may have written. */

import type { Filter, WebhookSettings } from './definition.ts'

const maxValueChars = 2_000
const maxRawChars = 4_000

/** The value at a path like `a.b.0.c`. Undefined where there is none. */
function valueAt(payload: unknown, path: string): unknown {
  let value = payload
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return value
}

/** `event`: the name in a header, else the field `event`, `event_type`, `object_kind` or `type` of the payload. */
export function parseEvent(payload: unknown, event: string | undefined): string | undefined {
  const named = ['event', 'event_type', 'object_kind', 'type'].map((field) => valueAt(payload, field))
  return event ?? named.find((value): value is string => typeof value === 'string')
}

export function isWanted(
  payload: unknown,
  event: string | undefined,
  { events, filters }: Pick<WebhookSettings, 'events' | 'filters'>,
): boolean {
  if (events && !parseNames(payload, event).some((name) => events.includes(name))) return false
  return filters.every((filter) => holds(filter, valueAt(payload, filter.field)))
}

/** GitHub's events have actions: `pull_request` and `pull_request.opened` name the same one. */
function parseNames(payload: unknown, event: string | undefined): readonly string[] {
  if (event === undefined) return []
  const action = valueAt(payload, 'action')
  return typeof action === 'string' ? [event, `${event}.${action}`] : [event]
}

function holds({ equals, not_equals: notEquals, contains, exists }: Filter, value: unknown): boolean {
  if (exists !== undefined && (value !== undefined) !== exists) return false
  if (equals !== undefined && !isEqual(value, equals)) return false
  if (notEquals !== undefined && isEqual(value, notEquals)) return false
  return contains === undefined || includes(value, contains)
}

/** Numbers and booleans may be written as texts. */
const isEqual = (value: unknown, expected: unknown): boolean =>
  value === expected ||
  ((typeof value === 'number' || typeof value === 'boolean') && String(value) === expected) ||
  ((typeof expected === 'number' || typeof expected === 'boolean') && value === String(expected))

const includes = (value: unknown, part: string): boolean =>
  Array.isArray(value) ? value.some((one) => isEqual(one, part)) : typeof value === 'string' && value.includes(part)

/** Unknown paths stay as they are written. Values are bounded, and their braces are not read again. */
export const fillTemplate = (template: string, payload: unknown): string =>
  template.replace(/\{([\w.[\]-]{1,200})\}/g, (placeholder, path: string) => {
    if (path === '__raw__') return truncate(JSON.stringify(payload, null, 2) ?? '', maxRawChars)
    const value = valueAt(payload, path)
    return value === undefined ? placeholder : truncate(textOf(value), maxValueChars)
  })

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Never inside of a character. */
function truncate(text: string, max: number): string {
  if (text.length <= max) return text
  const cut = text.slice(0, max)
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`
}
