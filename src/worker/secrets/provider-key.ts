/** Checks a key of a provider before it is stored: text without spaces, or the JSON of a service account for Vertex AI. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import { invalid } from '../errors.ts'

type ProviderKey = { readonly key: string; readonly lastFour: string }

/** The end of a short key would reveal too much of it. */
const lastFourOf = (key: string) => (key.length < 8 ? '' : key.slice(-4))

export function readProviderKey(provider: string, key: string): ProviderKey {
  if (provider === 'vertex') return readServiceAccount(key)
  if (!/^[!-~]*$/.test(key)) throw invalid('Printable ASCII without spaces.', 'key')
  return { key, lastFour: lastFourOf(key) }
}

const neededFields = ['client_email', 'private_key', 'project_id'] as const

/** Keeps what calls need of the file. Its fields always have the same order, so that the same key is recognised. */
function readServiceAccount(text: string): ProviderKey {
  const file = parseJson(text.startsWith('{') ? text : decode(text))
  if (!isJsonObject(file)) throw invalid('Paste the JSON file of a key of the service account, or its base64.', 'key')
  const missing = neededFields.filter((name) => typeof file[name] !== 'string' || !file[name])
  if (missing.length) throw invalid(`The file of the service account has no ${missing.join(', ')}.`, 'key')
  if (!/-----BEGIN (RSA )?PRIVATE KEY-----/.test(String(file['private_key'])))
    throw invalid('private_key is not in PEM.', 'key')
  const names = [...neededFields, 'private_key_id', 'location']
  const kept = Object.fromEntries(names.flatMap((name) => (typeof file[name] === 'string' ? [[name, file[name]]] : [])))
  return { key: JSON.stringify(kept), lastFour: lastFourOf(String(kept['private_key_id'] ?? '')) }
}

function decode(text: string): Uint8Array | string {
  try {
    return decodeBase64Bytes(text)
  } catch {
    return ''
  }
}
