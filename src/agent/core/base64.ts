/** A multiple of 3, so that parts join without padding. */
const partBytes = 0x8000 - (0x8000 % 3)

/** Encodes bytes as base64, in parts: a call has a maximum number of arguments. */
export function encodeBase64Bytes(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += partBytes)
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + partBytes)))
  return text
}

/** Decodes base64, with or without whitespace. A loop, because `Uint8Array.from` takes twenty times as long. */
export function decodeBase64Bytes(text: string): Uint8Array<ArrayBuffer> {
  const characters = atob(text)
  const bytes = new Uint8Array(characters.length)
  for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i)
  return bytes
}

/** Encodes bytes as base64url, without padding. */
export const encodeBase64Url = (bytes: Uint8Array): string =>
  encodeBase64Bytes(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** Accepts the standard alphabet too. Throws for other characters. */
export const decodeBase64Url = (text: string): Uint8Array<ArrayBuffer> =>
  decodeBase64Bytes(text.replaceAll('-', '+').replaceAll('_', '/'))
