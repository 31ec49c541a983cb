/** Reads the version of the package: above this folder in a checkout, beside the file of `build-cli.mjs` elsewhere. */

import { existsSync, readFileSync } from 'node:fs'

export function readVersion() {
  const file = ['package.json', '../package.json'].map((path) => new URL(path, import.meta.url)).find(existsSync)
  return JSON.parse(readFileSync(file, 'utf8')).version
}
