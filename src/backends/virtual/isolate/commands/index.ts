/** Commands just-bash lacks or gets wrong. Nothing here pretends to be an interpreter that is not there. */

import { attached } from './attached.ts'
import { awk } from './awk.ts'
import { bc } from './bc.ts'
import { bytes } from './bytes.ts'
import { date } from './date.ts'
import { differ } from './diff.ts'
import { env } from './env.ts'
import { files } from './files.ts'
import { greps } from './grep.ts'
import type { Command } from './io.ts'
import { lines } from './lines.ts'
import { listing } from './listing.ts'
import { patch } from './patch.ts'
import { print } from './print.ts'
import { shells } from './shells.ts'
import { system } from './system.ts'
import { tar } from './tar.ts'
import { text } from './text.ts'
import { xxd } from './xxd.ts'

export const commands: readonly Command[] = [
  ...attached,
  awk,
  bc,
  ...bytes,
  date,
  ...differ,
  env,
  ...files,
  ...greps,
  ...lines,
  ...listing,
  patch,
  ...print,
  ...shells,
  ...system,
  tar,
  ...text,
  xxd,
]
