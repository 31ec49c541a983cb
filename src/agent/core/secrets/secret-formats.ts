/**
 * Lists the formats of secrets. Every pattern is linear on hostile text: repetitions are bounded, or end where no other
 * part of the pattern can match. test/agent/core/secrets/redaction.test.ts enumerates them.
 */

export type SecretFormat = {
  readonly kind: string
  /** Has the flag `g`. A first group is text before the secret, which stays. */
  readonly pattern: RegExp
  /** Whether a value is likely a secret, for patterns that also match harmless text. */
  readonly accepts?: (value: string, before: string, next: string) => boolean
}

/** A kind, a prefix that a vendor reserves, and the characters after it; or a format of its own. */
type FormatRow = readonly [kind: string, prefix: string, rest?: string] | SecretFormat

const toFormat = (row: FormatRow): SecretFormat => {
  if ('pattern' in row) return row
  const [kind, prefix, rest = '[\\w-]{16,}'] = row
  return { kind, pattern: new RegExp(`(?<![A-Za-z0-9_])${prefix}${rest}`, 'g') }
}

const hex = (min: number) => `[0-9a-fA-F]{${min},}`
const alphanumeric = (min: number) => `[A-Za-z0-9]{${min},}`

const identifiableRows: readonly FormatRow[] = [
  { kind: 'sk-', pattern: /\b(?:sk|pk|rk)[-_](?:[a-z][a-z0-9]{0,15}[-_]){0,4}[A-Za-z0-9]{16,}[\w-]*/g },
  ['cerebras', 'csk-', alphanumeric(16)],
  ['github', 'gh[pousr]_', alphanumeric(20)],
  ['github fine-grained', 'github_pat_', '\\w{20,}'],
  ['gitlab', 'gl(?:pat|ptt|dt|rt|ft|soat|oas|cbt|imt|agent)-'],
  ['slack', 'xox[abceoprs]-', '[\\w-]{10,}'],
  ['slack app', 'xapp-', '[\\w-]{16,}'],
  { kind: 'slack webhook', pattern: /(\bhooks\.slack\.com\/(?:services|workflows)\/)[A-Za-z0-9/_]{16,}/g },
  {
    kind: 'discord webhook',
    pattern: /(\bdiscord(?:app)?\.com\/api\/(?:v\d{1,2}\/)?webhooks\/\d{15,21}\/)[\w-]{20,}/g,
  },
  { kind: 'discord bot', pattern: /(?<![\w-])[MNO][A-Za-z0-9_-]{22,27}\.[\w-]{6}\.[\w-]{25,}/g },
  { kind: 'telegram bot', pattern: /(?:(?<![A-Za-z0-9_])|(?<=\/bot))\d{8,11}:AA[\w-]{30,}/g },
  ['aws access key', '(?:AKIA|ASIA|ABIA|ACCA)', '[A-Z0-9]{16}(?![A-Z0-9])'],
  ['google api', 'AIza', '[\\w-]{30,}'],
  ['google oauth secret', 'GOCSPX-', '[\\w-]{20,}'],
  ['google access token', 'ya29\\.', '[\\w-]{20,}'],
  ['npm, hugging face, groq, talaria', '(?:npm|hf|gsk|tal)_', '\\w{16,}'],
  ['xai', 'xai[-_]', '\\w{16,}'],
  ['pypi', 'pypi-', '[\\w-]{32,}'],
  { kind: 'jwt', pattern: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}/g },
  ['sendgrid', 'SG\\.', '[\\w-]{16,40}\\.[\\w-]{16,}'],
  ['twilio', 'SK', '[0-9a-f]{32}(?![0-9a-zA-Z])'],
  ['mailgun', 'key-', '[0-9a-f]{32}(?![0-9a-zA-Z])'],
  { kind: 'mailchimp', pattern: /(?<![A-Za-z0-9_])[0-9a-f]{32}-us\d{1,2}\b/g },
  ['digitalocean', 'do[opr]_v1_', hex(40)],
  ['shopify', 'shp(?:at|ca|pa|ss)_', hex(24)],
  ['square', 'sq0[a-z]{3}-', '[\\w-]{20,}'],
  ['databricks', 'dapi', '[0-9a-f]{32}(?:-\\d)?(?![0-9a-zA-Z])'],
  ['doppler', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.', '[\\w.-]{20,}'],
  ['vault', 'hv[sbr]\\.', '[\\w-]{20,}'],
  { kind: 'terraform', pattern: /(?<![A-Za-z0-9_])[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}/g },
  ['linear', 'lin_(?:api|oauth)_', alphanumeric(20)],
  ['notion', '(?:secret|ntn)_', alphanumeric(40)],
  { kind: 'airtable', pattern: /(?<![A-Za-z0-9_])pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}/g },
  ['figma', 'fig[dor]_', '[\\w-]{20,}'],
  ['planetscale', 'pscale_(?:tkn|pw|oauth)_', '[\\w.-]{20,}'],
  ['postman', 'PMAK-', '[0-9a-f]{24}-[0-9a-f]{20,}'],
  ['new relic', 'NRAK-', alphanumeric(20)],
  ['grafana', 'gl(?:sa|c)_', '[\\w+/=]{20,}'],
  ['sentry', 'sntry[su]_', '[\\w+/=.-]{20,}'],
  ['replicate', 'r8_', alphanumeric(20)],
  ['perplexity', 'pplx-', alphanumeric(20)],
  ['fireworks', 'fw_', '[A-Za-z0-9]{20,}'],
  ['tavily', 'tvly-', '[\\w-]{16,}'],
  ['firecrawl', 'fc-', '[0-9a-f]{24,}'],
  ['nvidia', 'nvapi-', '[\\w-]{20,}'],
  ['jina', 'jina_', '[\\w-]{20,}'],
  ['e2b', 'e2b_', '[0-9a-f]{24,}'],
  ['daytona', 'dtn_', '[0-9a-f]{24,}'],
  ['facebook', 'EAA[A-Za-z0-9]', alphanumeric(40)],
  ['age', 'AGE-SECRET-KEY-1', '[0-9A-Z]{30,}'],
  ['cloudflare origin', 'v1\\.0-', '[0-9a-f]{24}-[0-9a-f]{60,}'],
  ['supabase', '(?:sbp|sb_secret)_', '[\\w-]{20,}'],
  ['netlify', 'nf[pcou]_', '[A-Za-z0-9]{30,}'],
  ['docker', 'dckr_(?:pat|oat)_', '[\\w-]{20,}'],
  ['rubygems', 'rubygems_', hex(40)],
  ['atlassian', 'ATATT3x', '[\\w=-]{40,}'],
  ['tailscale', 'tskey-[a-z]{2,12}-', '[\\w-]{16,}'],
  ['langsmith', 'lsv2_(?:pt|sk)_', '[0-9a-f_]{24,}'],
  ['pulumi', 'pul-', '[0-9a-f]{40}'],
  ['heroku', 'HRKU-', '[\\w-]{30,}'],
  ['stripe webhook', 'whsec_', '[A-Za-z0-9+/=]{20,}'],
  { kind: 'azure storage', pattern: /(\bAccountKey=)[A-Za-z0-9+/]{40,}={0,2}/g },
  {
    kind: 'url password',
    pattern: /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`]{0,200}:)[^\s/@"'`]{1,500}(?=@)/gi,
    accepts: (value) => !isPlaceholder(value),
  },
  {
    kind: 'authorization',
    pattern: /(\bauthorization["']?\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token|digest)\s{1,3})[^\s"',;]{6,}/gi,
    accepts: (value) => !isPlaceholder(value),
  },
  { kind: 'bearer', pattern: /(\bbearer\s{1,3})[A-Za-z0-9._~+/=-]{16,}/gi, accepts: (value) => /\d/.test(value) },
  // Links to files of the workspace (signed-links.ts) stay: tools make them for people, and they expire within an hour.
  {
    kind: 'signed link',
    pattern:
      /([?&](?:x-amz-signature|x-amz-security-token|x-goog-signature|sig|signature)=)(?<!\/files\/[\w-]{40,4000}\?exp=\d{1,12}&sig=(?=[\w-]{43}(?![\w%+/=.-])))[\w%+/=.-]{16,}/gi,
  },
  {
    kind: 'query',
    pattern:
      /([?&](?:access_token|refresh_token|id_token|auth_token|api_?key|token|client_secret|secret|password|passwd)=)[^\s&#"'<>`]{6,}/gi,
    accepts: (value) => !isPlaceholder(value),
  },
]

/** Secrets that their own text identifies. They are safe to look for in source code. */
export const identifiableFormats = identifiableRows.map(toFormat)

const secretName = '(?:api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|private[_-]?key|access[_-]?key)'

/** Secrets that the text before them names. In source code they are mostly expressions, so files are shown with them. */
export const namedFormats: readonly SecretFormat[] = [
  {
    kind: 'named value',
    pattern: new RegExp(`(${secretName}[\\w-]{0,20}["']?\\s{0,3}[=:]\\s{0,3}["']?)[^\\s"',;&|<>()\`]{6,}`, 'gi'),
    accepts: isLikelySecret,
  },
  {
    kind: 'flag',
    pattern: /((?:^|\s)--?(?:password|passwd|passphrase|token|api-key|apikey|secret)(?:=|\s{1,3})["']?)[^\s"']{4,}/gi,
    accepts: (value) => !isPlaceholder(value) && !/^[-[(]/.test(value),
  },
  {
    kind: 'curl user',
    pattern: /((?:^|\s)(?:-u|--user|--proxy-user)(?:=|\s{1,3})["']?[^\s:"']{1,100}:)[^\s"']{4,}/g,
    accepts: (value) => !isPlaceholder(value) && !/^\d+$/.test(value),
  },
  {
    kind: 'api key header',
    pattern:
      /(\b(?:x-)?(?:api-key|auth-token|goog-api-key|subscription-token|access-token)["']?\s{0,3}:\s{0,3}["']?)[^\s"',;]{8,}/gi,
    accepts: isLikelySecret,
  },
  {
    kind: 'cookie',
    pattern: /(\b(?:set-)?cookie\s{0,3}:\s{0,3}[\w.-]{1,64}=)[^\s;"']{16,}/gi,
    accepts: (value) => !isPlaceholder(value),
  },
  {
    kind: 'netrc',
    pattern: /(\blogin\s{1,3}\S{1,200}\s{1,3}password\s{1,3})\S{4,200}/g,
    accepts: (value) => !isPlaceholder(value),
  },
]

/** A variable, a template or a word that stands for a secret. */
const isPlaceholder = (value: string): boolean =>
  /^(?:[$%<{*[]|\.\.\.|…|xxx|your[_-]|my[_-]|example|changeme$|redacted)/i.test(value) || /^[*x.•]+$/i.test(value)

/** Expressions, types and words of prose are no secrets. */
function isLikelySecret(value: string, before: string, next: string): boolean {
  if (next === '(') return false
  const text = value.replace(/[.:!?\])}]+$/, '')
  if (text.length < 6 || isPlaceholder(text)) return false
  // An identifier, or a path of them: `request.token`, `process.env.API_KEY`, `string`.
  if (/^[A-Za-z_$][\w$]*(?:[.?[\]]+[A-Za-z_$][\w$]*)+$/.test(text)) return false
  if (/pass/i.test(before))
    return (/[^A-Za-z]/.test(text) || isClearlyAssigned(before, next)) && !benignWords.has(text.toLowerCase())
  if (/^[\d.,_-]+$/.test(text)) return false
  return text.length >= 8 && /\d/.test(text) && /[A-Za-z]/.test(text) && !/^[a-z]+[-_]?\d{1,3}$/i.test(text)
}

/** `password=word` or `password: "word"`, but no sentence within quotes. */
const isClearlyAssigned = (before: string, next: string): boolean =>
  before.endsWith('=') || (/["']$/.test(before) && /["']/.test(next))

const benignWords = new Set(
  'string|number|boolean|required|optional|undefined|hidden|invalid|incorrect|expired|missing|default|prompt|wrong|empty|unknown|changed|reset|field|input|value|object|buffer|secret|password|authentication'.split(
    '|',
  ),
)
