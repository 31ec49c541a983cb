/**
 * Searches texts for hardline commands when the line runs code that it does not show: every literal, decoded or not, is
 * read as a script and as loose words.
 */

import { isKnown, type Field } from '#agent/path-policy/field.ts'
import { decodeBase32, decodeBase64, decodeEscapes, decodeHex, reverseLines } from './constant-output.ts'
import { findHardline, isDestructive, type HardlineContext } from './hardline.ts'
import { addFinding, type Judge, type JudgeScope } from './shell-state.ts'

const maxTexts = 200
const maxCandidateWords = 24
const maxScriptChars = 6_000
const maxScannedChars = 20_000

const rot13 = (text: string): string =>
  text.replace(/[a-z]/gi, (char) => {
    const base = char <= 'Z' ? 65 : 97
    return String.fromCharCode(((char.charCodeAt(0) - base + 13) % 26) + base)
  })

const isText = (text: string): boolean => /^[\t\n\r -~\u0080-\uFFFF]+$/.test(text)

/** Returns what a text can be decoded to. */
function decode(text: string, { transforms }: Judge): readonly string[] {
  const token = text.trim()
  const decoded = [
    ...(text.match(/[0-9a-fA-F]{12,}/g) ?? []).slice(0, 4).map(decodeHex),
    ...(text.match(/[A-Za-z0-9+/]{10,}={0,2}/g) ?? []).slice(0, 4).map(decodeBase64),
    /^[A-Za-z0-9+/\s]{8,}={0,2}$/.test(token) ? decodeBase64(token) : undefined,
    /^[A-Z2-7\s]{8,}=*$/.test(token) ? decodeBase32(token) : undefined,
    decodeHex(token.replace(/\\x|0x/g, '')),
    text.includes('\\') ? decodeEscapes(text) : undefined,
    reverseLines(text),
    rot13(text),
    ...[...transforms.values()].map((transform) => transform(text)),
  ]
  return decoded.filter((one): one is string => one !== undefined && one !== text && isText(one))
}

/** A hardline command names a path, a device, every process, or the host itself. */
const mayBeVital = /[/~*]|\.\.|-0*1\b|IFS|init|telinit|reboot|shutdown|halt|poweroff|kexec|systemctl|loginctl|kill/

/** Splits a text at everything that separates commands or arguments in shells and other languages. */
function findLooseCommand(text: string, place: HardlineContext): string | undefined {
  for (const separators of [/["'`;|&(){}\n,[\]!]+/, /[;|&(){}\n!]+/])
    for (const segment of new Set(text.split(separators))) {
      if (!mayBeVital.test(segment)) continue
      const words = segment
        .replace(/["'`,[\]\\]+/g, ' ')
        // Options and addresses may hold a command: `ProxyCommand=rm`, `EXEC:rm`.
        .replace(/(^|\s)[\w.-]{1,40}[=:](?=[\w/.-]+(?:\s|$))/g, ' ')
        .replace(/\$\{?IFS\}?/g, ' ')
        .trim()
        .split(/\s+/)
      const reason = findInWords(words, place)
      if (reason !== undefined) return reason
    }
  return undefined
}

/** Searches for a destructive program anywhere in a list of words: an unknown wrapper may start it. */
export function findInWords(words: readonly Field[], place: HardlineContext): string | undefined {
  for (const [i, word] of words.entries()) {
    if (!isDestructive(word)) continue
    if (--place.work.remainingGuesses < 0) return undefined
    const reason = findHardline(words.slice(i, i + maxCandidateWords), place)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Functions of other languages that remove a directory with everything in it. */
const removal =
  /(?:rmtree|rm_rf|rm_r|rmSync|rmdirSync|remove_tree|removeSync|remove_dir_all|RemoveAll|rimraf|rmdir|delete_tree|deltree)\W{1,3}\s*["'`]([^"'`]{1,200})["'`]/g

export function findOpaqueHardline(text: string, place: HardlineContext): string | undefined {
  const found = findLooseCommand(text, place)
  if (found !== undefined) return found
  for (const [, path = ''] of text.matchAll(removal)) {
    const reason = findHardline(['rm', '-rf', path], place)
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Walks all literals as scripts, for hardline findings only. They may hold further literals. */
export function scanLiterals(scope: JudgeScope): void {
  const { judge, shell } = scope
  const seen = new Set<string>()
  let scanned = 0
  const queue: { readonly text: string; readonly depth: number }[] = []
  const enqueue = (texts: Iterable<string>, depth: number): void => {
    for (const text of texts) {
      if (seen.has(text) || seen.size >= maxTexts || !isKnown(text)) continue
      seen.add(text)
      queue.push({ text, depth })
    }
  }
  enqueue([...judge.literals, [...judge.literals].filter(isKnown).join('')], 0)
  for (let next = queue.shift(); next && scanned < maxScannedChars; next = queue.shift()) {
    const { text, depth } = next
    scanned += text.length * (1 + judge.transforms.size / 2)
    const reason = findOpaqueHardline(text, { host: judge.host, cwd: shell.cwd, work: judge })
    if (reason !== undefined)
      addFinding(judge, 'hardline', `A text of the command ${reason.replace(/^/, 'holds code: ')}`)
    if (judge.findings.some(({ level }) => level === 'hardline')) return
    if (text.length <= maxScriptChars && /[\s;$`]/.test(text.trim()))
      keepHardline(judge, () => judge.walkText(scope, text))
    enqueue(judge.literals, depth)
    if (depth < 3) enqueue(decode(text, judge), depth + 1)
  }
}

/** Runs a walk whose findings below hardline do not count. */
function keepHardline(judge: Judge, walk: () => unknown): void {
  const { findings, hasHiddenCode, leaves } = judge
  judge.findings = []
  walk()
  judge.hasHiddenCode = hasHiddenCode
  judge.leaves = leaves
  judge.findings = [...findings, ...judge.findings.filter(({ level }) => level === 'hardline')]
}
