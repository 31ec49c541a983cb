/**
 * Scans text for directives that a stranger may have put there: to drop earlier instructions, to hide something from the
 * user, to send secrets away. Context files, memory, skills and prompts of jobs pass it (docs/design/injection.md).
 */

import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'
import type { Finding, FindingKind } from './scan/finding.ts'
import { findInvisible, removeInvisible } from './scan/invisible.ts'
import { type ScanLanguage, languages, unspacedDirectives } from './scan/languages.ts'
import { listLines, listWords, renderSentences, type ScannedWord } from './scan/words.ts'
import { phrases, phraseWords } from './scan/phrases.ts'

export type { Finding, FindingKind } from './scan/finding.ts'

/**
 * `strict` is for short text that becomes part of a prompt: memory, prompts of jobs. `context` is for files that also
 * explain things: it allows commands, and directives that a sentence about attacks quotes.
 */
export type Strictness = 'strict' | 'context'

const maxExcerptChars = 120
const maxFindings = 200
/** A longer line is looked at in parts, so that its two ends make no shape together. */
const maxPartChars = 1_000

type FindingSpan = { readonly kind: FindingKind; readonly line: number; readonly lastLine: number }

/** Returns what the text contains, in the order of the lines, at most one finding for a kind and a line. */
export function scan(text: string, strictness: Strictness): readonly Finding[] {
  const lines = listLines(text)
  return findPlaces(lines, strictness)
    .slice(0, maxFindings)
    .map((place) => ({ ...place, excerpt: renderExcerpt(lines[place.line - 1] ?? '') }))
}

/**
 * Replaces the lines with findings by a placeholder that names them, and removes invisible characters. The other lines
 * stay as they are.
 */
export function blockFindings(text: string, strictness: Strictness = 'context'): string {
  const lines = listLines(text)
  const places = findPlaces(lines, strictness)
  if (!places.length) return text
  const blocked = new Map<number, Set<FindingKind>>()
  for (const { kind, line, lastLine } of places)
    for (let at = line; at <= lastLine; at++) blocked.set(at, (blocked.get(at) ?? new Set()).add(kind))
  return lines.map((line, index) => renderLine(line, blocked.get(index + 1))).join('\n')
}

function renderLine(line: string, kinds: ReadonlySet<FindingKind> | undefined): string {
  if (!kinds) return line
  const directives = [...kinds].filter((kind) => kind !== 'invisible')
  if (directives.length) return `[blocked: ${directives.join(', ')}]`
  const count = findInvisible(line).length
  return `${removeInvisible(line)} [removed: ${count} invisible character${count > 1 ? 's' : ''}]`
}

function findPlaces(lines: readonly string[], strictness: Strictness): readonly FindingSpan[] {
  const isStrict = strictness === 'strict'
  const hidden = findHiddenLines(lines)
  const plain = lines.map((line, index) => (hidden.has(index) ? removeInvisible(line) : line).normalize('NFKC'))
  const directives = [false, true].flatMap((beginsBelow) => findDirectives(plain, { isStrict, beginsBelow }))
  const places = [
    ...[...hidden].map((index): FindingSpan => ({ kind: 'invisible', line: index + 1, lastLine: index + 1 })),
    ...directives,
    ...(isStrict ? findKeys(plain) : []),
    ...plain.flatMap((line, index) => findInLine(line, index + 1, isStrict)),
  ]
  const byKey = new Map(places.map((place) => [`${place.line} ${place.kind}`, place]))
  return [...byKey.values()].toSorted((one, other) => one.line - other.line)
}

function findDirectives(lines: readonly string[], { isStrict, beginsBelow }: ScanMode): readonly FindingSpan[] {
  const words = listWords(lines, { beginsBelow })
  const ranges = [...findPhrases(words), ...findCancellations(words)]
  const reported = isStrict ? ranges : ranges.filter((range) => !isQuotedExample(words, range))
  return reported.map((range) => toPlace(words, range))
}

type ScanMode = { readonly isStrict: boolean; readonly beginsBelow: boolean }

/** A private key has many lines. All of them are one finding. */
function findKeys(lines: readonly string[]): readonly FindingSpan[] {
  const found: FindingSpan[] = []
  let start: number | undefined
  for (const [index, text] of lines.entries()) {
    if (/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text)) start ??= index + 1
    const isLast = /-----END [A-Z0-9 ]{0,40}PRIVATE KEY/.test(text) || index === lines.length - 1
    if (start === undefined || !isLast) continue
    found.push({ kind: 'secret', line: start, lastLine: index + 1 })
    start = undefined
  }
  return found
}

const findHiddenLines = (lines: readonly string[]): ReadonlySet<number> =>
  new Set(lines.flatMap((line, index) => (findInvisible(line).length ? [index] : [])))

const toPlace = (words: readonly ScannedWord[], { kind, first, last }: WordRange): FindingSpan => ({
  kind,
  line: words[first]?.line ?? 1,
  lastLine: words[last]?.line ?? 1,
})

function findInLine(text: string, line: number, isStrict: boolean): readonly FindingSpan[] {
  if (text.trim() === '') return []
  const kinds: FindingKind[] = []
  if (unspacedDirectives.some((directive) => directive.test(text))) kinds.push('instruction-override')
  if (hasChatMarkup(text, { mayQuote: !isStrict })) kinds.push('system-prompt')
  if (isStrict && maskSecrets(text) !== text) kinds.push('secret')
  if (isStrict) for (const part of listParts(text)) kinds.push(...findShapes(part))
  return kinds.map((kind) => ({ kind, line, lastLine: line }))
}

const findShapes = (part: string): readonly FindingKind[] =>
  shapes.filter(({ all }) => all.every((pattern) => pattern.test(part))).map(({ kind }) => kind)

function* listParts(line: string): Generator<string> {
  for (let at = 0; at < Math.max(1, line.length); at += maxPartChars) yield line.slice(at, at + maxPartChars + 200)
}

/** Words of a sentence about attacks. */
const discussion =
  /^(?:injections?|attack(?:s|ers?|ed|ing)?|jailbreaks?|malicious|adversarial|e|eg|example|examples|phrases?|strings?|patterns?|detects?|detected|detection|blocks?|blocked|flags?|flagged|payloads?|attempts?|tries|untrusted|hostile|poisoned)$/

/** Whether the directive is quoted, or reported, in a sentence that speaks about attacks before it. */
function isQuotedExample(words: readonly ScannedWord[], { first }: WordRange): boolean {
  const start = words[first]
  if (!start) return false
  const isReported = start.isQuoted || /^(?:to|ignoring|ignores)$/.test(words[first - 1]?.text ?? '')
  if (!isReported) return false
  for (let at = first - 1; at >= 0 && words[at]?.sentence === start.sentence; at--)
    if (discussion.test(words[at]?.text ?? '')) return true
  return false
}

const renderExcerpt = (line: string): string => {
  const shown = maskSecrets(removeInvisible(line)).trim()
  return shown.length > maxExcerptChars ? `${shown.slice(0, maxExcerptChars)}…` : shown
}

/** Delimiters of the templates of common models. They have no place in prose. */
const templateTokens =
  /<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|end_header_id|eot_id|begin_of_text)\|>|\[\/?INST\]|<<\/?SYS>>|<\/?(?:start|end)_of_turn>/i
/** A line that names the system as its speaker, and goes on with a directive. */
const systemLine =
  /^[\s>*_#<[({"'`-]{0,12}(?:system|developer)(?:\s(?:message|prompt|notice|override|instruction|instructions|alert|note))?[\]>)}*_"']{0,4}\s{0,3}[:>\]-][\s*_>]{0,6}(?:you\b|your\b|ignore\b|disregard\b|forget\b|new\b|from now\b|the assistant\b|override\b|all\b|do not\b|always\b|never\b|reveal\b|execute\b)/i
const systemTag =
  /<\/?(?:system|system-prompt|system_prompt|system-message|system_instruction|sys)>\s{0,10}(?:you\b|your\b|ignore\b|disregard\b|forget\b|new\b|from\b|the assistant\b|override\b|do\b|always\b|never\b|$)/i
const quotedToken = /`[^`\n]{0,200}$/

/** Whether the line has such markup. In explaining files it may be quoted as code. */
function hasChatMarkup(line: string, { mayQuote }: { readonly mayQuote: boolean }): boolean {
  const token = templateTokens.exec(line)
  if (token && !(mayQuote && quotedToken.test(line.slice(Math.max(0, token.index - 200), token.index)))) return true
  return systemLine.test(line) || systemTag.test(line)
}

/** A line has the shape when all of these patterns match it. Each alone is cheap on any text. */
type Shape = { readonly kind: FindingKind; readonly all: readonly RegExp[] }

const secretPath =
  /\.ssh\/(?:id_|identity)|\/etc\/g?shadow\b|\.aws\/credentials|\.netrc\b|\.pgpass\b|\.git-credentials|\.kube\/config|\.docker\/config\.json|\.npmrc\b|\.pypirc\b|\.gnupg\/|\/proc\/(?:self|\d{1,7})\/environ|credentials\.json|(?:^|[\s/"'=@<])\.env(?!\.(?:example|sample|template|dist))(?:\.[a-z]{1,12})?(?=$|[\s"'`|;)&])/
const readCommand =
  /(?:^|[\s;&|`(])(?:cat|less|more|head|tail|bat|strings|xxd|od|base64|(?:cp|mv)(?!\s{1,4}\S{0,80}\.env\.(?:example|sample|template|dist))|tar|zip|grep|awk|sed|source|type|get-content|scp|rsync)\s/i
const network =
  /(?:^|[\s;&|`("'/])(?:curl|wget|nc|ncat|netcat|socat|telnet|scp|rsync|ftp|sftp|invoke-webrequest|iwr|nslookup|dig)\s/i
const secretVariable = '\\$(?:\\{|env:)?[A-Z_]{0,40}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|PRIVATE)(?![a-z])'
const url = /https?:\/\//i
const writing = /(?:>>?|\btee\b|\b(?:echo|add|append|write|put|insert|install|copy|cp|save|place|store|inject|edit)\b)/i
const startFile =
  '(?:\\.bashrc|\\.bash_profile|\\.bash_login|\\.zshrc|\\.zprofile|\\.zshenv|\\.profile|/etc/profile|/etc/bash\\.bashrc|config\\.fish|/etc/rc\\.local|/etc/ld\\.so\\.preload|/etc/cron|LaunchAgents/|/etc/systemd/|systemd/user/)'

const shape = (kind: FindingKind, ...all: readonly RegExp[]): Shape => ({ kind, all })

/**
 * Lists shapes of commands that read secrets, send them away, stay on a machine or destroy it. Context files, skills and
 * scripts may contain them; memory and prompts of jobs may not.
 */
export const shapes: readonly Shape[] = [
  shape('secret-read', readCommand, secretPath),
  shape('secret-read', /<\s{0,4}(?:~|\/|\$HOME)/, secretPath),
  shape('exfiltration', network, secretPath),
  shape('exfiltration', url, new RegExp(`https?://\\S{0,300}?${secretVariable}`)),
  shape(
    'exfiltration',
    network,
    new RegExp(`\\s(?:-d|-F|--data(?:-\\w{1,10})?|--form|--json|--post-data|--body-data)[=\\s]\\s{0,2}\\S{0,200}?${secretVariable}`),
  ),
  shape(
    'exfiltration',
    network,
    new RegExp(
      `\\s(?:-H|--header)[=\\s]\\s{0,2}["']?(?!Authorization\\b|X-[\\w-]{0,20}(?:Key|Token)\\b|Api-Key\\b|Private-Token\\b)[\\w-]{1,40}:\\s{0,2}[^"'\\n]{0,60}?${secretVariable}`,
      'i',
    ),
  ),
  shape('exfiltration', network, new RegExp(`(?:\\becho\\b|\\bprintf\\b|<<<)[^|\\n]{0,80}?${secretVariable}[^|\\n]{0,20}\\|?`), /\||<<</),
  shape('exfiltration', network, /(?:^|[\s;&|`(])(?:env|printenv|set|export\s-p)\s{0,3}\|/),
  shape('exfiltration', network, /\$\((?:env|printenv|cat\s)|`(?:env|printenv|cat\s)/, url),
  shape(
    'exfiltration',
    /!\[[^\]\n]{0,80}\]\(https?:\/\//i,
    /\(https?:\/\/[^)\n]{0,200}?[?&=/](?:\$\{?|\{\{?|<|\[|%7b)\s{0,2}[\w -]{0,30}(?:key|token|secret|password|data|conversation|history|summary|memory|context)/i,
  ),
  shape('exfiltration', /\/dev\/tcp\//),
  shape('persistence', /\bauthorized_keys\b/i, writing),
  shape('persistence', /\/etc\/sudoers|\bsudoers\b/i, writing),
  shape('persistence', /NOPASSWD:/i),
  shape('persistence', new RegExp(`(?:>>?|\\btee\\s(?:-a\\s)?)\\s{0,3}["']?[^\\s"'|;>]{0,60}?${startFile}`)),
  shape(
    'persistence',
    new RegExp(startFile),
    /\b(?:add|append|write|put|insert|inject)\b/i,
    /\b(?:curl|wget|nc|bash -[ic]|sh -c|python3? -c|eval)\s/,
  ),
  shape('persistence', /\bcrontab\s{1,3}-(?=$|\s|<)/, /\||<</),
  shape(
    'destructive',
    /\brm\s{1,4}(?:-[-\w]{1,30}\s{1,4}){0,6}["']?(?:\/|~\/?|\$\{?HOME\}?\/?|\/(?:etc|usr|bin|boot|lib|var|home|root)\/?)\*?["']?(?=$|[\s;&|)`.,"'])/,
    /\brm\s{1,4}-|\s-[a-zA-Z]*[rR]/,
  ),
  shape('destructive', /--no-preserve-root/),
  shape('destructive', /\bmkfs(?:\.\w{1,8})?\s|\bdd\s|>\s{0,2}\/dev\//, /(?:\bof=|>\s{0,2}|\s)\/dev\/(?:sd[a-z]|nvme\d|vd[a-z]|hd[a-z]|disk\d)/),
] // prettier-ignore

type WordRange = { readonly kind: FindingKind; readonly first: number; readonly last: number }

const negation =
  /(?:^|[\s,])(?:not|never|don't|dont|doesn't|didn't|won't|can't|cannot|mustn't|shouldn't|avoid|without|against|refuse to|nor)(?: (?:ever|just|simply|blindly|silently|accidentally|to|to ever))? ?,? ?$/

/** Finds directives in the words of a text: phrases in English and some others, cancelled instructions in twenty languages. */
function findPhrases(words: readonly ScannedWord[]): readonly WordRange[] {
  const { text, wordAt } = renderSentences(words, phraseWords)
  const found: WordRange[] = []
  for (const { kind, pattern, canBeNegated } of phrases)
    for (const { 0: match, index } of text.matchAll(pattern)) {
      if (canBeNegated && negation.test(text.slice(Math.max(0, index - 30), index))) continue
      found.push({ kind, first: wordAt(index), last: wordAt(index + match.length - 1) })
    }
  return found
}

type WordRole = 'verb' | 'earlier' | 'instructions' | 'negation'
type Meaning = { readonly language: ScanLanguage; readonly role: WordRole }

const meanings = new Map<string, Meaning[]>()
for (const language of languages) {
  const roles = { verb: language.verbs, earlier: language.earlier, instructions: language.instructions } as const
  for (const [role, list] of Object.entries(roles) as [WordRole, readonly string[]][])
    for (const word of list) meanings.set(word, [...(meanings.get(word) ?? []), { language, role }])
}

/** A directive has its object within this many words. */
const reach = 6

/** Finds verbs of cancelling with `earlier` and `instructions` near them, in one sentence and one language. */
function findCancellations(words: readonly ScannedWord[]): readonly WordRange[] {
  const found: WordRange[] = []
  for (const [at, { text }] of words.entries())
    for (const { language, role } of meanings.get(text) ?? []) {
      if (role !== 'verb') continue
      const range = findObject(words, at, language)
      if (range && !isNegated(words, at, language)) found.push({ kind: 'instruction-override', ...range })
    }
  return found
}

function findObject(words: readonly ScannedWord[], at: number, language: ScanLanguage) {
  const sentence = words[at]?.sentence
  const isHere = (index: number) => words[index]?.sentence === sentence
  const find = (role: WordRole, step: 1 | -1) => {
    for (let index = at + step; Math.abs(index - at) <= reach && isHere(index); index += step)
      if (meanings.get(words[index]?.text ?? '')?.some((one) => one.language === language && one.role === role))
        return index
    return undefined
  }
  for (const step of language.verbLast ? ([1, -1] as const) : ([1] as const)) {
    const earlier = find('earlier', step)
    const instructions = find('instructions', step)
    if (earlier !== undefined && instructions !== undefined && Math.abs(earlier - instructions) <= 3)
      return { first: Math.min(at, earlier, instructions), last: Math.max(at, earlier, instructions) }
  }
  return undefined
}

function isNegated(words: readonly ScannedWord[], at: number, { negations }: ScanLanguage): boolean {
  // French joins the negation: `n'oublie pas`.
  if (words[at]?.text.startsWith("n'")) return true
  return [-2, -1, 1, 2].some((offset) => {
    const word = words[at + offset]
    return word !== undefined && word.sentence === words[at]?.sentence && negations.includes(word.text)
  })
}
