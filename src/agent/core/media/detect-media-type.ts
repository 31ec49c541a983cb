/** Detects the media type of bytes by their first ones. What a server or a name says about them may be wrong. */

export type DetectedType = { readonly mime: string; readonly extension: string }

type Signature = DetectedType & { readonly matches: (head: string) => boolean }

const startsWith =
  (...starts: string[]) =>
  (head: string) =>
    starts.some((start) => head.startsWith(start))

/** A container of ISO media names its brand after the length of its first box. */
const hasBrand = (brand: RegExp) => (head: string) => head.slice(4, 8) === 'ftyp' && brand.test(head.slice(8, 12))

const isRiff = (form: string) => (head: string) => head.startsWith('RIFF') && head.slice(8, 12) === form

/** The frame header of MPEG audio: 11 set bits, a layer, and neither a bad bit rate nor a bad sampling rate. */
const isMpegFrame = (head: string): boolean => {
  const [first, second, third] = [head.charCodeAt(0), head.charCodeAt(1), head.charCodeAt(2)]
  return first === 0xff && (second & 0xe6) === 0xe2 && third >> 4 !== 15 && ((third >> 2) & 3) !== 3
}

const signatures: readonly Signature[] = [
  { mime: 'image/png', extension: 'png', matches: startsWith('\u0089PNG\r\n\u001a\n') },
  { mime: 'image/jpeg', extension: 'jpg', matches: startsWith('\u00ff\u00d8\u00ff') },
  { mime: 'image/gif', extension: 'gif', matches: startsWith('GIF87a', 'GIF89a') },
  { mime: 'image/webp', extension: 'webp', matches: isRiff('WEBP') },
  { mime: 'image/avif', extension: 'avif', matches: hasBrand(/^avi[fs]/) },
  { mime: 'image/heic', extension: 'heic', matches: hasBrand(/^(?:hei[cmsx]|hev[cmsx]|mif1|msf1)/) },
  { mime: 'image/tiff', extension: 'tiff', matches: startsWith('II*\0', 'MM\0*') },
  { mime: 'image/bmp', extension: 'bmp', matches: (head) => /^BM[^]{4}\0{4}/.test(head) },
  { mime: 'audio/wav', extension: 'wav', matches: isRiff('WAVE') },
  { mime: 'audio/ogg', extension: 'ogg', matches: startsWith('OggS') },
  { mime: 'audio/flac', extension: 'flac', matches: startsWith('fLaC') },
  { mime: 'audio/mp4', extension: 'm4a', matches: hasBrand(/^M4[AB] /) },
  { mime: 'video/mp4', extension: 'mp4', matches: hasBrand(/^(?:isom|iso\d|mp4\d|avc1|dash|M4V |3gp.|qt {2})/) },
  { mime: 'video/webm', extension: 'webm', matches: startsWith('\u001aE\u00df\u00a3') },
  {
    mime: 'audio/mpeg',
    extension: 'mp3',
    matches: (head) => (head.startsWith('ID3') && head.charCodeAt(3) < 16) || isMpegFrame(head),
  },
]

const headBytes = 16

/** Undefined for bytes that are neither an image, sound nor video of a known format. */
export function detectMediaType(bytes: Uint8Array): DetectedType | undefined {
  const head = String.fromCharCode(...bytes.subarray(0, headBytes))
  const found = signatures.find(({ matches }) => matches(head))
  return found && { mime: found.mime, extension: found.extension }
}
