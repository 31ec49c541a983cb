/**
 * Secrets that tenants entrust to us (keys of providers, secrets of channels), as they lie in storage. A sealed value
 * opens for the tenant, the kind and the id it was sealed for, and for nobody else: a row that is copied elsewhere
 * stays shut. The key is made from `ENCRYPTION_KEY`, one for each tenant.
 */

export type SealedFor = {
  readonly tenant: string
  /** What the secret is for, for example `credential`. */
  readonly kind: string
  readonly id: string
}

export type Opened =
  | { readonly is: 'open'; readonly secret: string }
  /** `reason` is for people: what is wrong and what helps. */
  | { readonly is: 'shut'; readonly reason: string }

type Settings = Pick<Env, 'ENCRYPTION_KEY'>

/** Before the dot stands how it was sealed, so that another way, or another key, can come later. */
const version = 'v1'
const nonceBytes = 12
const encoder = new TextEncoder()

const howTo = 'openssl rand -base64 32 | npx wrangler secret put ENCRYPTION_KEY'

/** What has to be done before secrets can be kept; undefined when nothing has. */
export function missingForSealing({ ENCRYPTION_KEY: text }: Settings): string | undefined {
  if (!text?.trim()) return `Secrets of tenants need ENCRYPTION_KEY. Set it with: ${howTo}`
  if (!masterKey(text)) return `ENCRYPTION_KEY has to be 32 bytes in base64. Make one with: ${howTo}`
  return undefined
}

/** Throws where `missingForSealing` has something to say: ask it first. */
export async function seal(env: Settings, secret: string, owner: SealedFor): Promise<string> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) throw new Error(missingForSealing(env))
  const key = await keyFor(master, owner.tenant, 'seal')
  const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes))
  const sealed = await crypto.subtle.encrypt(cipher(nonce, owner), key, encoder.encode(secret))
  return `${version}.${toBase64(new Uint8Array([...nonce, ...new Uint8Array(sealed)]))}`
}

/** Never throws for what is stored: a secret that cannot be read is one that cannot be used. */
export async function open(env: Settings, sealed: string, owner: SealedFor): Promise<Opened> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) return { is: 'shut', reason: missingForSealing(env) ?? '' }
  const [how, text = ''] = sealed.split('.')
  const bytes = fromBase64(text)
  if (how !== version || !bytes) return { is: 'shut', reason: 'It was sealed in a way that this version cannot read.' }
  const key = await keyFor(master, owner.tenant, 'seal')
  try {
    const secret = await crypto.subtle.decrypt(
      cipher(bytes.subarray(0, nonceBytes), owner),
      key,
      bytes.subarray(nonceBytes),
    )
    return { is: 'open', secret: new TextDecoder().decode(secret) }
  } catch {
    // The cipher says no more than that it does not fit, and that is all there is to be known.
    return { is: 'shut', reason: 'It was sealed with another ENCRYPTION_KEY, or damaged. Enter it again.' }
  }
}

/** The same for the same secret of the same tenant: tells two secrets apart without opening them. */
export async function markOf(env: Settings, secret: string, owner: SealedFor): Promise<string> {
  const master = masterKey(env.ENCRYPTION_KEY)
  if (!master) throw new Error(missingForSealing(env))
  const key = await keyFor(master, owner.tenant, 'mark')
  const mark = await crypto.subtle.sign('HMAC', key, encoder.encode(JSON.stringify([owner.kind, owner.id, secret])))
  return toBase64(new Uint8Array(mark))
}

const cipher = (iv: Uint8Array, { tenant, kind, id }: SealedFor) => ({
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

function masterKey(text: string | undefined): Uint8Array | undefined {
  const bytes = fromBase64(text?.trim() ?? '')
  return bytes?.length === 32 ? bytes : undefined
}

const toBase64 = (bytes: Uint8Array) => btoa(String.fromCharCode(...bytes))

function fromBase64(text: string): Uint8Array | undefined {
  try {
    // The alphabet for addresses is base64 too.
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}
