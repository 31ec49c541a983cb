/**
 * Finds the references in a message, such as `@file:src/a.ts:10-20`, and turns them into calls of tools. The calls run
 * like those of a model: approvals, limits, fences and marks are those of the tools.
 */

import type { ToolCallPart } from '#agent/core/message.ts'

type PlannedCall = Pick<ToolCallPart, 'name' | 'input'>

const maxReferences = 8
const maxCommits = 10

/** A word that begins with a kind; the value may be quoted. Mail addresses do not begin a word with `@`. */
const pattern =
  /(?<=^|[\s(["'])@(?:(?<kind>file|folder|url|session|git):(?:"(?<quoted>[^"\n]{1,1000})"|(?<plain>[^\s"]{1,1000}))|(?<word>diff|staged)(?=$|[\s.,;:!?)\]"']))/g

/** Returns the calls for the references of a message, each once and in their order. Code is not searched. */
export function planReferences(text: string): readonly ToolCallPart[] {
  const calls = new Map<string, PlannedCall>()
  for (const { groups = {} } of withoutCode(text).matchAll(pattern)) {
    const { kind = '', quoted, plain = '', word } = groups
    const call = planCall(word ?? kind, quoted ?? withoutPunctuation(plain))
    if (call) calls.set(JSON.stringify(call), call)
  }
  return [...calls.values()]
    .slice(0, maxReferences)
    .map((call, n) => ({ type: 'call' as const, id: `reference_${n + 1}`, ...call }))
}

const withoutCode = (text: string): string => text.replace(/```[^]*?(?:```|$)|`[^`\n]*`/g, ' ')

/** The end of a sentence is no part of a name. */
const withoutPunctuation = (value: string): string => value.replace(/[.,;:!?)\]}'"]+$/, '')

function planCall(kind: string, value: string): PlannedCall | undefined {
  switch (kind) {
    case 'file':
      return value ? { name: 'read_file', input: parseFile(value) } : undefined
    case 'folder':
      return value ? { name: 'search_files', input: { pattern: '*', target: 'files', path: value } } : undefined
    case 'url':
      return /^https?:\/\//i.test(value) ? { name: 'web_extract', input: { urls: [value] } } : undefined
    case 'session':
      return value ? { name: 'session_search', input: { session_id: value } } : undefined
    case 'git':
      return planLog(value)
    case 'diff':
      return planCommand('git diff')
    case 'staged':
      return planCommand('git diff --staged')
    default:
      return undefined
  }
}

const planCommand = (command: string): PlannedCall => ({ name: 'terminal', input: { command } })

function planLog(value: string): PlannedCall | undefined {
  const commits = /^\d{1,3}$/.test(value) ? Math.min(maxCommits, Number(value)) : 0
  return commits > 0 ? planCommand(`git log -p -n ${commits}`) : undefined
}

/** `path`, `path:12` or `path:12-40`. */
function parseFile(value: string): object {
  const [, path = value, from, to] = /^(.+?):(\d{1,7})(?:-(\d{1,7}))?$/.exec(value) ?? []
  if (from === undefined) return { path: value }
  const offset = Math.max(1, Number(from))
  const last = Math.max(offset, Number(to ?? from))
  return { path, offset, limit: Math.min(2_000, last - offset + 1) }
}
