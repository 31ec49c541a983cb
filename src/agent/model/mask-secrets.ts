/** Masks secrets in texts for people and models: well-known formats of keys, and values named like a secret. */

const mask = '***'

/** Formats of secrets. Every repetition is bounded or unambiguous, because the texts include untrusted output. */
const formats: readonly RegExp[] = [
  /\b(?:sk|pk|rk)[-_](?:[a-z][a-z0-9]{0,15}[-_]){0,4}[A-Za-z0-9]{16,}[\w-]*/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/g,
  /\bgithub_pat_\w{20,}/g,
  /\bglpat-[\w-]{16,}/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[\w-]{30,}/g,
  /\b(?:npm|hf|gsk|xai|tal)_[A-Za-z0-9_]{16,}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}/g,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]{0,8000}?-----END [A-Z ]{0,30}PRIVATE KEY-----/g,
]

/** Secrets by the text before them. The first group is not masked. */
const namedValues: readonly RegExp[] = [
  /(\bauthorization\s{0,3}[:=]\s{0,3}["']?(?:bearer|basic|token)\s{1,3})[^\s"',;]{6,}/gi,
  /(\bbearer\s{1,3})[A-Za-z0-9._~+/=-]{16,}/gi,
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{1,200}:)[^\s/@"']{1,500}(?=@)/gi,
  /((?:api[_-]?key|secret|token|passw(?:or)?d|credential|private[_-]?key)[\w-]{0,20}["']?\s{0,3}(?:=|:)\s{0,3}["']?)(?!\*\*\*)(?!\$)[^\s"',;&|<>()`]{6,}/gi,
  /((?:^|\s)--?(?:password|passwd|token|api-key|secret)(?:=|\s{1,3})["']?)(?!\*\*\*)(?!\$)[^\s"']{4,}/gi,
]

export function maskSecrets(text: string): string {
  let masked = text
  for (const format of formats) masked = masked.replace(format, mask)
  for (const value of namedValues) masked = masked.replace(value, `$1${mask}`)
  return masked
}

/** Masks secrets in all texts of a JSON value. */
export function maskSecretsInValue(value: unknown, name = ''): unknown {
  if (typeof value === 'string') return isSecretName(name) && value ? mask : maskSecrets(value)
  if (Array.isArray(value)) return value.map((item) => maskSecretsInValue(item, name))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, maskSecretsInValue(item, key)]))
}

const isSecretName = (name: string) => /^(?:.*[_-])?(?:api[_-]?key|secret|passw(?:or)?d|credentials?)$/i.test(name)
