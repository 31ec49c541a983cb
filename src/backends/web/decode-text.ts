/** Decodes the bytes of a page: by the byte order mark, the header, the page itself, else as UTF-8. */

const headBytes = 4_096

const metaCharset = /<meta[^>]{0,300}?charset\s{0,9}=\s{0,9}["']?\s{0,9}([\w:-]{1,40})/i
const xmlEncoding = /^\s{0,20}<\?xml[^>]{0,200}?encoding\s{0,9}=\s{0,9}["']([\w:-]{1,40})/i

/** `declared`: the charset of the content type. An unknown name counts as none. */
export function decodeText(bytes: Uint8Array, declared?: string): string {
  const head = String.fromCharCode(...bytes.subarray(0, headBytes))
  const inPage = metaCharset.exec(head)?.[1] ?? xmlEncoding.exec(head)?.[1]
  const decoder = detectMark(head) ?? openDecoder(declared) ?? openDecoder(asReadable(inPage)) ?? new TextDecoder()
  return decoder.decode(bytes)
}

function detectMark(head: string): TextDecoder | undefined {
  if (head.startsWith('\u00ef\u00bb\u00bf')) return new TextDecoder()
  if (head.startsWith('\u00ff\u00fe')) return openDecoder('utf-16le')
  return head.startsWith('\u00fe\u00ff') ? openDecoder('utf-16be') : undefined
}

/** A page whose declaration could be read is not in UTF-16. */
const asReadable = (name: string | undefined) => (name && /^utf-?16/i.test(name) ? 'utf-8' : name)

function openDecoder(name: string | undefined): TextDecoder | undefined {
  if (!name) return undefined
  try {
    return new TextDecoder(name.trim())
  } catch {
    return undefined // Not a charset that this platform knows.
  }
}

/** The charset of a content type. */
export const charsetOf = (contentType: string): string | undefined =>
  /;\s{0,9}charset\s{0,9}=\s{0,9}["']?([\w:.-]{1,40})/i.exec(contentType)?.[1]
