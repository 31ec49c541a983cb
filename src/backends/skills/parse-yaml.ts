/** Parses YAML that strangers may have written. */

import { parse } from 'yaml'
import type { ParseYaml } from '#agent/skills/parse-skill.ts'

/** Few aliases: each may repeat a large part of the text. */
const maxAliasCount = 10

export const parseYaml: ParseYaml = (text) =>
  parse(text, { maxAliasCount, schema: 'core', merge: false, prettyErrors: true, logLevel: 'error', stringKeys: true })
