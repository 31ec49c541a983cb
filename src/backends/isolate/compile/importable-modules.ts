/** Modules of node that compute and reach nothing. */
export const importableModules: ReadonlySet<string> = new Set([
  'assert',
  'buffer',
  'crypto',
  'events',
  'path',
  'querystring',
  'string_decoder',
  'url',
  'util',
  'zlib',
])
