/**
 * Parses the header `Authentication-Results` (RFC 8601) and decides whether it proves the sender of a mail. Comments,
 * quoted texts and folded lines are read as the grammar has them, so that no part of an address counts as a result.
 */

/** The name by which Email Routing signs its checks. It writes its header in front of all others. */
const routingService = 'mx.cloudflare.net'
const maxHeaderChars = 10_000
const maxTokens = 500

type MethodResult = {
  readonly method: string
  readonly result: string
  /** By `type.property`, such as `header.from`. Empty when it has several values. */
  readonly properties: ReadonlyMap<string, string>
}

export type AuthenticationResults = { readonly service: string; readonly results: readonly MethodResult[] }

/** Undefined when the header does not follow the grammar. */
export function parseAuthenticationResults(value: string): AuthenticationResults | undefined {
  const tokens = tokenize(value)
  if (!tokens) return undefined
  const [head = [], ...parts] = splitAtSemicolons(tokens)
  const [service, version] = head
  if (!service || head.length > 2 || (version !== undefined && version.text !== '1')) return undefined
  // `none` says that nothing was checked.
  const results = parts.filter((part) => !(part.length === 1 && isWord(part[0], 'none'))).map(parseResult)
  return results.every((result) => result !== undefined) ? { service: service.text.toLowerCase(), results } : undefined
}

/**
 * Whether Email Routing has found that DMARC passes for the domain of the sender. `headers`: all values of the header,
 * in the order of the mail. Only the first is of the service that received the mail; others may be of the sender.
 */
export function provesSender(headers: readonly string[], address: string): boolean {
  const first = headers[0] === undefined ? undefined : parseAuthenticationResults(headers[0])
  if (first?.service !== routingService) return false
  const checks = first.results.filter(({ method }) => method === 'dmarc')
  const [check] = checks
  if (checks.length !== 1 || check?.result !== 'pass') return false
  const domain = normalizeDomain(address.slice(address.lastIndexOf('@') + 1))
  return domain !== undefined && normalizeDomain(check.properties.get('header.from') ?? '') === domain
}

/** Names in other alphabets are compared in their ASCII form. */
function normalizeDomain(domain: string): string | undefined {
  const url =
    /^[^\s:/?#%@\\[\]]+$/.test(domain) && URL.canParse(`http://${domain}/`) ? new URL(`http://${domain}/`) : undefined
  return url?.hostname.replace(/\.$/, '')
}

type Token = { readonly text: string; readonly isQuoted: boolean }

const isWord = (token: Token | undefined, text: string): boolean =>
  token !== undefined && !token.isQuoted && token.text.toLowerCase() === text

/** Comments may hold comments. */
function skipComment(value: string, start: number): number {
  let depth = 0
  for (let at = start; at < value.length; at++) {
    const char = value[at]
    if (char === '\\') at++
    else if (char === '(') depth++
    else if (char === ')' && --depth === 0) return at + 1
  }
  return value.length + 1
}

/** A word, a sign, or a quoted text; a quoted text may be the first part of a mail address. */
const tokenPattern = /(?<quoted>"(?:[^"\\]|\\[^])*")(?:@[^\s()";=]+)?|[;=]|[^\s()";=]+/y

/** Undefined for an open comment or quote, and for a header that is too long. */
function tokenize(value: string): Token[] | undefined {
  if (value.length > maxHeaderChars) return undefined
  const tokens: Token[] = []
  for (let at = 0; at < value.length && tokens.length <= maxTokens;) {
    const char = value[at] ?? ''
    if (/\s/.test(char)) at++
    else if (char === '(') at = skipComment(value, at)
    else {
      tokenPattern.lastIndex = at
      const found = tokenPattern.exec(value)
      if (!found) return undefined
      tokens.push({ text: found[0], isQuoted: found.groups?.['quoted'] !== undefined })
      at += found[0].length
    }
    if (at > value.length) return undefined
  }
  return tokens.length > maxTokens ? undefined : tokens
}

function splitAtSemicolons(tokens: readonly Token[]): Token[][] {
  const parts: Token[][] = [[]]
  for (const token of tokens) {
    if (isWord(token, ';')) parts.push([])
    else parts.at(-1)?.push(token)
  }
  // A semicolon at the end is common.
  return parts.filter((part, n) => n === 0 || part.length > 0)
}

const unquote = (text: string): string => (/^".*"$/s.test(text) ? text.slice(1, -1).replace(/\\(.)/gs, '$1') : text)

/** Reads `method[/version]=result [reason=…] [type.property=value …]`. */
function parseResult(tokens: readonly Token[]): MethodResult | undefined {
  const pairs: [string, string][] = []
  for (let at = 0; at < tokens.length; at += 3) {
    const [name, equals, value] = tokens.slice(at, at + 3)
    if (!name || name.isQuoted || !isWord(equals, '=') || !value) return undefined
    pairs.push([name.text.toLowerCase(), unquote(value.text)])
  }
  const [first, ...rest] = pairs
  if (!first) return undefined
  const properties = new Map<string, string>()
  // Of two values another one may be meant than the one that is read.
  for (const [name, value] of rest) properties.set(name, properties.has(name) ? '' : value)
  return { method: first[0].replace(/\/\d+$/, ''), result: first[1].toLowerCase(), properties }
}
