/**
 * Finds what a call sends, and whether nothing private can be in it. Nothing private is in addresses that stand word for
 * word in what was read or typed, in queries of the person's words or of public ones, and in arguments that the person
 * typed. A choice among them is a channel too, so that they are counted.
 */

import { readText, sourceOf } from '#agent/untrusted/result-marks.ts'
import type { SentContent } from './egress.ts'
import type { KnownTexts } from './known-texts.ts'

export type KnownContent = {
  /** Whether the turn holds private data. Otherwise only what the call reads by itself could be. */
  readonly isPrivate: boolean
  readonly texts: () => KnownTexts
  /** Counts a request without a question to this host. False when the turn has made `most` already. */
  readonly take: (host: string, most: number) => boolean
}

/** The content that a call sends. `choices`: it only chooses among what a page offers. Undefined: anything could be in it. */
type Content = {
  readonly addresses?: readonly string[]
  readonly texts?: readonly string[]
  /** Each stands in one piece in what the person has typed. */
  readonly quotes?: readonly string[]
  readonly choices?: string
  /** How many are chosen. */
  readonly chosen?: number
}

/** Of one turn, once it holds both marks. */
const maxPerHost = 4
const maxAddresses = 20
const maxQueries = 20
const maxChoices = 20

const describeLook = (input: unknown): Content => ({
  addresses: [sourceOf(input)],
  texts: [readText(input, 'question')],
})

const contents: Readonly<Record<string, (input: unknown) => Content | undefined>> = {
  web_search: (input) => ({ texts: [readText(input, 'query')] }),
  web_extract: (input) => ({ addresses: addressesOf(input) }),
  browser_navigate: (input) => ({ addresses: [readText(input, 'url')] }),
  vision_analyze: describeLook,
  video_analyze: describeLook,
  browser_type: (input) => ({ texts: [readText(input, 'text')] }),
  browser_dialog: (input) => ({ texts: [readText(input, 'prompt_text')] }),
  // Printable keys spell a text.
  browser_press: (input) => (readText(input, 'key').length > 1 ? { choices: 'browser' } : undefined),
  browser_console: (input) => (readText(input, 'expression') === '' ? {} : undefined),
  browser_click: () => ({ choices: 'browser' }),
  browser_back: () => ({ choices: 'browser' }),
  browser_scroll: () => ({}),
  browser_snapshot: () => ({}),
  browser_get_images: () => ({}),
  browser_vision: () => ({}),
  browser_pdf: () => ({}),
  browser_tabs: (input) => ({ addresses: [readText(input, 'url')].filter(Boolean) }),
  // Its words reach the person alone.
  request_handoff: () => ({}),
  terminal: (input) => describeFetch(readText(input, 'command')),
}

function describeContent({ tool, input, server }: SentContent): Content | undefined {
  if (server?.reach === 'open') return describeArguments(input, server.schema)
  return Object.hasOwn(contents, tool) ? contents[tool]?.(input) : undefined
}

/** A name that the schema does not have could carry something, and so could the names in an argument. */
function describeArguments(input: unknown, schema: object): Content | undefined {
  const { properties = {}, $defs: shared = {} } = schema as ObjectSchema
  const isObject = (value: unknown) => typeof value === 'object' && value !== null
  const quotes: string[] = []
  let chosen = 1
  for (const [name, given] of Object.entries(input ?? {})) {
    const values = [given].flat() as readonly unknown[]
    if (!Object.hasOwn(properties, name) || values.some(isObject)) return undefined
    // A list spells as much as calls would.
    chosen += Math.max(0, values.length - 1)
    const choices = [null, true, false, ...listChoices(properties[name] ?? {}, shared)]
    quotes.push(...values.filter((value) => !choices.includes(value)).map(String))
  }
  return { quotes, choices: 'server', chosen }
}

type SchemaPart = {
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly $ref?: string
  readonly anyOf?: readonly SchemaPart[]
  readonly allOf?: readonly SchemaPart[]
}
type SchemaParts = Readonly<Record<string, SchemaPart>>
type ObjectSchema = { readonly properties?: SchemaParts; readonly $defs?: SchemaParts }

/** The values that the schema itself offers. Generators put them into definitions of their own. */
function listChoices(part: SchemaPart, shared: SchemaParts, depth = 3): readonly unknown[] {
  const { enum: values = [], const: only, $ref: name, anyOf = [], allOf = [] } = part
  const named = name?.startsWith('#/$defs/') ? shared[name.slice('#/$defs/'.length)] : undefined
  const more = depth > 0 ? [...anyOf, ...allOf, ...(named ? [named] : [])] : []
  return [
    ...values,
    ...(only === undefined ? [] : [only]),
    ...more.flatMap((one) => listChoices(one, shared, depth - 1)),
  ]
}

function addressesOf(input: unknown): readonly string[] {
  const { urls } = (typeof input === 'object' && input !== null ? input : {}) as { readonly urls?: unknown }
  return Array.isArray(urls) ? urls.map(String) : [typeof urls === 'string' ? urls : '']
}

/** A command that only fetches addresses as they are written in it. Options with values could carry something. */
function describeFetch(command: string): Content | undefined {
  const [, addresses = ''] =
    /^\s*(?:curl|wget|git\s+clone)(?:\s+-(?:[fsSLkqIi]{1,8}|-(?:fail|silent|location|quiet|head|depth[ =]1|compressed)))*((?:\s+["']?https?:\/\/[^\s"'`$\\<>|;&(){}*]+["']?)+)\s*$/.exec(
      command.slice(0, 4_000),
    ) ?? []
  const listed = addresses.trim().split(/\s+/).filter(Boolean)
  return listed.length ? { addresses: listed.map((one) => one.replace(/^["']|["']$/g, '')) } : undefined
}

export function carriesNothing(send: SentContent, state: KnownContent): boolean {
  const content = describeContent(send)
  return content !== undefined && (!state.isPrivate || isPublicContent(content, state))
}

function isPublicContent(content: Content, state: KnownContent): boolean {
  const { addresses = [], texts = [], quotes = [], choices, chosen = 1 } = content
  const known = state.texts()
  const urls = addresses.map((address) => URL.parse(/^[a-z]+:/i.test(address) ? address : `https://${address}`))
  const areKnown = urls.every((url) => url && (known.hasTyped(url) || known.hasRead(url)))
  if (!areKnown || !texts.every((text) => text === '' || known.isPublicQuery(text))) return false
  if (!quotes.every(known.hasTypedText)) return false
  const counted = urls.flatMap((url) => (url && !known.hasTyped(url) ? [url] : []))
  return (
    counted.every((url) => state.take(`site ${siteOf(url)}`, maxPerHost) && state.take('sites', maxAddresses)) &&
    texts.every((text) => text === '' || state.take('queries', maxQueries)) &&
    (choices === undefined || Array.from({ length: chosen }).every(() => state.take(choices, maxChoices)))
  )
}

/** Names below one domain belong to one owner. */
function siteOf({ hostname }: URL): string {
  if (/^[\d.]+$|:/.test(hostname)) return hostname
  const labels = hostname.split('.')
  const isNational = (labels.at(-1) ?? '').length === 2 && (labels.at(-2) ?? '').length <= 3
  return labels.slice(isNational ? -3 : -2).join('.')
}

// --- what comes in

/** Programs that bring what others have written. Package managers bring code, which could mark nothing when it runs. */
const fetchingProgram =
  /^(?:\S{0,200}\/)?(?:curl|wget|https?|xh|aria2c|yt-dlp|lynx|w3m|links|elinks|nc|ncat|netcat|socat|telnet|ssh|scp|sftp|ftp|lftp|rsync|gh|glab|hub|svn|hg|dig|nslookup|host|whois|kubectl|helm|aws|gcloud|redis-cli|psql|mysql|mariadb)(?:$|\s)|^(?:\S{0,200}\/)?git\b.{0,300}\b(?:clone|fetch|pull|ls-remote|submodule|remote|lfs)\b|^(?:npm|pnpm|yarn|bun|pip3?|gem|cargo|brew|dnf|yum|snap|flatpak|docker|podman)\s.{0,300}\b(?:view|info|show|search|index|home|pull)\b|^(?:\S{0,200}\/)?(?:degit|giget|tiged)\s/s

/** Whether one command of a line brings what others have written. */
export const isFetching = (command: string): boolean => fetchingProgram.test(command.slice(0, 1_000))
