/** Lists the Node modules that a program may import: they only compute. */
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
