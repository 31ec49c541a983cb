/** Finds secrets in texts that leave with a request: whoever answers it could keep them. */

import type { Assessment } from '#agent/core/permission/approval.ts'
import { maskSecrets } from '#agent/core/secrets/mask-secrets.ts'

/** Parameters of addresses whose values are secrets. */
const secretParameter =
  /^(?:x-amz-(?:signature|credential|security-token)|x-goog-signature|sig|signature|token|access_?token|refresh_?token|id_?token|auth|authorization|api[_-]?key|apikey|key|secret|client_?secret|password|passwd|pwd|session_?id|jwt)$/i

export function assessSecrets(texts: readonly string[], where: string): Assessment {
  const isSecret = texts.some((text) => maskSecrets(text) !== text || hasSecretPart(text))
  return {
    verdict: isSecret ? 'ask' : 'allow',
    reasons: isSecret ? [`${where} contains something that looks like a secret`] : [],
    subjects: texts,
    summary: texts.join(' '),
    ...(!isSecret && { rule: '*' }),
  }
}

function hasSecretPart(text: string): boolean {
  const url = /^https?:/i.test(text) ? URL.parse(text) : null
  if (!url) return false
  return (
    url.username !== '' ||
    url.password !== '' ||
    [...url.searchParams].some(([name, value]) => secretParameter.test(name) && value.length >= 8)
  )
}
