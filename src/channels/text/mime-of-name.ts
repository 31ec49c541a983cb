const types: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  m4a: 'audio/mp4',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  webm: 'video/webm',
  pdf: 'application/pdf',
  txt: 'text/plain',
  csv: 'text/csv',
}

/** Returns the media type of a file by its ending, where a platform names none. */
export const mimeOfName = (name: string): string | undefined => {
  const ending = name.split('.').at(-1)?.toLowerCase() ?? ''
  return Object.hasOwn(types, ending) ? types[ending] : undefined
}
