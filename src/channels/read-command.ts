/** Reads commands on platforms that keep messages with `/` for commands of their own. */

import { findCommand } from '#agent/policy/slash-command/command-table.ts'
import { parseCommand } from '#agent/policy/slash-command/parse-command.ts'
import { commandPrefixOf } from './command-prefix.ts'

/** Writes a known command with the sign of the platform as every platform has it. */
export function readCommand(text: string, platform: string): string {
  const trimmed = text.trimStart()
  const prefix = commandPrefixOf(platform)
  const command = trimmed.startsWith(prefix) ? `/${trimmed.slice(prefix.length)}` : ''
  return findCommand(parseCommand(command)?.name ?? '') ? command : text
}
