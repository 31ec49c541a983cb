/** Reads and stores the address and the key of the server. The environment goes before the file. */

import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { UsageError } from './exits.mjs'

const defaultUrl = 'http://localhost:8787'

export function configPath({ XDG_CONFIG_HOME, HOME } = process.env) {
  return join(XDG_CONFIG_HOME || join(HOME || homedir(), '.config'), 'talaria', 'config.json')
}

function readStored() {
  try {
    return JSON.parse(readFileSync(configPath(), 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return {}
    throw error
  }
}

/** A stored key belongs to its address alone. */
export function readConfig({ TALARIA_URL, TALARIA_API_KEY } = process.env) {
  const stored = readStored()
  const url = (TALARIA_URL || stored.url || defaultUrl).replace(/\/+$/, '')
  return { url, key: TALARIA_API_KEY || (stored.url === url ? stored.key : undefined) }
}

export function requireConfig() {
  const config = readConfig()
  if (!config.key) throw new UsageError('There is no key. Run `talaria login URL`, or set TALARIA_API_KEY.')
  return config
}

/** Only the owner of the file may read it. */
export function storeConfig(config) {
  const path = configPath()
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeFileSync(path, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 })
  chmodSync(path, 0o600)
  return path
}

export const deleteConfig = () => rmSync(configPath(), { force: true })
