/** Reads the passphrase of backups: from the environment, a file or the terminal. */

import { readFileSync } from 'node:fs'
import { readAnswer } from '../ask.mjs'
import { UsageError } from '../exits.mjs'

const minChars = 12

export async function readPassphrase({ 'passphrase-file': file }) {
  const given = file ? readFileSync(file, 'utf8').trim() : process.env.TALARIA_BACKUP_PASSPHRASE
  const passphrase = given || (await readAnswer('Passphrase: '))?.trim()
  if (!passphrase || passphrase.length < minChars)
    throw new UsageError(
      `The passphrase needs ${minChars} characters. Set TALARIA_BACKUP_PASSPHRASE, or name a file with --passphrase-file.`,
    )
  return passphrase
}
