/** Parses the targets that the results of a job go to. */

import { sessionNamePattern } from '#agent/core/session-name.ts'

export type Target =
  | { readonly kind: 'local' }
  | { readonly kind: 'origin' }
  | { readonly kind: 'session'; readonly sessionId: string }
  /** `connection`: its id, or the name of a platform that has one connection. */
  | { readonly kind: 'chat'; readonly connection: string; readonly chat: string; readonly thread?: string }
  /** The home chat of a platform. */
  | { readonly kind: 'home'; readonly platform: string }
  | { readonly kind: 'webhook'; readonly url: string }

export type ParsedTargets =
  | { readonly ok: true; readonly targets: readonly Target[] }
  | { readonly ok: false; readonly error: string }

const maxTargets = 10
const hint = 'Use local, origin, session:ID, PLATFORM, PLATFORM:CHAT, CONNECTION:CHAT or an https address.'

/** Parses a list with commas. `none` is another word for `local`. */
export function parseTargets(text: string): ParsedTargets {
  const words = text.split(/[\s,]/).filter(Boolean)
  if (!words.length) return { ok: false, error: `There is no target. ${hint}` }
  if (words.length > maxTargets) return { ok: false, error: `At most ${maxTargets} targets.` }
  const targets: Target[] = []
  for (const word of new Set(words)) {
    const target = parseTarget(word)
    if (!target) return { ok: false, error: `"${word.slice(0, 100)}" is no target. ${hint}` }
    targets.push(target)
  }
  return { ok: true, targets }
}

function parseTarget(word: string): Target | undefined {
  if (word === 'local' || word === 'none') return { kind: 'local' }
  if (word === 'origin') return { kind: 'origin' }
  if (/^https?:\/\//i.test(word)) return URL.canParse(word) ? { kind: 'webhook', url: word } : undefined
  if (/^[a-z]{2,40}$/.test(word)) return { kind: 'home', platform: word }
  if (!word.startsWith('session:')) return parseChat(word)
  const sessionId = word.slice('session:'.length)
  return sessionNamePattern.test(sessionId) ? { kind: 'session', sessionId } : undefined
}

function parseChat(word: string): Target | undefined {
  const [, connection, chat, thread] = /^([\w-]{1,64}):([^\s:/][^\s:]{0,99})(?::([^\s:]{1,100}))?$/.exec(word) ?? []
  if (connection === undefined || chat === undefined) return undefined
  return { kind: 'chat', connection, chat, ...(thread !== undefined && { thread }) }
}

/** The target as text, for errors. The query of an address may contain a secret. */
export function renderTarget(target: Target): string {
  switch (target.kind) {
    case 'session':
      return `session:${target.sessionId}`
    case 'chat':
      return [target.connection, target.chat, target.thread].filter((part) => part !== undefined).join(':')
    case 'home':
      return target.platform
    case 'webhook':
      return target.url.replace(/[?#].*$/s, '')
    default:
      return target.kind
  }
}
