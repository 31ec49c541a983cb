/** Signs the results that go to a webhook. The secret of a job is derived, so that nothing has to be stored. */

import { deriveKey, getMasterKeys } from '#durable/platform/master-key.ts'
import { toHex } from '#durable/platform/hash.ts'

const encoder = new TextEncoder()

/** The secret with which a receiver checks the results of a job. Undefined without a valid `ENCRYPTION_KEY`. */
export async function webhookSecret(env: Env, tenantId: string, jobId: string): Promise<string | undefined> {
  const [master] = await getMasterKeys(env)
  if (!master) return undefined
  const key = await deriveKey(master.bytes, `v1 job webhook ${tenantId}`, 'HMAC')
  return `whsec_${toHex(new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(jobId))))}`
}

type Signed = { readonly tenantId: string; readonly jobId: string; readonly body: string; readonly now: number }

/** `X-Webhook-Signature-V2` is the HMAC of the time in seconds, a dot and the body. */
export async function signWebhook(
  env: Env,
  { tenantId, jobId, body, now }: Signed,
): Promise<Readonly<Record<string, string>>> {
  const secret = await webhookSecret(env, tenantId, jobId)
  if (secret === undefined) return {}
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [
    'sign',
  ])
  const timestamp = String(Math.floor(now / 1_000))
  const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(`${timestamp}.${body}`))
  return { 'X-Webhook-Timestamp': timestamp, 'X-Webhook-Signature-V2': toHex(new Uint8Array(signature)) }
}
