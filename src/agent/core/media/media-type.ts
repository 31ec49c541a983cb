/** Returns the media type of a file by its name, and which types a browser may show without running anything. */

const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  svg: 'image/svg+xml',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  flac: 'audio/flac',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  zip: 'application/zip',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
}

export function mediaTypeOf(path: string): string {
  const [, extension = ''] = /\.([A-Za-z0-9]{1,8})$/.exec(path) ?? []
  const name = extension.toLowerCase()
  return Object.hasOwn(types, name) ? (types[name] ?? '') : 'application/octet-stream'
}

/** Images without scripts, sound and video. Everything else is downloaded. */
export const isShownInline = (mediaType: string): boolean =>
  /^(?:audio|video)\/[a-z0-9]+$|^image\/(?:png|jpeg|gif|webp|avif)$/.test(mediaType)
