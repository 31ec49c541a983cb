/** Lists the commands that just-bash lacks or implements differently. */

import { detachedOptionCommands } from './attached.ts'
import { awk } from './awk.ts'
import { bc } from './bc.ts'
import { byteCommands } from './bytes.ts'
import { date } from './date.ts'
import { diffCommands } from './diff.ts'
import { env } from './env.ts'
import { fileCommands } from './files.ts'
import { grepCommands } from './grep.ts'
import { iconv } from './iconv.ts'
import type { Command } from './io.ts'
import { jq } from './jq.ts'
import { lineCommands } from './lines.ts'
import { listingCommands } from './listing.ts'
import { patch } from './patch.ts'
import { printCommands } from './print.ts'
import { shellCommands } from './shells.ts'
import { systemCommands } from './system.ts'
import { tar } from './tar.ts'
import { textCommands } from './text.ts'
import { unzip } from './unzip.ts'
import { xxd } from './xxd.ts'

export const commands: readonly Command[] = [
  ...detachedOptionCommands,
  awk,
  bc,
  ...byteCommands,
  date,
  ...diffCommands,
  env,
  ...fileCommands,
  ...grepCommands,
  iconv,
  jq,
  ...lineCommands,
  ...listingCommands,
  patch,
  ...printCommands,
  ...shellCommands,
  ...systemCommands,
  tar,
  ...textCommands,
  unzip,
  xxd,
]
