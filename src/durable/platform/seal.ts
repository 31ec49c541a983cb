/**
 * Encrypts secrets of tenants (provider keys, channel secrets) for storage. A sealed value opens only for the tenant,
 * kind and id it was sealed for: a row that is copied elsewhere cannot be opened. Each tenant has its own key, derived
 * from `ENCRYPTION_KEY`.
 */

export type SecretOwner = {
  readonly tenant: string
  /** The use of the secret, for example `credential`. */
  readonly kind: string
  readonly id: string
}

export type OpenResult =
  | { readonly kind: 'opened'; readonly secret: string }
  /** `reason` is shown to the user: the problem and the remedy. */
  | { readonly kind: 'unreadable'; readonly reason: string }

type Settings = Pick<Env, 'ENCRYPTION_KEY'>

/** The prefix of a sealed value. Another algorithm or key will have another version. */
const version = 'v1'
const nonceBytes = 12
const encoder = new TextEncoder()

const setupCommand = 'openssl rand -base64 32 | npx wrangler secret put ENCRYPTION_KEY'

/** Explains why `ENCRYPTION_KEY` cannot be used; undefined when it can. */
export function explainMissingKey({ ENCRYPTION_KEY: text }: Settings): string | undefined {
  if (!text?.trim()) return `Secrets of tenants need ENCRYPTION_KEY. Set it with: ${setupCommand}`
  if (!masterKey(text)) return `ENCRYPTION_KEY must be 32 bytes in base64. Create one with: ${setupCommand}`
  return undefined
}

/** Seals a secret. Throws when `explainMissingKey` returns a text: check it first. */
export async function seal(env: Settings, secret: string, owner: SecretOwner): Promise<string> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) throw new Error(explainMissingKey(env))
  const key = await keyFor(master, owner.tenant, 'seal')
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const sealed = await crypto.subtle.encrypt(cipher(nonce, owner), key, encoder.encode(secret))
  return `${version}.${toBase64(new Uint8Array([...nonce, ...new Uint8Array(sealed)]))}`
}

/** Opens a sealed value. A value that cannot be opened is a result, not an error. */
export async function unseal(env: Settings, sealed: string, owner: SecretOwner): Promise<OpenResult> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) return { kind: 'unreadable', reason: explainMissingKey(env) ?? '' }
  const [sealedVersion, text = ''] = sealed.split('.')
  const bytes = fromBase64(text)
  if (sealedVersion !== version || !bytes)
    return { kind: 'unreadable', reason: 'It was sealed in a format that this version cannot read.' }
  const key = await keyFor(master, owner.tenant, 'seal')
  try {
    const secret = await crypto.subtle.decrypt(
      cipher(bytes.subarray(0, nonceBytes), owner),
      key,
      bytes.subarray(nonceBytes),
    )
    return { kind: 'opened', secret: new TextDecoder().decode(secret) }
  } catch {
    // A cipher gives no other reason than the failed authentication.
    return { kind: 'unreadable', reason: 'It was sealed with another ENCRYPTION_KEY, or is damaged. Enter it again.' }
  }
}

/** Creates a keyed hash of a secret: equal secrets of a tenant have equal marks, so that duplicates are found. */
export async function fingerprintSecret(env: Settings, secret: string, owner: SecretOwner): Promise<string> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) throw new Error(explainMissingKey(env))
  const key = await keyFor(master, owner.tenant, 'mark')
  const mark = await crypto.subtle.sign('HMAC', key, encoder.encode(JSON.stringify([owner.kind, owner.id, secret])))
  return toBase64(new Uint8Array(mark))
}

const cipher = (iv: Uint8Array, { tenant, kind, id }: SecretOwner) => ({
  name: 'AES-GCM',
  iv,
  additionalData: encoder.encode(JSON.stringify([version, tenant, kind, id])),
})

async function keyFor(master: Uint8Array, tenant: string, use: 'seal' | 'mark'): Promise<CryptoKey> {
  const source = await crypto.subtle.importKey('raw', master, 'HKDF', false, ['deriveKey'])
  return crypto.subtle.deriveKey(
    {
      name: 'HKDF',
      hash: 'SHA-256',
      salt: encoder.encode('talaria secrets'),
      info: encoder.encode(`${version} ${use} ${tenant}`),
    },
    source,
    use === 'seal' ? { name: 'AES-GCM', length: 256 } : { name: 'HMAC', hash: 'SHA-256' },
    false,
    use === 'seal' ? ['encrypt', 'decrypt'] : ['sign'],
  )
}

/** The bytes of `ENCRYPTION_KEY`; undefined when it is missing or invalid. */
export function masterKey(text: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  const bytes = fromBase64(text?.trim() ?? '')
  return bytes?.length === 32 ? bytes : undefined
}

const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    // The URL-safe alphabet is accepted too.
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}
